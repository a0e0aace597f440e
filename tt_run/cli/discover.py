"""Automatic allocation by discovery, as the command line asks for it: use what is known, ask the hardware, or show how."""

from __future__ import annotations

import json

from mgd.diagnostics import Diagnostic
from mgd.lean import replace
from tt_run.cli.command_line import CommandLine
from tt_run.cli.execute import run_options, say
from tt_run.cli.surroundings import Surroundings
from tt_run.contract import Exit
from tt_run.errors import LauncherError, UsageError
from tt_run.inputs.findings import Findings
from tt_run.inputs.mpi_args import read_mpi_args, split_mpi_args
from tt_run.inputs.world import World
from tt_run.launch.discover import DEADLINE, discover, discovery_plan
from tt_run.launch.line import build_mpmd_line
from tt_run.launch.mpirun import Launcher
from tt_run.plan.checks.program import require_program
from tt_run.plan.descriptors import read_descriptor
from tt_run.plan.discovery import Discovery, find_generator, generator_places, read_discovery
from tt_run.plan.model import LaunchPlan
from tt_run.plan.request import CheckLevel, LaunchRequest
from tt_run.plan.usage import refuse_misuse
from tt_run.supervise.options import Tee
from tt_run.supervise.run import run_plan
from tt_run.supervise.watch import EndedBy


def with_discovered_ranks(
    request: LaunchRequest, given: CommandLine, around: Surroundings
) -> LaunchRequest | None:
    """The request with the ranks that discovery has found, or as it is where nothing was discovered and nobody asks for it.

    None when a dry run has shown the discovery that would come first. Raises TtRunError.
    """
    refuse_misuse(request)
    discovery = None if request.emulate else read_discovery(request, around.world)
    if discovery is None:
        if given.discover:
            raise UsageError(
                Diagnostic(
                    "TTR009", "--discover needs -m or -M, and hardware", help="add -m FILE --hosts a,b"
                )
            )
        return request
    if given.discover and request.rank_pinning_file is not None:
        raise UsageError(
            Diagnostic(
                "TTR016",
                "--rank-pinning-file: what --discover asks decides by itself where ranks go",
                help="leave one of the two out",
            )
        )
    refresh = given.force_rediscovery
    if discovery.is_known and not refresh:
        say(f"ranks as discovered in {discovery.folder}; --force-rediscovery does not use them")
        return discovery.request(request, around.world)
    is_asked = given.discover
    if not is_asked and not (_looks_unchecked(given) and _is_beyond_us(discovery, around.world)):
        return request
    generator = find_generator(around.world)
    if generator is None and not is_asked:
        generator = generator_places(around.world)[0]
        say(f"there is no {generator}; only it could say where the ranks of {discovery.asked} go")
    if generator is None:
        places = ", ".join(map(str, generator_places(around.world)))
        raise LauncherError(
            Diagnostic(
                "TTR510",
                "there is no generate_rank_bindings to discover with",
                help="build TT-Metal, or leave --discover out to derive the ranks from the descriptor",
                notes=(f"looked for: {places}",),
            )
        )
    words = read_mpi_args(split_mpi_args(request.mpi_args)).words
    plan = discovery_plan(discovery, generator, request, around.world, words)
    if given.looks_only:
        _show(discovery, plan, given, around)
        return None
    findings = Findings()
    require_program(request, around.world, findings)  # before minutes of discovery, not after
    findings.stop_if_broken()
    launcher = around.require_launcher()
    say(f"discovering on {', '.join(discovery.hosts) or 'the mock cluster'} for {discovery.folder}")
    discover(discovery, around.world, lambda: _run(plan, launcher, given, around), refresh=refresh)
    return discovery.request(request, around.world)


def _looks_unchecked(given: CommandLine) -> bool:
    return bool(given.dry_run) and given.check == CheckLevel.OFF.value


def _is_beyond_us(discovery: Discovery, world: World) -> bool:
    """Whether a descriptor is none that ranks can be derived from: a look that checks nothing then shows, as the reference
    does, whom a launch would have to ask."""
    findings = Findings()
    return any(
        read_descriptor(path, world, findings, CheckLevel.OFF) is None for path in discovery.descriptors
    )


def _run(plan: LaunchPlan, launcher: Launcher, given: CommandLine, around: Surroundings) -> str:
    """Runs the generator under the same supervision as a program; what went wrong, or an empty text.

    Raises LauncherError, with the exit code of the signal, when the user ended it.
    """
    watching = replace(run_options(given), timeout=DEADLINE, max_restarts=0, tee=Tee.parse("all"))
    folder = around.run_dir.with_name(f"{around.run_dir.name}-discovery")
    attempt = run_plan(plan, launcher, around.machine, around.options, watching, folder, say)
    if attempt.verdict.succeeded:
        return ""
    if attempt.observation.ended_by is EndedBy.SIGNAL:
        error = LauncherError(Diagnostic("TTR511", f"discovery was ended: {attempt.verdict.sentence}"))
        error.exit_code = Exit(attempt.verdict.exit_code)
        raise error
    return f"{attempt.verdict.sentence}; its output is in {attempt.folder.path}"


def _show(discovery: Discovery, plan: LaunchPlan, given: CommandLine, around: Surroundings) -> None:
    """What would be started first; what follows depends on its answer."""
    launcher = around.shown_launcher
    line = build_mpmd_line(plan, launcher, around.machine, around.options, around.run_dir)
    if given.format == "json":
        view = {"folder": str(discovery.folder), "key": discovery.key, "command": list(line.command)}
        print(json.dumps({"discovery": view}, ensure_ascii=False))
    else:
        print("\n".join(line.shell_lines()))
    say(f"the ranks follow from what this writes to {discovery.folder}, so they cannot be shown yet")
