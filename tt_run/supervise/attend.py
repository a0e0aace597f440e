"""Standing by a job that has just been started, until it has ended.

Imported while mpirun starts the ranks, so it imports little: they share the cores.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

from tt_run import contract
from tt_run.launch.backend import Job
from tt_run.plan.model import LaunchPlan
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.looking.slow_start import SlowStart
from tt_run.supervise.looking.stopped_launcher import StoppedLauncher
from tt_run.supervise.looking.stopped_ranks import MARGIN_SECONDS, StoppedRanks
from tt_run.supervise.observation import Observation
from tt_run.supervise.options import RunOptions
from tt_run.supervise.output.console import Console
from tt_run.supervise.output.outlet import Outlet, Unread, Words
from tt_run.supervise.output.progress import Progress
from tt_run.supervise.signals import SignalInbox
from tt_run.supervise.status import StatusBoard
from tt_run.supervise.verdict.hang import HangWatch
from tt_run.supervise.watch import Watch

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

    from tt_run.supervise.timed_faults import TimedFaults

LAST_WORD_SECONDS = 0.5  # what whoever reads gets for the last of it, once somebody has asked for an end
# As a word of --runtime-options, or of its short name --rto.
_GO_ON = tuple(f"error-nonzero-status={no}" for no in ("false", "0", "no", "f", "n"))


def attend(
    job: Job,
    plan: LaunchPlan,
    folder: RunFolder,
    options: RunOptions,
    inbox: SignalInbox,
    say: Callable[[str], None],
    faults: TimedFaults | None = None,
    helpers: Sequence[int] = (),
) -> tuple[StatusBoard, Observation]:
    """Watches a started job to its end: the ranks' records and what was seen. The job is gone when this returns.

    `helpers` are processes of ours, which stand still when the ranks do.
    """
    board = StatusBoard(folder, len(plan.ranks))
    out, err = Outlet(sys.stdout.buffer), Outlet(sys.stderr.buffer)
    words = Words(err, say)
    say = words.say
    console = _console(folder, board, options, out, err)
    hang = HangWatch(options.hang_timeout, options.automatic_hang, options.stranded_seconds)
    progress = Progress(sys.stderr if options.progress else None, board.size)
    goes_on = _goes_on(plan.mpi_args)
    watch = Watch(job, board, console, options, inbox, hang, progress, say, goes_on)
    watch.faults, watch.helpers = faults, helpers
    if helpers:
        from tt_run.supervise.input_turn import InputTurn

        watch.look_at_input = InputTurn(helpers, say).look
    watch.meanwhile = partial(_once_started, plan, board, say)
    if plan.emulate:
        from tt_run.supervise.looking.long_waits import Standstill

        watch.standstill = Standstill(folder.path, say, lambda: hang.describe(board, job).stacks)
    _look_for_standstills(watch, plan, options)
    try:
        return board, watch.run()
    finally:
        if console.order is not None:
            console.order.close()
        is_read, is_err_read = (outlet.close(LAST_WORD_SECONDS) for outlet in (out, err))
        if watch.gave_up and not is_err_read:
            sys.stderr = Unread.in_place_of(sys.stderr)
        if watch.gave_up and not is_read:
            sys.stdout = Unread.in_place_of(sys.stdout)
            words.say(f"nobody reads standard output: what was not shown is in {folder.path}")
        words.catch_up()


def _console(folder: RunFolder, board: StatusBoard, options: RunOptions, out: Outlet, err: Outlet) -> Console:
    return Console(
        folder,
        board.size,
        options.tee,
        out,
        err,
        time.monotonic,
        colour=options.colour,
        prefixes=options.prefixes,
        order=_opened(folder.order),
    )


def _look_for_standstills(watch: Watch, plan: LaunchPlan, options: RunOptions) -> None:
    """Lets the watch look for ranks and an mpirun that somebody has stopped, and for a start that takes long."""
    board, say = watch.board, watch.say
    if plan.placement.is_multi_host:
        watch.is_elsewhere = True
        watch.ask_stopped = partial(_ask_stopped, plan, board)
    host, patience = os.uname().nodename, _patience(plan)
    watch.stops = StoppedRanks(board, host, say, patience, watch.ask_stopped)
    watch.launcher_stops = StoppedLauncher(watch.job.pid, board, host, say, patience)
    is_out_of_room = partial(_is_out_of_room, board.folder)
    watch.slow_start = SlowStart(board, _hosts(plan), say, options.start_timeout, is_out_of_room)


def _hosts(plan: LaunchPlan) -> list[str]:
    """The host of each rank where the plan says so, else all that have slots; none where all ranks are on this machine."""
    if not plan.placement.hosts:
        return []
    named = [rank.host for rank in plan.ranks if rank.host is not None]
    return named if len(named) == len(plan.ranks) else [host.name for host in plan.placement.hosts]


def _patience(plan: LaunchPlan) -> float | None:
    """How long a rank that a signal has stopped is waited for: a little longer than the ranks themselves do; None: for ever, as on hardware."""

    def said(name: str) -> str:
        set_ = plan.ranks[0].env.get(name)
        return (set_.value if set_ is not None else os.environ.get(name, "")).strip()

    if not plan.emulate or said(contract.GUARD).lower() in contract.OFF:
        return None
    text = said(contract.GUARD_TIMEOUT)
    try:
        return float(text or contract.GUARD_SECONDS) + MARGIN_SECONDS
    except ValueError:  # the ranks refuse it
        return None


def _is_out_of_room(folder: RunFolder) -> bool:
    from tt_run.supervise.verdict.limits import limit_met

    return limit_met(folder) is not None


def _opened(path: Path) -> BinaryIO | None:
    """The file to be written; None where that cannot be: the run goes on without."""
    try:
        return path.open("wb")
    except OSError:
        return None


def _ask_stopped(plan: LaunchPlan, board: StatusBoard) -> tuple[int, ...]:
    from tt_run.launch.agent import RemoteAgent
    from tt_run.supervise.verdict.stopped import stopped_elsewhere

    agent = RemoteAgent.chosen(os.environ, plan.mpi_args)
    return stopped_elsewhere(agent, board.all(), os.uname().nodename)


def _once_started(plan: LaunchPlan, board: StatusBoard, say: Callable[[str], None]) -> None:
    """Tells of ranks on other hosts than theirs, and imports what the end of the run needs."""
    if plan.placement.is_multi_host:
        from tt_run.supervise.looking.misplaced_ranks import misplaced

        if told := misplaced(plan, board):
            say(told)
    import json  # noqa: F401

    import tt_run.supervise.output.report  # noqa: F401


def _goes_on(words: Sequence[str]) -> bool:
    """Whether mpirun was told not to end the ranks when one fails: for ULFM, or by a runtime option of Open MPI 5."""
    return "--with-ft" in words or any(
        option.lower() in _GO_ON for word in words for option in word.split(",")
    )
