"""Running a plan from the command line: what is said before, during and after."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from mgd.cli.output import wants_colour
from mgd.diagnostics import on_one_line
from tt_run import contract
from tt_run.cli.reading.command_line import CommandLine
from tt_run.cli.surroundings import Surroundings
from tt_run.inputs.findings import counted
from tt_run.inputs.site import from_here
from tt_run.inputs.wrapping import GDBSERVER_PORT
from tt_run.launch.line import LaunchLine
from tt_run.launch.mpirun import Launcher
from tt_run.plan.model import LaunchPlan
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.options import RunOptions, Tee, hang_seconds
from tt_run.supervise.run import run_plan

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

    from tt_run.supervise.attempt import Attempt


def execute(
    plan: LaunchPlan, launcher: Launcher, around: Surroundings, given: CommandLine, words: Sequence[str]
) -> int:
    """Runs the plan and reports; the exit code of the verdict."""
    choices = run_options(given)
    line_typed = ["tt-run", *words]

    def announce(line: LaunchLine, folder: RunFolder) -> None:
        _tell_start(given, plan, line, folder)
        _record_plan(plan, line, line_typed, folder)
        _tell_debuggers(given, plan)

    attempt = run_plan(
        plan,
        launcher,
        around.machine,
        around.options,
        choices,
        around.run_dir,
        say,
        announce,
        repeated=lambda attempt: _record(attempt, _account(plan, attempt, line_typed)),
    )
    from tt_run.supervise.output.exit_handlers import exit_handler_lines

    if attempt.verdict.succeeded:
        _tell_leftovers(attempt)
    else:
        _report_failure(given, attempt, line_typed, choices.tee)
    _write_records(plan, attempt, given.report, line_typed)
    for line in exit_handler_lines(attempt.folder.path):
        say(f"warning: {line}")
    _tell_faults(given, attempt)
    _tell_written(
        given,
        around,
        attempt.observation.started_at,
        is_whole=attempt.verdict.succeeded and not plan.placement.is_multi_host,
    )
    if given.record:
        from tt_run.cli.record_summary import recorded

        folder = around.site.cwd / around.site.expand_user(given.record)
        say(recorded(folder, attempt.folder.path.name, plan, given.record))
    return attempt.verdict.exit_code


def _tell_start(given: CommandLine, plan: LaunchPlan, line: LaunchLine, folder: RunFolder) -> None:
    """Where the ranks go and where their logs are; with -v mpirun's line, what was added to it, and the allocation."""
    if given.verbose:
        from tt_run.inputs.secrets import masked_words

        say(shlex.join(masked_words(line.command)))
    say(
        f"{counted(len(plan.ranks), 'rank')} on {_where(plan)}, logs in {on_one_line(from_here(folder.path))}"
    )
    for text in line.defaults_told() if given.verbose else ():
        say(text)
    if given.verbose and (allocation := os.environ.get("SLURM_JOB_ID")):
        submitted = os.environ.get("SLURM_SUBMIT_DIR")
        say(f"SLURM_JOB_ID {allocation}" + (f", SLURM_SUBMIT_DIR {submitted}" if submitted else ""))


def _tell_debuggers(given: CommandLine, plan: LaunchPlan) -> None:
    """Who may stop where."""
    if given.debug_rank is not None:
        say(
            f"rank {given.debug_rank} stops here at breakpoint() and where it fails; no deadline passes meanwhile"
        )
    if given.debug_gdbserver:
        host = plan.ranks[0].host or "HOST"
        say(
            f"each rank waits for a debugger on port {GDBSERVER_PORT} + rank: gdb -ex 'target remote {host}:{GDBSERVER_PORT}'"
        )


def _report_failure(given: CommandLine, attempt: Attempt, words: Sequence[str], tee: Tee) -> None:
    from tt_run.supervise.output.report import annotation, failure_report

    with suppress(OSError):
        report = failure_report(attempt, words, lambda rank: tee.shows(rank, error=True))
        print("\n".join(_fitting(report)), file=sys.stderr, flush=True)
    if given.annotations == "github":
        print(annotation(attempt.verdict, attempt.failures))


def _tell_leftovers(attempt: Attempt) -> None:
    """Says which ranks of a run that ended well left processes behind, and which of those SIGKILL has not ended."""
    from tt_run.supervise.processes import left_behind

    swept = attempt.observation.swept
    for text in (*([left_behind(swept)] if swept else ()), *attempt.observation.survived):
        say(text)


_PROSE = ("tt-run: ", "rank ", "ranks ", "help: ", "ended because ", "injected: ", "last collective: ")


def _fitting(report: Sequence[str]) -> list[str]:
    """The report as a terminal takes it: sentences of ours folded at its width, what can be typed and what programs said as it is."""
    from mgd.cli.output import page_width
    from mgd.folding import fold, is_typed

    width = page_width(sys.stderr, 0) if sys.stderr.isatty() else 0
    lines = []
    for line in report:
        said = line.lstrip()
        indent = " " * (len(line) - len(said) + 4)
        is_ours = said.startswith(_PROSE) and not (said.startswith("help: ") and is_typed(said))
        lines.append(
            f"{line[: len(indent) - 4]}{fold(said, width, indent, len(indent) - 4)}" if is_ours else line
        )
    return lines


