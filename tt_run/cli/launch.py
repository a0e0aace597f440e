"""A launch as the command line asks for it: plan, look or run, report."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mgd.diagnostics import Diagnostic, Severity
from mgd.lean import replace
from tt_run import contract
from tt_run.cli.told import tell
from tt_run.contract import Exit
from tt_run.errors import LauncherError, UsageError
from tt_run.inputs.findings import counted
from tt_run.inputs.world import World
from tt_run.launch.machine import Machine, physical_cores, user_home
from tt_run.launch.mpi_library import library_beside_python
from tt_run.launch.mpirun import Launcher, find_launcher
from tt_run.launch.options import LaunchOptions
from tt_run.plan.build import build_plan, starting_world
from tt_run.plan.launcher import LauncherFacts
from tt_run.plan.model import EnvVar, LaunchPlan
from tt_run.plan.request import CheckLevel, LaunchRequest
from tt_run.supervise.folder import predicted_folder

_REQUEST_FIELDS = tuple(name for name in LaunchRequest.__match_args__ if name != "check")


def launch(options: Mapping[str, Any], words: Sequence[str]) -> int:
    """Carries out the command line `words`, which click has read into `options`; the exit code.

    Raises TtRunError for everything that the user must act on.
    """
    world = World.current()
    machine = Machine(world.environ, physical_cores(), world.is_root, user_home())
    launcher, missing = _launcher(world)
    request = launch_request(options)
    facts = _facts(launcher, request, world)
    if options["force_rediscovery"] and (request.rank_binding or request.rank_bindings_mapping):
        print("tt-run: --force-rediscovery: ignored, rank bindings are given", file=sys.stderr)
    launch_options = _launch_options(options)
    run_dir = predicted_folder(Path(options["log_dir"]) if options["log_dir"] else None, world.cwd)
    allocates = request.mesh_graph_descriptor or request.mesh_graph_descriptor_mapping
    if options["discover"] or (allocates and not request.emulate):
        from tt_run.cli.discover import Surroundings, with_discovered_ranks

        around = Surroundings(world, machine, launcher, launch_options, run_dir)
        allocated = with_discovered_ranks(request, options, around)
        if allocated is None:
            return Exit.OK
        request = allocated
    plan = with_emulation_options(build_plan(request, world, facts), options, world)
    tell(plan.findings, notes=options["verbose"])
    if options["check_only"]:
        print(f"tt-run: {counted(len(plan.ranks), 'rank')}, no errors", file=sys.stderr)
        return Exit.OK
    if options["emit"]:
        from tt_run.cli.emit import emit

        return emit(plan, options, words)
    if options["print_env"] is not None or options["dry_run"]:
        from tt_run.cli.looks import print_env, print_plan

        if options["print_env"] is not None:
            return print_env(plan, options["print_env"], run_dir, options["output_format"])
        if launcher is None and missing is not None:
            tell((replace(missing, severity=Severity.WARNING),))
        return print_plan(
            plan,
            launcher or Launcher("mpirun", "nowhere"),
            machine,
            launch_options,
            run_dir,
            options["output_format"],
        )
    if launcher is None:
        raise (
            LauncherError(missing)
            if missing is not None
            else AssertionError("a missing launcher has a reason")
        )
    from tt_run.cli.execute import execute

    return execute(plan, launcher, machine, launch_options, run_dir, options, words)


def _launch_options(options: Mapping[str, Any]) -> LaunchOptions:
    return LaunchOptions(
        bare=options["bare"],
        mpmd=options["mpmd"],
        stdin=options["stdin"],
        tcp_interface=options["tcp_interface"],
        rankfile_syntax=options["rankfile_syntax"],
        unchecked=options["check"] == CheckLevel.OFF.value,
    )


def launch_request(options: Mapping[str, Any]) -> LaunchRequest:
    """What the planner must know of the options."""
    known = {name: options[name] for name in _REQUEST_FIELDS}
    return LaunchRequest(**known, check=CheckLevel(options["check"]))


def with_emulation_options(plan: LaunchPlan, options: Mapping[str, Any], world: World) -> LaunchPlan:
    """The plan with what --guard, --ledger and --timeline mean for every rank. Raises UsageError without --emulate."""
    asked: dict[str, EnvVar] = {}
    if options["guard"]:
        asked[contract.GUARD] = EnvVar(options["guard"], "--guard")
    for option, name in (("ledger", contract.LEDGER), ("timeline", contract.TIMELINE)):
        if options[option]:
            asked[name] = EnvVar(str(world.cwd / world.expand_user(options[option])), f"--{option}")
    if not asked:
        return plan
    if not plan.emulate:
        names = ", ".join(variable.origin for variable in asked.values())
        raise UsageError(Diagnostic("TTR022", f"{names}: only emulated ranks know it", help="add --emulate"))
    ranks = tuple(replace(rank, env={**rank.env, **asked}) for rank in plan.ranks)
    return replace(plan, ranks=ranks)


def _launcher(world: World) -> tuple[Launcher | None, Diagnostic | None]:
    """The launcher, or why there is none: looking at a plan needs no launcher."""
    try:
        return find_launcher(world.environ), None
    except LauncherError as error:
        return None, error.diagnostics[0]


def _facts(launcher: Launcher | None, request: LaunchRequest, world: World) -> LauncherFacts:
    """What the check may know of the launcher, and of mpi4py where the program runs under this Python."""
    if launcher is None:
        return LauncherFacts()
    program = starting_world(request, world).which(request.program[0]) if request.program else None
    is_this_python = program is not None and program.parent == Path(sys.executable).parent
    return LauncherFacts(
        path=Path(launcher.path),
        version=(launcher.major,) if launcher.major else None,
        mpi4py=library_beside_python() if is_this_python and not world.get("MPI4PY_LIBMPI") else None,
    )
