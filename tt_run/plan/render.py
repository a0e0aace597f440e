"""Views of a plan: JSON for tools, a table and the environment of a rank for people."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from mgd.diagnostics import Diagnostic
from tt_run.inputs.environment import EnvVar
from tt_run.inputs.secrets import masked, masked_words
from tt_run.plan.model import LaunchPlan, RankPlan

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any


def diagnostic_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """A finding as tools read it: code, severity, message, first position, all positions, help."""
    at = diagnostic.position
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "file": at.file if at else None,
        "line": at.line if at and at.line else None,
        "column": at.column if at and at.line else None,
        "labels": [
            {
                "file": each.position.file,
                "line": each.position.line,
                "column": each.position.column,
                "text": each.text,
            }
            for each in diagnostic.labels
        ],
        "help": diagnostic.help,
        "notes": list(diagnostic.notes),
    }


def rank_json(rank: RankPlan) -> dict[str, Any]:
    """A rank as tools read it; `env_origin` says for each variable where it comes from."""
    return {
        "rank": rank.rank,
        "host": rank.host,
        "slot": rank.slot,
        "mesh_id": rank.mesh_id,
        "mesh_host_rank": rank.mesh_host_rank,
        "subcontext_id": rank.subcontext_id,
        "devices": [list(device) for device in rank.devices],
        "env": {name: masked(name, variable.value) for name, variable in rank.env.items()},
        "env_origin": {name: variable.origin for name, variable in rank.env.items()},
        "argv": list(rank.argv),
        "why": rank.why,
    }


def plan_json(
    plan: LaunchPlan, launcher: str, command: Sequence[str] = (), global_args: Sequence[str] = ()
) -> dict[str, Any]:
    """The plan as one JSON object; `launcher`, `command` and `global_args` are the launcher's words for it."""
    return {
        "launcher": launcher,
        "command": masked_words(command),
        "global_args": masked_words(global_args),
        "cwd": str(plan.cwd),
        "emulate": plan.emulate,
        "placement": {
            "source": plan.placement.source,
            "hosts": [{"name": host.name, "slots": host.slots} for host in plan.placement.hosts],
            "rankfile": str(plan.placement.rankfile) if plan.placement.rankfile else None,
            "chips": plan.placed.as_json() if plan.placed is not None else None,
        },
        "unset": list(plan.unset),
        "environment": "the plan alone" if plan.is_exact else "the plan and the launching shell",
        "inherited": {
            name: {"value": masked(name, variable.value), "origin": variable.origin}
            for name, variable in plan.inherited.items()
        },
        "generated_files": [str(file.path) for file in plan.generated_files],
        "ranks": [rank_json(rank) for rank in plan.ranks],
        "findings": [diagnostic_json(finding) for finding in plan.findings],
    }


def plan_table(plan: LaunchPlan) -> str:
    """Ranks, where they run and what they own, as aligned text."""
    header = ("rank", "host", "slot", "mesh", "host rank", "devices", "visible")
    rows = [_row(rank) for rank in plan.ranks]
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (header, *rows)
    ]
    lines += ["", *(f"rank {rank.rank}: {rank.why}" for rank in plan.ranks)] if plan.ranks[0].why else []
    lines += ["", plan.placed.table()] if plan.placed is not None else []
    tail = [f"hosts from: {plan.placement.source}", f"program:    {shlex.join(plan.program)}"]
    tail += [f"writes:     {file.path}" for file in plan.generated_files]
    return "\n".join([*lines, "", *tail])


def _row(rank: RankPlan) -> tuple[str, ...]:
    visible = rank.env.get("TT_VISIBLE_DEVICES")
    return (
        str(rank.rank),
        rank.host or "-",
        rank.slot or "-",
        str(rank.mesh_id),
        "-" if rank.mesh_host_rank is None else str(rank.mesh_host_rank),
        _block(rank),
        visible.value if visible else "all",
    )


def _block(rank: RankPlan) -> str:
    """`2x2 from (0, 2)`: size and north-west corner of the block."""
    if not rank.devices:
        return "-"
    (top, left), (bottom, right) = rank.devices[0], rank.devices[-1]
    return f"{bottom - top + 1}x{right - left + 1} from ({top}, {left})"


def environment_of(plan: LaunchPlan, rank: int) -> dict[str, EnvVar]:
    """Everything that a rank sees besides what MPI tells it, by name. Raises IndexError for a rank that the plan does not have."""
    if not 0 <= rank < len(plan.ranks):
        raise IndexError(f"the plan has ranks 0..{len(plan.ranks) - 1}, not {rank}")
    return dict(sorted({**plan.inherited, **plan.ranks[rank].env}.items()))


def environment_view(plan: LaunchPlan, rank: int) -> str:
    """Every variable that a rank sees, sorted, shell-quoted, each with its origin as a comment; secrets are masked.

    Raises IndexError for a rank that the plan does not have.
    """
    env = environment_of(plan, rank)
    lines: list[str] = []
    for name, variable in env.items():
        value = masked(name, variable.value)
        lines.append(f"# {variable.origin}" + (", masked here" if value != variable.value else ""))
        lines.append(f"{name}={shlex.quote(value)}")
    absent = [name for name in plan.unset if name not in env]
    if plan.is_exact:
        lines.append("# nothing else, besides what MPI tells a rank")
    elif absent:
        lines.append(f"# removed from the launching shell's environment: {' '.join(absent)}")
    return "\n".join(lines)
