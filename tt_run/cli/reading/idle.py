"""Options that have no effect where they stand: told instead of ignored, because who writes one expects something of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from mgd.diagnostics import Diagnostic, Severity
from mgd.lean import dataclass
from tt_run import contract
from tt_run.cli.reading.command_line import CommandLine
from tt_run.cli.reading.options import Option


@dataclass(frozen=True, slots=True)
class Condition:
    """What some options need: whether it holds, what lacks where it does not, and what to write."""

    holds: Callable[[CommandLine], bool]
    lack: str
    help: str


CONDITIONS: Mapping[str, Condition] = {
    "emulate": Condition(lambda given: given.emulate, "only emulated ranks know it", "add --emulate"),
    "mock cluster": Condition(
        lambda given: given.mock_cluster_rank_binding is not None,
        "only on a mock cluster are chips searched for",
        "add --mock-cluster-rank-binding FILE, or leave it out",
    ),
    "allocation on hardware": Condition(
        lambda given: _allocates(given) and not given.emulate,
        "only the ranks of -m and -M are ever discovered, and those of an emulation never",
        "leave it out",
    ),
    "bindings": Condition(
        lambda given: given.rank_binding is not None or given.rank_bindings_mapping is not None,
        "ranks are made from the descriptor here, so it must exist",
        "leave it out",
    ),
    "prediction": Condition(
        lambda given: (
            not given.emulate or given.predict is not None or bool(os.environ.get(contract.PREDICT))
        ),
        "only predictions look at it",
        "add --predict, or leave it out",
    ),
    "faults that fit": Condition(lambda given: True, "", ""),  # `tt_run.cli.faults` looks at each
    "something to print": Condition(
        lambda given: given.looks_only or given.doctor,
        "nothing is printed in that form",
        "add --dry-run, --print-env RANK, --shell-env or --doctor; after a run --report FILE is JSON",
    ),
}


def idle_options(given: CommandLine) -> tuple[Diagnostic, ...]:
    """A finding for each option that does nothing here: TTR022, an error, for those that only emulated ranks know, TTR024 for the others."""
    found = []
    for option in given.options():
        condition = CONDITIONS.get(option.needs)
        if option.key in given.configured:
            continue
        if condition is not None and option.key in given.given and not condition.holds(given):
            found.append(_finding(option, condition))
    return tuple(found)


def _finding(option: Option, condition: Condition) -> Diagnostic:
    code, severity = ("TTR022", Severity.ERROR) if option.needs == "emulate" else ("TTR024", Severity.WARNING)
    return Diagnostic(code, f"{option.name}: {condition.lack}", help=condition.help, severity=severity)


def unfit_losses(given: CommandLine) -> tuple[Diagnostic, ...]:
    """A finding for each --degrade that cannot be read."""
    if not given.degrade:
        return ()
    from tt_run.degraded import LossError, read_losses

    found = []
    for text in given.degrade:
        try:
            read_losses(text)
        except LossError as error:
            found.append(Diagnostic("TTR021", f"--degrade {text}: {error}", help="write --degrade D0-D1"))
    return tuple(found)


def _allocates(given: CommandLine) -> bool:
    return given.mesh_graph_descriptor is not None or given.mesh_graph_descriptor_mapping is not None
