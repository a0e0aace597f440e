"""Mesh graph descriptors as the planner reads them: a file in, a mesh graph out, problems as findings."""

from __future__ import annotations

from pathlib import Path

import mgd
from mgd.graph import MeshGraph
from tt_run.inputs.document import read_text
from tt_run.inputs.findings import Findings
from tt_run.inputs.world import World
from tt_run.plan.request import CheckLevel

YAML_SUFFIXES = (".yaml", ".yml")


def read_descriptor(path: Path, world: World, findings: Findings, level: CheckLevel) -> MeshGraph | None:
    """The mesh graph that the descriptor at `path` describes; None with the descriptor's own findings when it has errors.

    A file that is no descriptor at all stops the plan, unless `level` only warns; what the rules refuse is for the check.
    """
    try:
        from mgd import check, expand, loads  # noqa: F401
    except ImportError:
        return None
    try:
        if path.suffix in YAML_SUFFIXES:
            descriptor = mgd.load(path)
        else:
            text = read_text(path, world, findings)
            if text is None:
                return None
            descriptor = mgd.loads(text, file=world.shown(path))
    except mgd.MgdError as error:
        (findings.broken if level is CheckLevel.ERROR else findings.judged).extend(error.diagnostics)
        return None
    found = list(mgd.check(descriptor))
    findings.judged.extend(found)
    if any(finding.is_error for finding in found):
        return None
    try:
        return mgd.expand(descriptor)
    except mgd.MgdError as error:
        findings.judged.extend(error.diagnostics)
        return None
