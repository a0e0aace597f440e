"""A launch as the command line asks for it: plan, look or run, report."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mgd.diagnostics import Diagnostic, Severity
from mgd.lean import replace
from tt_run.cli.print_findings import print_findings
from tt_run.cli.reading.command_line import CommandLine
from tt_run.cli.reading.configuration import describe, located, with_configuration
from tt_run.cli.reading.idle import idle_in_plan, idle_options, unfit_losses
from tt_run.cli.reading.owners import launch_request
from tt_run.cli.reading.python_slips import (
    hidden_packages,
    isolated_python,
    lost_modules,
    lost_script,
    refuse_lost_script,
    refuse_python_alone,
)
from tt_run.cli.reading.slips import (
    late_options,
    refuse_defaults_elsewhere,
    refuse_detached_value,
    refuse_file_of_hosts,
    refuse_late_choice,
    refuse_misspelt_command,
    refuse_other_dash,
    refuse_second_launcher,
    refuse_swallowed_program,
)
from tt_run.cli.surroundings import Surroundings
from tt_run.contract import Exit
from tt_run.errors import TtRunError, UsageError
from tt_run.inputs.findings import counted
from tt_run.plan.build import build_plan
from tt_run.plan.model import LaunchPlan
from tt_run.plan.request import LaunchRequest


def launch(given: CommandLine, words: Sequence[str]) -> int:
    """Carries out the command line `words`, which has been read into `given`; the exit code.

    Raises TtRunError for everything that the user must act on.
    """
    given = with_configuration(given)
    try:
        return _launch(given, words)
    except TtRunError as error:
        error.diagnostics = located(error.diagnostics, given)
        from tt_run.cli.publish import publish

        error.is_told = publish(error.diagnostics, given)
        raise


def _launch(given: CommandLine, words: Sequence[str]) -> int:
    idle = idle_options(given)
    if any(finding.is_error for finding in idle):
        raise UsageError(idle)
    _refuse(unfit_losses(given))
    if given.inject:
        from tt_run.cli.faults import with_faults

        given = with_faults(given)
    if given.shell_env and not given.program:
        given = CommandLine(given.given, ("python",), given.configured)
    if given.configured and (given.looks_only or given.verbose):
        _tell_configuration(given)
    around = Surroundings.of(given)
    _refuse_slips(given, around)
    asked = launch_request(given)
    request = _with_discovered_ranks(asked, given, around)
    if request is None:
        return Exit.OK
    slips = (
        *idle,
        *late_options(given, around.site),
        *lost_script(given, around.site),
        *isolated_python(given),
        *hidden_packages(given, around.site),
        *lost_modules(given, around.site),
    )
    plan = build_plan(request, around.site, around.facts(asked), slips)
    if given.check != "off" and (idle := idle_in_plan(given, plan)):
        plan = replace(plan, findings=(*plan.findings, *idle))
    if given.check == "error":
        refuse_lost_script(plan.findings, not plan.placement.is_multi_host)
    _refuse_unfit(given, plan, around)
    print_findings(plan.findings, notes=given.verbose)
    if given.check_only or given.annotations == "github":
        from tt_run.cli.publish import publish

        publish(plan.findings, given, len(plan.ranks))
    if given.check_only:
        _refuse_lost_outputs(given, plan, around)
        print(f"tt-run: {counted(len(plan.ranks), 'rank')}, no errors", file=sys.stderr)
        return Exit.OK
    if given.emit:
        from tt_run.cli.emit import emit

        return emit(plan, given, words)
    if given.looks_only:
        return _look(plan, given, around)
    _refuse_lost_outputs(given, plan, around)
    from tt_run.cli.execute import execute

    return execute(plan, around.require_launcher(), around, given, words)


def _tell_configuration(given: CommandLine) -> None:
    from mgd.cli.output import page_width
    from mgd.folding import fold

    told = f"tt-run: configured: {describe(given)}"
    print(fold(told, page_width(sys.stderr, 0), "  "), file=sys.stderr)


def _refuse_slips(given: CommandLine, around: Surroundings) -> None:
    """Raises UsageError for words that cannot have been meant as they stand."""
    refuse_other_dash(given, around.site)
    refuse_misspelt_command(given, around.site)
    refuse_second_launcher(given, around.site)
    refuse_python_alone(given)
    refuse_swallowed_program(given, around.site)
    refuse_detached_value(given, around.site)
    refuse_late_choice(given)
    refuse_defaults_elsewhere(given, around.site)
    refuse_file_of_hosts(given, around.site)


def _refuse(findings: Sequence[Diagnostic]) -> None:
    if findings:
        raise UsageError(tuple(findings))


def _refuse_unfit(given: CommandLine, plan: LaunchPlan, around: Surroundings) -> None:
    """Raises UsageError for values of options that this plan cannot follow."""
    if given.inject:
        from tt_run.cli.faults import unfit_faults

        _refuse(unfit_faults(given, plan))
    if given.tee != "all":
        from tt_run.supervise.options import Tee

        _refuse(Tee.parse(given.tee).unfit(len(plan.ranks)))
    if given.hang_timeout != "auto":
        from tt_run.supervise.options import hang_seconds

        hang_seconds(given.hang_timeout)
    if given.debug_rank is not None or given.debugpy:
        from tt_run.launch.debuggers import unfit_debuggers

        _refuse(unfit_debuggers(around.options, plan))


def _refuse_lost_outputs(given: CommandLine, plan: LaunchPlan, around: Surroundings) -> None:
    from tt_run.cli.outputs import lost_outputs

    _refuse(lost_outputs(given, plan, around.site))


def _with_discovered_ranks(
    request: LaunchRequest, given: CommandLine, around: Surroundings
) -> LaunchRequest | None:
    """The request, with discovered ranks where it asks the hardware for them; None when that alone was to be shown."""
    allocates = request.mesh_graph_descriptor or request.mesh_graph_descriptor_mapping
    if not given.discover and not (allocates and not request.emulate):
        return request
    from tt_run.cli.discover import with_discovered_ranks

    return with_discovered_ranks(request, given, around)


def _look(plan: LaunchPlan, given: CommandLine, around: Surroundings) -> int:
    from tt_run.cli.views import print_env, print_plan, print_shell_env

    if given.shell_env:
        return print_shell_env(plan, [option.variable for option, _ in given.of_ranks()], given.format)
    if given.print_env is not None:
        return print_env(plan, given.print_env, around.run_dir, given.format)
    if around.missing is not None:
        print_findings((replace(around.missing, severity=Severity.WARNING),))
    code = print_plan(plan, around, given.format)
    left_out = given.of_tt_run()
    if left_out and given.format == "shell":
        told = f"tt-run: not in these lines, for tt-run does it itself: {', '.join(left_out)}"
        print(told, file=sys.stderr)
    return code
