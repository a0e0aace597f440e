"""The joint check: do descriptor, bindings, hosts, devices, program and launcher fit together? Every violation at once."""

from __future__ import annotations

from tt_run.inputs.findings import Findings
from tt_run.inputs.mpi_args import MpiArgs
from tt_run.inputs.world import World
from tt_run.plan.launcher import LauncherFacts
from tt_run.plan.request import LaunchRequest
from tt_run.plan.slots import Seating
from tt_run.plan.sources import Source


def joint_check(
    request: LaunchRequest,
    source: Source,
    seating: Seating,
    mpi_args: MpiArgs,
    world: World,
    launcher: LauncherFacts | None,
    findings: Findings,
) -> None:
    """Records everything that does not fit."""
