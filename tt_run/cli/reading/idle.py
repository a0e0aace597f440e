"""Options that have no effect where they stand: told instead of ignored, because who writes one expects something of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping

from mgd.diagnostics import Diagnostic, Severity
from mgd.lean import dataclass
from tt_run import contract
from tt_run.cli.reading.command_line import CommandLine
from tt_run.cli.reading.options import Arguments, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tt_run.plan.model import LaunchPlan


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
    "discovery": Condition(
        lambda given: _allocates(given) and not given.emulate and not given.no_discover,
        "only the ranks of -m and -M are ever discovered, and those of an emulation or with --no-discover never",
        "leave it out",
    ),
    "warming": Condition(
        lambda given: not given.no_warm, "--no-warm starts every rank by itself", "keep one of the two"
    ),
    "lines shown": Condition(
        lambda given: given.tee != "none", "--tee none shows no lines of ranks", "keep one of the two"
    ),
    "bindings": Condition(
        lambda given: given.rank_binding is not None or given.rank_bindings_mapping is not None,
        "ranks are made from the descriptor here, so it must exist",
        "leave it out",
    ),
    "prediction": Condition(
        lambda given: given.emulate and (given.predict is not None or bool(os.environ.get(contract.PREDICT))),
        "only predictions look at it",
        "add --predict, or leave it out",
    ),
    "faults that fit": Condition(lambda given: True, "", ""),  # `tt_run.cli.faults` looks at each
    "something to print": Condition(
        lambda given: given.doctor or (given.looks_only and _first_look(given) != "emit"),
        "nothing is printed in that form",
        "add --dry-run, --print-env RANK, --shell-env or --doctor; after a run --report FILE is JSON",
    ),
}


LOOKS = ("doctor", "check_only", "emit", "shell_env", "print_env", "dry_run")
"""What is asked about a launch in place of it; of several the first is answered."""


def idle_options(given: CommandLine) -> tuple[Diagnostic, ...]:
    """A finding for each option that does nothing here: TTR022, an error, for those that only emulated ranks know, TTR024 for the others."""
    found = []
    for option in given.options():
        if option.key in given.configured or option.key not in given.given:
            continue
        needs = option.needs
        if option.variable and needs == "prediction" and not given.emulate:
            needs = "emulate"
        condition = CONDITIONS.get(needs)
        if condition is not None and not condition.holds(given):
            found.append(_finding(option, condition))
        elif option.key in LOOKS and option.key != (first := _first_look(given)):
            goes_first = getattr(CommandLine, first).name
            found.append(_told(option.name, f"{goes_first} is answered in its place", "keep one of the two"))
    return tuple(found)


def idle_in_plan(given: CommandLine, plan: LaunchPlan) -> tuple[Diagnostic, ...]:
    """The same for options of which only the plan says whether they have an effect."""
    found = []
    if "rankfile_syntax" in given.given and plan.placement.rankfile is None:
        help = "add --mpi-args '--rankfile FILE', or leave it out"
        found.append(_told("--rankfile-syntax", "mpirun is given no rankfile", help))
    if given.warm is not None and not given.no_warm:
        from tt_run.launch.warm import is_one_program

        if not is_one_program(plan):
            found.append(_told("--warm", "its ranks are not one Python script or module", "leave it out"))
    if given.tcp_interface is not None:
        from tt_run.launch.defaults import interface_is_given

        if given.bare:
            found.append(_told("--tcp-interface", "--bare adds no network setting", "keep one of the two"))
        elif interface_is_given(plan.mpi_args):
            found.append(
                _told("--tcp-interface", "--mpi-args names the networks itself", "keep one of the two")
            )
    return tuple(finding for finding in found if finding.message.split(":")[0] not in _configured(given))


def tell_idle(given: Arguments, keys: Iterable[str], lack: str, help: str) -> None:
    """Say on standard error which of some options of a subcommand were written where they have no effect."""
    from tt_run.cli.print_findings import print_findings

    names = {option.key: option.name for option in given.options()}
    print_findings([_told(names[key], lack, help) for key in keys if key in given.given])


def tell_looks(given: CommandLine) -> None:
    """Say on standard error which looks at a launch the doctor, which is no launch, leaves out."""
    tell_idle(
        given, [key for key in LOOKS if key != "doctor"], "the doctor answers in its place", "leave it out"
    )


def _configured(given: CommandLine) -> set[str]:
    return {getattr(CommandLine, key).name for key in given.configured}


def _first_look(given: CommandLine) -> str:
    return next((key for key in LOOKS if key in given.given), "")


def _finding(option: Option, condition: Condition) -> Diagnostic:
    if condition is CONDITIONS["emulate"]:
        return Diagnostic("TTR022", f"{option.name}: {condition.lack}", help=condition.help)
    return _told(option.name, condition.lack, condition.help)


def _told(name: str, lack: str, help: str) -> Diagnostic:
    return Diagnostic("TTR024", f"{name}: {lack}", help=help, severity=Severity.WARNING)


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
