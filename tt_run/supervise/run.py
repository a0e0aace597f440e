"""Running a plan from start to verdict, again if asked."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mgd.diagnostics import Diagnostic
from tt_run.errors import LauncherError
from tt_run.launch.backend import Job, start
from tt_run.launch.line import LaunchLine, build_line
from tt_run.launch.machine import Machine
from tt_run.launch.mpirun import Launcher
from tt_run.launch.options import LaunchOptions
from tt_run.launch.wrapper import wrapper_words, write_wrapper
from tt_run.plan.model import LaunchPlan
from tt_run.supervise.console import Console, Tee
from tt_run.supervise.folder import RunFolder, make_folder
from tt_run.supervise.guardian import post_guardian
from tt_run.supervise.hang import STRANDED_SECONDS, HangWatch
from tt_run.supervise.signals import SignalInbox, watching_signals
from tt_run.supervise.status import StatusBoard, read_failure
from tt_run.supervise.verdict import Verdict, judge
from tt_run.supervise.watch import EndedBy, Limits, Observation, Watch


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The user's choices about watching a run; times in seconds, None for no deadline."""

    timeout: float | None = None
    start_timeout: float | None = None
    hang_timeout: float | None = None
    automatic_hang: bool = True
    stranded_seconds: float = STRANDED_SECONDS
    max_restarts: int = 0
    tee: Tee = field(default_factory=Tee)
    prefixes: bool = True
    verbose: bool = False


@dataclass(frozen=True)
class Attempt:
    """One try of a run: what was started, what was seen, and what it means."""

    folder: RunFolder
    line: LaunchLine
    board: StatusBoard
    observation: Observation
    failures: Mapping[int, Mapping[str, Any]]
    verdict: Verdict
    number: int = 1


def run_plan(
    plan: LaunchPlan,
    launcher: Launcher,
    machine: Machine,
    launch: LaunchOptions,
    options: RunOptions,
    run_dir: Path,
    say: Callable[[str], None],
    announce: Callable[[LaunchLine, RunFolder], None] = lambda line, folder: None,
) -> Attempt:
    """Runs the plan, up to `max_restarts` times again while ranks fail by themselves; the last attempt.

    Raises LauncherError when mpirun cannot be executed, UsageError when the run folder cannot be used.
    """
    with watching_signals() as inbox:
        for number in range(1, options.max_restarts + 2):
            folder = make_folder(run_dir if number == 1 else run_dir.with_name(f"{run_dir.name}.{number}"))
            line = build_line(
                plan, launcher, machine, launch, folder.path, wrapper_words(folder.path, len(plan.ranks))
            )
            announce(line, folder)
            job = _start(plan, line, machine, launch, folder)
            board = StatusBoard(folder, len(plan.ranks))
            observation = _observe(job, board, plan, options, inbox, say)
            failures = {
                rank: found for rank in range(board.size) if (found := read_failure(folder, rank)) is not None
            }
            verdict = judge(board.all(), observation, failures, plan.placement.is_multi_host)
            attempt = Attempt(folder, line, board, observation, failures, verdict, number)
            final = attempt.verdict.succeeded or attempt.observation.ended_by in (
                EndedBy.SIGNAL,
                EndedBy.TIMEOUT,
            )
            if final or number > options.max_restarts:
                break
            say(f"{attempt.verdict.sentence}; restart {number} of {options.max_restarts}")
    return attempt


def _start(
    plan: LaunchPlan, line: LaunchLine, machine: Machine, launch: LaunchOptions, folder: RunFolder
) -> Job:
    """Writes what the ranks read and starts the launcher."""
    write_wrapper(plan, folder.path)
    for file in plan.generated_files:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        file.path.write_text(file.text, encoding="utf-8")
    if line.rankfile is not None and line.rankfile.text is not None:
        line.rankfile.path.write_text(line.rankfile.text, encoding="utf-8")
    try:
        return start(line, plan.cwd, folder.launcher_log, machine.environ, launch.stdin)
    except OSError as error:
        reason = f"{line.launcher} cannot be executed: {error.strerror}"
        raise LauncherError(
            Diagnostic("TTR504", reason, help="tt-run --doctor shows what is there")
        ) from None


def _observe(
    job: Job,
    board: StatusBoard,
    plan: LaunchPlan,
    options: RunOptions,
    inbox: SignalInbox,
    say: Callable[[str], None],
) -> Observation:
    guardian = post_guardian(job.pid, board.folder)
    console = Console(
        board.folder,
        board.size,
        options.tee,
        sys.stdout.buffer,
        sys.stderr.buffer,
        time.monotonic,
        colour=sys.stdout.isatty(),
        prefixes=options.prefixes,
    )
    watch = Watch(
        job,
        board,
        console,
        Limits(options.timeout, options.start_timeout),
        inbox,
        HangWatch(options.hang_timeout, options.automatic_hang, options.stranded_seconds),
        say,
        survives_failures="--with-ft" in plan.mpi_args,
    )
    try:
        return watch.run()
    except BaseException:
        job.kill()
        raise
    finally:
        guardian.dismiss()
