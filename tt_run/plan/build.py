"""From a request to a LaunchPlan: reads the inputs, checks that they fit together, and says what every rank will be."""

from __future__ import annotations

from collections.abc import Sequence

from mgd.diagnostics import Diagnostic, Severity
from mgd.lean import replace
from tt_run.errors import InputError, RefusedError, UsageError
from tt_run.inputs.environment import BLOCKED, EnvVar
from tt_run.inputs.findings import Findings, folded
from tt_run.inputs.mpi_args import read_mpi_args, split_mpi_args
from tt_run.inputs.site import Site
from tt_run.inputs.wrapping import PROFILER_DIR, Tracy, parse_tracy, with_gdbserver, with_tracy
from tt_run.plan.checks import Subject, joint_check
from tt_run.plan.checks.program import require_program
from tt_run.plan.defaults import wanted_words
from tt_run.plan.environment import emulated_path, rank_environments
from tt_run.plan.inheritance import inheritance
from tt_run.plan.launcher import LauncherFacts
from tt_run.plan.model import LaunchPlan, RankPlan
from tt_run.plan.rank_source import RankSource, read_source
from tt_run.plan.request import CheckLevel, LaunchRequest
from tt_run.plan.shell_exports import with_exported
from tt_run.plan.slots import Seating, find_seats
from tt_run.plan.usage import refuse_misuse


def build_plan(
    request: LaunchRequest,
    site: Site | None = None,
    launcher: LauncherFacts | None = None,
    known: Sequence[Diagnostic] = (),
) -> LaunchPlan:
    """What launching `request` on this machine will do. Starts nothing and writes nothing.

    `launcher` is what is known of mpirun; without it nothing is said about its version. `known` are findings made before. Raises UsageError (the request
    itself is wrong), InputError (a file is missing or cannot be understood) and RefusedError (the joint check found
    errors and `request.check` is ERROR), each with all its findings.
    """
    site = site or Site.current()
    refuse_misuse(request, site)
    request = with_exported(request, site)
    try:
        return _planned(request, site, launcher, known)
    except (InputError, RefusedError):
        from tt_run.plan.wrong_files import wrong_files

        wrong = wrong_files(request, site)
        if wrong:
            raise UsageError(wrong) from None
        raise


def _planned(
    request: LaunchRequest, site: Site, launcher: LauncherFacts | None, known: Sequence[Diagnostic]
) -> LaunchPlan:
    words = split_mpi_args(request.mpi_args)
    tracy = parse_tracy(request.tracy, site) if request.tracy is not None else None
    findings = Findings(judged=list(known))
    starting = starting_site(request, site)
    require_program(request, starting, findings)
    source = read_source(request, site, findings)
    if source is None:
        findings.stop_if_broken()
        raise AssertionError("an input that cannot be read has a finding")
    mpi_args = read_mpi_args(words, len(source.bindings.bindings))
    seating = find_seats(request, source, mpi_args, site, findings)
    findings.stop_if_broken()
    ranks = _ranks(request, source, seating, site, findings, tracy)
    shell = inheritance(request, seating, mpi_args, site)
    if request.check is not CheckLevel.OFF:
        joint_check(
            Subject(request, source, seating, ranks, mpi_args, starting, launcher, shell.left), findings
        )
    return LaunchPlan(
        ranks=ranks,
        program=request.program,
        cwd=site.cwd,
        placement=seating.placement,
        mpi_args=mpi_args.words,
        defaults=wanted_words(mpi_args),
        unset=tuple(name for name in BLOCKED if name not in mpi_args.exports),
        inherited=shell.variables,
        is_exact=shell.is_exact,
        findings=_judge(findings.judged, request.check),
        emulate=request.emulate,
        generated_files=source.generated_files,
        placed=source.placed,
        folders=tuple(tracy.rank_folder(rank.rank) for rank in ranks) if tracy is not None else (),
    )


def starting_site(request: LaunchRequest, site: Site) -> Site:
    """The site with the PATH of the ranks, on which the program is looked for."""
    return replace(site, environ={**site.environ, "PATH": emulated_path(site)}) if request.emulate else site


def _ranks(
    request: LaunchRequest,
    source: RankSource,
    seating: Seating,
    site: Site,
    findings: Findings,
    tracy: Tracy | None,
) -> tuple[RankPlan, ...]:
    environments = rank_environments(request, source, seating, site, findings)
    plans: list[RankPlan] = []
    for binding, environment in zip(source.bindings.bindings, environments, strict=True):
        rank = binding.rank
        argv = request.program
        if tracy is not None:
            argv = with_tracy(argv, tracy, rank, site)
            environment[PROFILER_DIR] = EnvVar(str(tracy.rank_folder(rank)), "--tracy")
        if request.debug_gdbserver:
            argv = with_gdbserver(argv, rank)
        seat_of_rank = seating.seats[rank]
        plans.append(
            RankPlan(
                rank,
                argv,
                environment,
                binding.mesh_id,
                binding.mesh_host_rank,
                seat_of_rank.host,
                seat_of_rank.slot,
                source.devices_of(binding),
                binding.subcontext_id,
                binding.position,
                source.why.get(rank, ""),
            )
        )
    return tuple(plans)


def _judge(judged: list[Diagnostic], level: CheckLevel) -> tuple[Diagnostic, ...]:
    """What the findings amount to at a check level: raises RefusedError, or gives them back, none of them an error."""
    if level is CheckLevel.ERROR and any(finding.is_error for finding in judged):
        raise RefusedError(folded(judged))
    return folded(
        replace(finding, severity=Severity.WARNING) if finding.is_error else finding for finding in judged
    )
