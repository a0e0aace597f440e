"""Watching a run until nothing of it is left: deadlines, signals and the end of the launcher in one loop.

Nothing here waits without a limit. The loop wakes up for a signal, for the launcher's end, and every TICK seconds for the records.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from mgd.lean import dataclass, field
from tt_run.launch.backend import Job
from tt_run.launch.memory_kills import memory_kills, memory_told
from tt_run.supervise.looking.stacks import RankStack, rank_list
from tt_run.supervise.observation import EndedBy, Observation
from tt_run.supervise.options import RunOptions
from tt_run.supervise.output.console import Console
from tt_run.supervise.output.progress import Progress
from tt_run.supervise.processes import end_groups, end_strays, kill_group, local_groups, survivors
from tt_run.supervise.signals import ENDING_SIGNALS, PASSED_ON, SignalInbox
from tt_run.supervise.status import StatusBoard, read_failure, wall_time
from tt_run.supervise.terminal import is_stopped
from tt_run.supervise.verdict.hang import HangWatch
from tt_run.supervise.vitals import Vitals

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from tt_run.supervise.looking.long_waits import Standstill
    from tt_run.supervise.looking.slow_start import SlowStart
    from tt_run.supervise.looking.stopped_launcher import StoppedLauncher
    from tt_run.supervise.looking.stopped_ranks import StoppedRanks
    from tt_run.supervise.timed_faults import TimedFaults

TICK = 0.02
SLOW_TICK = 0.1
ORDERLY_SECONDS = 1.5  # what mpirun gets to end by itself once a rank has failed or all have reported
PAUSED_SECONDS = 2.0  # a wait of a tick that takes longer: this process, and as a rule its whole machine or container, stood still
ARRIVAL_SECONDS = 2.0  # what ranks that are being started get before they are stopped
SETTLE_SECONDS = 2.0  # what a record gets to appear after mpirun has ended with 0
QUIET_FOR_A_WAIT = (
    5.0  # of ranks that do not say how long they wait, so many seconds without a word count as one
)
TERM_SECONDS = 2.0  # what it gets after SIGTERM, before SIGKILL
UNREAD_SECONDS = 3.0  # what whoever reads and takes nothing gets once the time of a run is over


_AT_A_TIME = (EndedBy.TIMEOUT, EndedBy.START_TIMEOUT)


@dataclass()
class Watch:
    """One run being watched. `run` returns when the launcher has ended and no local process of a rank is left."""

    job: Job
    board: StatusBoard
    console: Console
    options: RunOptions
    inbox: SignalInbox
    hang: HangWatch
    progress: Progress
    say: Callable[[str], None]
    survives_failures: bool = False  # ULFM: a failed rank does not end the job
    meanwhile: Callable[[], None] | None = None  # called once, when every rank has started and there is time
    faults: TimedFaults | None = None
    standstill: Standstill | None = None
    stops: StoppedRanks | None = None
    launcher_stops: StoppedLauncher | None = None
    slow_start: SlowStart | None = None
    ask_stopped: Callable[[], tuple[int, ...]] | None = None  # which ranks of other hosts are stopped
    is_elsewhere: bool = False  # whether ranks run on other hosts too
    helpers: Sequence[int] = ()  # processes that stand still when the ranks do
    look_at_input: Callable[[], None] = lambda: None  # whether what reads for rank 0 may
    ended_by: EndedBy = EndedBy.ITSELF
    signal: int | None = None
    torn_down_at: float | None = None
    gave_up: bool = False  # whoever reads has not taken all
    _deadline: float | None = None
    _killed: bool = False
    _stacks: tuple[RankStack, ...] = ()
    _stuck: str = ""
    _late: tuple[int, ...] = ()
    _started: float = field(default_factory=time.monotonic)
    _looked: float = field(default_factory=time.monotonic)
    _stood: float = 0.0
    _stepped: float = field(default_factory=time.monotonic)
    _to_stop: float | None = None  # since when this run is to stand still
    _went_on: bool = False
    _vitals: Vitals = field(default_factory=lambda: Vitals(os.uname().nodename))
    _kills_before: int = field(default_factory=memory_kills)

    def run(self) -> Observation:
        began = wall_time()
        waiter = _Waiter(self.job.pid, self.inbox.wake_fd)
        try:
            while (code := self.job.poll()) is None:
                before = time.monotonic()
                waiter.wait(
                    0.0
                    if self.console.behind
                    else TICK
                    if before - self._started < 2 or self.torn_down_at
                    else SLOW_TICK
                )
                if (paused := time.monotonic() - before) > PAUSED_SECONDS:
                    self._pass_over(paused)
                self._step()
        finally:
            waiter.close()
        self.progress.clear()
        self._settle(code)
        swept = {*end_groups(local_groups(self.board, os.uname().nodename)), *self._finish()}
        swept |= {status.rank for status in self.board.all() if status.left}
        swept -= {*self.options.editors}
        survived = survivors(local_groups(self.board, os.uname().nodename)) if swept else {}
        swept -= {*survived}
        self._show_the_rest()
        failures = (read_failure(self.board.folder, rank) for rank in self.console.guard_words.ranks)
        if not any(record and record.get("guard") for record in failures):
            self.console.release()  # the program has caught it
        return Observation(
            self.ended_by,
            code,
            began,
            wall_time(),
            self.torn_down_at,
            self.signal,
            self._stacks,
            self._stuck,
            self._late,
            tuple(sorted(swept)),
            self._vitals.gone,
            self._vitals.outlived or (),
            (*self._vitals.stopped, *(self.stops.elsewhere if self.stops is not None else ())),
            self.stops.frozen if self.stops is not None else {},
            self.job.pid,
            memory_told(memory_kills() - self._kills_before),
            self.console.last_shown,
            self.console.guard_words.ranks,
            tuple(survived.values()),
        )

    def _show_the_rest(self) -> None:
        """Shows all that ranks have written; whoever asks for an end, or has set a time for it, gets it without waiting for a terminal that takes nothing."""
        self.console.pump(final=True)
        taken, since = -1, time.monotonic()
        while self.console.behind:
            if taken != (taken := self.console.taken):
                since = time.monotonic()
            elif self.ended_by in _AT_A_TIME and time.monotonic() - since > UNREAD_SECONDS:
                self._leave_unread()
                return
            arrived = self.inbox.take()
            if signal.SIGTSTP in arrived:
                self._stand_still()
            asked = [number for number in arrived if number in ENDING_SIGNALS]
            if asked or self.signal is not None:
                self._leave_unread()
                return
            self.console.pump(final=True)

    def _leave_unread(self) -> None:
        self.gave_up = True
        self.console.skip_to_end()

    def _finish(self) -> tuple[int, ...]:
        left = self.job.finish()
        return end_strays(self.board.folder.path, self.job.pid) if left is None else left

    def _settle(self, code: int) -> None:
        """Reads the last records; those of other hosts may take a moment to appear in a shared folder."""
        deadline = time.monotonic() + (SETTLE_SECONDS if code == 0 and self.torn_down_at is None else 0.0)
        self.board.refresh()
        while not self.board.all_ended and self.board.started and time.monotonic() < deadline:
            time.sleep(TICK)
            self.board.refresh()

    def _step(self) -> None:
        changed = self.board.refresh()  # first: an answer to a signal speaks of every rank that has started
        self.look_at_input()
        for number in self.inbox.take():
            self._on_signal(number)
        if self._to_stop is not None and (
            self.board.all_started or time.monotonic() - self._to_stop > ARRIVAL_SECONDS
        ):
            self._stand_still()
        self._stepped = time.monotonic()
        if self.faults is not None and self.torn_down_at is None:
            self.faults.look(self.board)
        self.progress.update(self.board.started, time.monotonic() - self._started)
        printed = self.console.pump()
        now = time.monotonic()
        if self._deadline is not None and now > self._deadline:
            self._escalate()
        if self.torn_down_at is not None:
            return
        if self._deadline is None:
            self._vitals.look(self.board)
        if self.meanwhile is not None and self.board.all_started:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        stopped = self._stands_still(now) or self._went_on
        self._went_on = False
        if self.standstill is not None and not self.options.debugged:
            self.standstill.look(now)
        self._check_ends()
        if (
            self.slow_start is not None
            and self.slow_start.look(now - self._started - self._stood)
            and self._deadline is None
        ):
            self._deadline = now  # mpirun does not end by itself
        self._check_deadlines(now - self._started - self._stood)
        if self._deadline is None and self.torn_down_at is None:
            self._check_stops(now)
        if self.torn_down_at is None:
            finding = self.hang.look(self.board, self.job, changed or printed or stopped)
            if finding is not None:
                self._stacks, self._stuck, self._late = finding.stacks, finding.why, finding.late
                if self.ask_stopped is not None:
                    self._vitals.stopped += self.ask_stopped()
                self._tear_down(EndedBy.HANG)

    def _check_stops(self, now: float) -> None:
        """Ends what waits for a rank that a signal has stopped and nobody continues."""
        if self.stops is None or self.options.debugged:
            return
        waited = self.standstill.longest if self.standstill is not None else 0.0
        late = self.stops.look(now, self._vitals.stopped, max(waited, self.hang.quiet / QUIET_FOR_A_WAIT))
        if late:
            self._stacks = self.hang.describe(self.board, self.job).stacks
            frozen = set(late) <= {*self.stops.frozen}
            self._stuck = (
                f"{rank_list(late)} {'frozen by a control group' if frozen else 'stopped by a signal'}"
            )
            self._tear_down(EndedBy.HANG)
        elif self.launcher_stops is not None and (stuck := self.launcher_stops.look(now)):
            self._stuck = stuck
            self._tear_down(EndedBy.HANG)

    def _stands_still(self, now: float) -> bool:
        """Whether a rank is stopped in a debugger: that time counts for no deadline."""
        before, self._looked = self._looked, now
        stopped = self.options.debugged and is_stopped(self.board.folder.path)
        if stopped:
            self._stood += now - before
        return stopped

    def _stand_still(self) -> None:
        """Stops, with all ranks where they are not about to end, until somebody continues tt-run."""
        from tt_run.supervise.suspension import suspend

        self._to_stop = None
        self.progress.clear()
        is_ending = self.torn_down_at is not None or self.job.poll() is not None
        if is_ending:
            began = time.monotonic()
            os.kill(os.getpid(), signal.SIGSTOP)
            seconds = time.monotonic() - began
        else:
            self.say("all ranks are stopped; they go on with tt-run: fg, or bg, or SIGCONT")
            seconds = suspend(self.job, self.helpers, elsewhere=self.is_elsewhere)
            self.say(f"all ranks go on, after {seconds:.0f} s")
        self.inbox.forget(signal.SIGCONT)
        self._pass_over(seconds)

    def _pass_over(self, seconds: float) -> None:
        """Seconds in which this process was stopped count for no deadline."""
        self._stood += seconds
        self._looked += seconds
        self._went_on = True
        if self._deadline is not None:
            self._deadline += seconds
        self.hang.pass_over(seconds)
        if self.standstill is not None:
            self.standstill.went_on = time.monotonic()

    def _on_signal(self, number: int) -> None:
        if number == signal.SIGQUIT:
            self.say(self.hang.describe_now(self.board, self.job))
            return
        if number == signal.SIGTSTP:
            self._to_stop = self._to_stop or time.monotonic()
            return
        if number == signal.SIGCONT:  # somebody had stopped tt-run alone, or means the ranks
            self._pass_over(time.monotonic() - self._stepped)
            self.job.send(number)
            return
        if number in PASSED_ON:
            self.say(f"{signal.Signals(number).name}: passed on to every rank")
            self.job.send(number)
            return
        if number not in ENDING_SIGNALS:
            return
        if self.signal is not None:
            self.say("again: ending every rank at once")
            self._kill()
            return
        self.signal = number
        self.say(f"{signal.Signals(number).name}: ending all ranks; once more ends them at once")
        self._tear_down(EndedBy.SIGNAL)

    def _check_ends(self) -> None:
        failed = self.board.first_failure() is not None
        if failed:
            self._vitals.note_survivors(self.board)
        over = self.board.all_ended or (failed and not self.survives_failures)
        if over and self._deadline is None:
            self._deadline = time.monotonic() + ORDERLY_SECONDS

    def _check_deadlines(self, elapsed: float) -> None:
        if self.options.timeout is not None and elapsed > self.options.timeout:
            finding = self.hang.describe(self.board, self.job)
            self._stacks = finding.stacks
            self._tear_down(EndedBy.TIMEOUT)
        elif (
            self.options.start_timeout is not None
            and elapsed > self.options.start_timeout
            and not self.board.all_started
        ):
            self._tear_down(EndedBy.START_TIMEOUT)

    def _tear_down(self, reason: EndedBy) -> None:
        if self.ended_by is EndedBy.ITSELF:
            self.ended_by = reason
        self.torn_down_at = wall_time()
        self._deadline = time.monotonic() + TERM_SECONDS
        self.job.send(signal.SIGTERM)

    def _escalate(self) -> None:
        if self.torn_down_at is None:
            # mpirun was to end by itself and does not: some versions wait for ever for a lost daemon.
            self.torn_down_at = wall_time()
            self._deadline = time.monotonic() + TERM_SECONDS
            self.job.send(signal.SIGTERM)
        elif not self._killed:
            self._kill()

    def _kill(self) -> None:
        self._killed = True
        self.torn_down_at = self.torn_down_at or wall_time()
        self.board.refresh()
        for pgid in local_groups(self.board, os.uname().nodename).values():
            kill_group(pgid, signal.SIGKILL)
        self.job.kill()


class _Waiter:
    """Sleeps until the process ends or a signal arrives, at most for a given time."""

    def __init__(self, pid: int, wake_fd: int) -> None:
        self._wake_fd = wake_fd
        self._pid_fd = -1
        with suppress(AttributeError, OSError):  # old kernels: the time limit alone wakes us
            self._pid_fd = os.pidfd_open(pid)

    def wait(self, seconds: float) -> None:
        fds = [fd for fd in (self._wake_fd, self._pid_fd) if fd >= 0]
        ready, _, _ = select.select(fds, [], [], seconds)
        if self._wake_fd in ready:
            with suppress(BlockingIOError):
                os.read(self._wake_fd, 4096)

    def close(self) -> None:
        if self._pid_fd >= 0:
            os.close(self._pid_fd)
