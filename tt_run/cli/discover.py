"""Automatic allocation by discovery, as the command line asks for it: use what is known, ask the hardware, or show how."""

from __future__ import annotations

import json
import os
from pathlib import Path

from mgd.diagnostics import Diagnostic
from mgd.lean import replace
from tt_run.cli.execute import run_options, say
from tt_run.cli.reading.command_line import CommandLine
from tt_run.cli.surroundings import Surroundings
from tt_run.contract import Exit
from tt_run.errors import LauncherError, RefusedError, UsageError
from tt_run.inputs.findings import Findings, folded
from tt_run.inputs.mpi_args import read_mpi_args, split_mpi_args
from tt_run.inputs.site import Site
from tt_run.launch.discover import DEADLINE, discover, discovery_plan
from tt_run.launch.line import build_mpmd_line
from tt_run.launch.mpirun import Launcher
from tt_run.plan.checks.program import require_program
from tt_run.plan.descriptors import read_descriptor
from tt_run.plan.discovery import Discovery, find_generator, generator_places, read_discovery
from tt_run.plan.model import LaunchPlan
from tt_run.plan.request import CheckLevel, LaunchRequest
from tt_run.plan.usage import refuse_misuse
from tt_run.supervise.observation import EndedBy
from tt_run.supervise.options import Tee
from tt_run.supervise.run import run_plan


def with_discovered_ranks(
    request: LaunchRequest, given: CommandLine, around: Surroundings
) -> LaunchRequest | None:
    """The request with the ranks that discovery has found, or as it is where ranks are derived.

    Hardware is asked where `--discover` says so, and, as the reference does, whenever its generator is there, unless `--no-discover` or a
    rank pin says otherwise. None when a dry run has shown the discovery that would come first. Raises TtRunError.
    """
    refuse_misuse(request, around.site)
    discovery = None if request.emulate else read_discovery(request, around.site)
    _refuse_contradictions(request, given, discovery)
    if discovery is None or given.no_discover:
        return request
    refresh = given.force_rediscovery
    if discovery.is_known and not refresh:
        say(f"ranks as discovered in {discovery.folder}; --force-rediscovery does not use them")
        return discovery.request(request, around.site)
    generator = _generator(request, given, discovery, around.site)
    if generator is None:
        return request
    _check_descriptors(discovery, request, around.site)
    words = read_mpi_args(split_mpi_args(request.mpi_args)).words
    plan = discovery_plan(discovery, generator, request, around.site, words)
    if given.looks_only:
        _show(discovery, plan, given, around)
        return None
    findings = Findings()
    require_program(request, around.site, findings)  # before minutes of discovery, not after
    findings.stop_if_broken()
    launcher = around.require_launcher()
    say(f"discovering on {', '.join(discovery.hosts) or 'the mock cluster'} for {discovery.folder}")
    discover(discovery, around.site, lambda: _run(plan, launcher, given, around), refresh=refresh)
    return discovery.request(request, around.site)


def _refuse_contradictions(request: LaunchRequest, given: CommandLine, discovery: Discovery | None) -> None:
    """Raises UsageError for a wish to discover beside something that speaks against it."""
    if given.discover and discovery is None:
        raise UsageError(
            Diagnostic("TTR009", "--discover needs -m or -M, and hardware", help="add -m FILE --hosts a,b")
        )
    if given.discover and given.no_discover:
        raise UsageError(
            Diagnostic(
                "TTR009", "--discover and --no-discover are mutually exclusive", help="keep one of them"
            )
        )
    if given.discover and request.rank_pinning_file is not None:
        raise UsageError(
            Diagnostic(
                "TTR016",
                "--rank-pinning-file: what --discover asks decides by itself where ranks go",
                help="leave one of the two out",
            )
        )


def _check_descriptors(discovery: Discovery, request: LaunchRequest, site: Site) -> None:
    """Raises InputError and RefusedError for descriptors that no generator has to be started for."""
    if request.check is not CheckLevel.ERROR:
        return
    findings = Findings()
    graphs = [read_descriptor(path, site, findings, request.check) for path in discovery.descriptors]
    if None in graphs:
        findings.errors_are_final()
    findings.stop_if_broken()
    if any(finding.is_error for finding in findings.judged):
        raise RefusedError(folded(findings.judged))


def _generator(request: LaunchRequest, given: CommandLine, discovery: Discovery, site: Site) -> Path | None:
    """The generator to ask, None where ranks are derived instead. Raises LauncherError when one is asked for and absent."""
    found = find_generator(site)
    if given.discover:
        if found is not None:
            return found
        places = ", ".join(map(str, generator_places(site)))
        raise LauncherError(
            Diagnostic(
                "TTR510",
                "there is no generate_rank_bindings to discover with",
                help="build TT-Metal, or leave --discover out to derive the ranks from the descriptor",
                notes=(f"looked for: {places}",),
            )
        )
    if request.rank_pinning_file is not None or given.emit:  # the job will discover where it runs
        return None
    if found is not None and os.access(found, os.X_OK):
        if not given.looks_only or given.dry_run:
            return found
        say(f"a launch asks {found} for its ranks; these are derived from the descriptor")
        return None
    if _looks_unchecked(given) and _is_beyond_us(discovery, site):
        place = generator_places(site)[0]
        say(f"there is no {place}; only it could say where the ranks of {discovery.asked} go")
        return place
    return None


def _looks_unchecked(given: CommandLine) -> bool:
    return bool(given.dry_run) and given.check == CheckLevel.OFF.value


def _is_beyond_us(discovery: Discovery, site: Site) -> bool:
    """Whether a descriptor is none that ranks can be derived from: a look that checks nothing then shows, as the reference
    does, whom a launch would have to ask."""
    findings = Findings()
    return any(
        read_descriptor(path, site, findings, CheckLevel.OFF) is None for path in discovery.descriptors
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
