"""Mesh graph descriptors as the planner reads them: text in, mesh graph out, problems as findings."""

from __future__ import annotations

from pathlib import Path

import mgd
from mgd.graph import MeshGraph
from tt_run.inputs.findings import Findings
from tt_run.inputs.world import World
from tt_run.plan.request import CheckLevel


def read_descriptor(path: Path, world: World, findings: Findings, level: CheckLevel) -> MeshGraph | None:
    """The mesh graph that the descriptor at `path` describes; None, with the descriptor's own findings, when it has errors."""
    if not hasattr(mgd, "load"):
        return None
    raise NotImplementedError