def _tell_faults(given: CommandLine, attempt: Attempt) -> None:
    """Says what was injected into a run that ended well, whose report nobody sees, and which faults have not happened."""
    if not given.inject:
        return
    from tt_run.supervise.verdict.injected import idle_faults, idle_sentence, injected_lines

    folder = attempt.folder.path
    if attempt.verdict.succeeded:
        say("\n".join(line.strip() for line in injected_lines(folder, None, failed=False)))
    idle = idle_faults(folder, given.inject)
    if idle:
        none = "no fault happened, " * (len(idle) == len(given.inject))
        say(f"--inject: {none}{idle_sentence(folder, idle)}")


def _tell_written(given: CommandLine, around: Surroundings, started: float, is_whole: bool) -> None:
    """Names the files that were asked for and that the run has written, and of a whole run those that it has not."""
    from tt_run.cli.outputs import asked_outputs

    for option, text in asked_outputs(given):
        if option.is_folder:
            continue
        path = around.site.cwd / around.site.expand_user(text)
        is_written = False
        with suppress(OSError):
            is_written = path.stat().st_mtime >= started - 1  # some file systems keep whole seconds
        if is_written:
            say(f"{option.name}: {on_one_line(str(path))}")
        elif is_whole and option.variable and (path.is_file() or not path.exists()):
            say(f"{option.name}: no rank has used ttnn, so {text} was not written")


def _where(plan: LaunchPlan) -> str:
    """The hosts and which input named them."""
    names = [host.name for host in plan.placement.hosts]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"{shown} ({plan.placement.source})" if names else plan.placement.source


def run_options(given: CommandLine) -> RunOptions:
    """The choices about watching, from the command line. Raises UsageError."""
    hang = given.hang_timeout
    edited: list[tuple[int, int]] = []
    if given.debugpy:
        from tt_run.launch.debuggers import editors

        edited = editors(given.debugpy) or []
    return RunOptions(
        timeout=given.timeout,
        start_timeout=given.start_timeout,
        hang_timeout=hang_seconds(hang),
        automatic_hang=hang != "off",
        max_restarts=given.max_restarts,
        tee=Tee.parse(given.tee),
        prefixes=not given.no_prefix,
        colour=wants_colour(sys.stdout),
        progress=sys.stderr.isatty() and given.debug_rank is None,
        debugged=given.debug_rank is not None or bool(given.debugpy),
        editors=tuple(rank for rank, _ in edited),
        faults=() if given.emulate else given.inject,
    )


def say(text: str) -> None:
    """One message of tt-run itself, on standard error. A reader that has gone away, or a full disk, does not end the run."""
    with suppress(OSError):
        for line in text.splitlines():
            print(f"tt-run: {line}", file=sys.stderr, flush=True)


def _view(plan: LaunchPlan, line: LaunchLine, words: Sequence[str]) -> dict[str, Any]:
    from tt_run.inputs.secrets import masked_text
    from tt_run.plan.render import plan_json  # while mpirun starts

    view = plan_json(plan, line.launcher, line.command, line.global_args) | line.as_json()
    return {**view, "line": [masked_text(word) for word in words]}


def _account(plan: LaunchPlan, attempt: Attempt, words: Sequence[str]) -> bytes:
    """Plan, outcomes and verdict of an attempt as JSON."""
    from tt_run.supervise.output.report import report_json

    return _as_json(report_json(attempt, _view(plan, attempt.line, words)))


def _as_json(view: dict[str, Any], indent: int | None = 1) -> bytes:
    import json

    text = json.dumps(view, indent=indent, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "surrogateescape")


def _record_plan(plan: LaunchPlan, line: LaunchLine, words: Sequence[str], folder: RunFolder) -> None:
    """What is known from the start, for those who look at the run while it goes on. The account at its end tells what cannot be written."""
    with suppress(OSError):
        # On one line, which takes a tenth of the time: the ranks start meanwhile.
        _write(folder, _as_json(_view(plan, line, words), indent=None))


def _write(folder: RunFolder, content: bytes) -> None:
    """Into plan.json, for its owner only, since variables may be secrets. Raises OSError."""
    path = folder.path / contract.PLAN_FILE
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
        stream.write(content)


def _record(attempt: Attempt, content: bytes) -> None:
    """Writes an account into the folder of its run."""
    path = attempt.folder.path / contract.PLAN_FILE
    try:
        _write(attempt.folder, content)
    except FileNotFoundError:  # somebody has removed the run folder meanwhile
        say(f"warning[TTR036]: {path} cannot be written: its folder was removed during the run")
    except OSError as error:  # what the ranks did stays as it is
        say(f"warning[TTR036]: {path} cannot be written: {error.strerror}")


def _write_records(plan: LaunchPlan, attempt: Attempt, report: str | None, words: Sequence[str]) -> None:
    """The account of the last attempt in its folder, and where asked. A name that ends in .html is given the page in place of the JSON."""
    content = _account(plan, attempt, words)
    _record(attempt, content)
    path = attempt.folder.path / contract.PLAN_FILE
    if report:
        try:
            Path(report).parent.mkdir(parents=True, exist_ok=True)
            Path(report).write_bytes(
                _page(attempt) if report.lower().endswith((".html", ".htm")) else content
            )
        except OSError as error:
            print(
                f"warning[TTR036]: {report} cannot be written: {error.strerror}; tt-run report makes it of {path.parent}"
                if report.lower().endswith((".html", ".htm"))
                else f"warning[TTR036]: {report} cannot be written: {error.strerror}; it is also {path}",
                file=sys.stderr,
            )


def _page(attempt: Attempt) -> bytes:
    from tt_run.report.page import render
    from tt_run.supervise.looking.runs import read_run

    return render(read_run(attempt.folder.path))
