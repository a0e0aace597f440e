"""A plan as text and as JSON: the shapes that tools read (design, section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mgd.diagnostics import Diagnostic
from tt_run.launch.line import LaunchLine
from tt_run.plan.model import EnvVar, LaunchPlan, RankPlan


def plan_view(plan: LaunchPlan, line: LaunchLine) -> dict[str, Any]:
    """The plan and its launcher line as one JSON object."""
    return {
        "launcher": line.launcher,
        "command": list(line.command),
        "global_args": list(line.global_args),
        "launcher_env": dict(line.environment),
        "launcher_unset": list(line.unset),
        "defaults": [{"words": list(default.words), "why": default.why} for default in line.defaults],
        "cwd": str(plan.cwd),
        "hosts": [{"name": host.name, "slots": host.slots} for host in plan.placement.hosts],
        "hosts_from": plan.placement.source,
        "emulate": plan.emulate,
        "nranks": len(plan.ranks),
        "ranks": [rank_view(rank) for rank in plan.ranks],
        "findings": [finding_view(finding) for finding in plan.findings],
    }


def rank_view(rank: RankPlan) -> dict[str, Any]:
    """One rank: where it is, what it owns, what it sees and runs."""
    return {
        "rank": rank.rank,
        "host": rank.host,
        "slot": rank.slot,
        "mesh_id": rank.mesh_id,
        "mesh_host_rank": rank.mesh_host_rank,
        "devices": [list(device) for device in rank.devices],
        "env": values_of(rank.env),
        "env_origin": {name: variable.origin for name, variable in rank.env.items()},
        "argv": list(rank.argv),
    }


def values_of(environment: Mapping[str, EnvVar]) -> dict[str, str]:
    """Names and values alone."""
    return {name: variable.value for name, variable in environment.items()}


def finding_view(finding: Diagnostic) -> dict[str, Any]:
    """A finding with its first position and all others."""
    position = finding.position
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "file": position.file if position else None,
        "line": position.line if position else None,
        "column": position.column if position else None,
        "labels": [{"position": str(label.position), "text": label.text} for label in finding.labels],
        "help": finding.help,
    }
