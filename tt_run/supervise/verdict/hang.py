"""When a run counts as hung, and what can be said about it.

Two rules. With `--hang-timeout SECONDS`: no rank printed, started or ended anything for that long, and the stacks of the Python ranks
did not change, nor do emulated ranks count more calls. Without it (`auto`): a rank has ended, or waits at its end for the others, while all others have been inside MPI calls with
unchanged stacks for STRANDED_SECONDS: nobody is left who could wake them. Busy cores prove nothing, since Open MPI waits by polling.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence

from mgd.lean import dataclass, field
from tt_run import contract
from tt_run.launch.backend import Job
from tt_run.supervise.folder import RunFolder, files_of_ranks
from tt_run.supervise.looking.stacks import RankStack, collect, grouped, rank_list
from tt_run.supervise.options import STRANDED_SECONDS
from tt_run.supervise.status import RankStatus, StatusBoard, mpi_at_end

RESAMPLE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class HangFinding:
    """Why the run counts as hung, where every rank is, and whom the others wait for, as far as their places show it."""

    why: str
    stacks: tuple[RankStack, ...]
    late: tuple[int, ...] = ()


@dataclass()
class HangWatch:
    """Looks for hangs. `seconds` is the value of --hang-timeout (None: the automatic rule only); `automatic` switches that rule."""

    seconds: float | None = None
    automatic: bool = True
    stranded_seconds: float = STRANDED_SECONDS
    clock: Callable[[], float] = time.monotonic
    ask: Callable[[StatusBoard, Job, RunFolder, str], list[RankStack]] = collect
    _quiet_since: float = field(init=False)
    _sample: tuple[RankStack, ...] | None = None
    _calls: tuple[str, ...] = ()
    _sampled_at: float = 0.0
    _stranding_again: float = 0.0

    def __post_init__(self) -> None:
        self._quiet_since = self.clock()

    @property
    def quiet(self) -> float:
        """Seconds since any rank has shown life."""
        return self.clock() - self._quiet_since

    def pass_over(self, seconds: float) -> None:
        """Nobody could show life for so long."""
        self._quiet_since += seconds
        self._sample = None

    def look(self, board: StatusBoard, job: Job, progress: bool) -> HangFinding | None:
        """Called again and again; `progress` says whether any rank has shown life since the last call."""
        now = self.clock()
        if progress:
            self._quiet_since, self._sample = now, None
            return None
        quiet = now - self._quiet_since
        patient = quiet < self.stranded_seconds or now < self._stranding_again
        stranding = self.automatic and not patient and bool(_gone(board))
        overdue = self.seconds is not None and quiet >= self.seconds
        if not (stranding or overdue):
            return None
        if self._sample is None:
            self._calls = _calls_noted(board.folder)
            self._sample, self._sampled_at = self._stacks(board, job), now
            return None
        if now - self._sampled_at < RESAMPLE_SECONDS:
            return None
        first, second = self._sample, self._stacks(board, job)
        self._sample, self._sampled_at = None, now
        goes_on = self._calls != _calls_noted(board.folder)
        if goes_on or [(each.rank, each.at_rest) for each in first] != [(s.rank, s.at_rest) for s in second]:
            self._quiet_since = now
            return None
        why = stranded(board, second)
        if overdue:
            late = [] if why else absent(second) or last_one(board, second)
            whom = _waiting(second, late) if late else _said(board)
            whom = f": {whom}" if whom else ""
            return HangFinding(
                why or f"no rank has made progress for {quiet:.0f} s{whom}",
                second,
                tuple(stack.rank for stack in late),
            )
        if why is None:
            self._stranding_again = now + self.stranded_seconds / 2  # look again, but not at every tick
            return None
        return HangFinding(why, second)

    def _stacks(self, board: StatusBoard, job: Job) -> tuple[RankStack, ...]:
        return tuple(self.ask(board, job, board.folder, os.uname().nodename))

    def describe(self, board: StatusBoard, job: Job) -> HangFinding:
        """Where every rank is now."""
        return HangFinding("", self._stacks(board, job))

    def describe_now(self, board: StatusBoard, job: Job) -> str:
        """The same as text, for Ctrl-\\."""
        return "\n".join(stack_lines(self.describe(board, job).stacks, board))


def _calls_noted(folder: RunFolder) -> tuple[str, ...]:
    """How many calls each emulated rank had made when it noted its place last: they grow where a loop looks the same whenever one looks."""
    found = []
    for path in files_of_ranks(folder.path, contract.PLACE_FILE):
        try:
            found.append(path.read_text(encoding="utf-8", errors="replace").split("\n")[2].strip())
        except (OSError, IndexError):
            found.append("")
    return tuple(found)


def _gone(board: StatusBoard) -> list[RankStatus]:
    """Ranks that have ended well, or have reached the end of their program and wait in MPI_Finalize."""
    return [
        s
        for s in board.all()
        if s.succeeded or (s.started and not s.ended and mpi_at_end(board.folder, s.rank))
    ]


def stranded(board: StatusBoard, stacks: Sequence[RankStack]) -> str | None:
    """Why the live ranks wait for ever, or None where that is not certain enough."""
    gone = _gone(board)
    gone_ranks = {status.rank for status in gone}
    waiting = [stack for stack in stacks if stack.rank not in gone_ranks]
    if not gone or not waiting or not all(stack.in_mpi for stack in waiting):
        return None
    never = [s.rank for s in gone if s.succeeded and mpi_at_end(board.folder, s.rank) in ("never", "")]
    closed = [s.rank for s in gone if s.rank not in never]
    waiters = rank_list([s.rank for s in waiting]) + (" waits" if len(waiting) == 1 else " wait")
    parts = []
    if never:
        parts.append(f"{rank_list(never)} ended with 0 without ever entering MPI")
    if closed:
        parts.append(f"{rank_list(closed)} reached the end of the program")
    return f"{' and '.join(parts)}, while {waiters} in MPI{_at(waiting)}"


def _at(stacks: Sequence[RankStack]) -> str:
    """The one place in which the stacks are, as ` at train.py:9`."""
    places = {f"{where.file}:{where.line}" for stack in stacks if (where := stack.where)}
    return f" at {places.pop()}" if len(places) == 1 else ""


def _said(board: StatusBoard) -> str:
    """Who waits for whom, as emulated ranks say themselves."""
    from tt_run.supervise.looking.long_waits import read_waits, told_in_one  # of runs that hang alone

    return told_in_one(read_waits(board.folder.path))


def absent(stacks: Sequence[RankStack]) -> list[RankStack]:
    """The ranks that all others wait for: those outside of MPI and the guard, where all others are inside; none where that is not certain."""
    late = [stack for stack in stacks if not stack.waits]
    certain = all(stack.frames and not stack.polls for stack in late) and len(late) < len(stacks)
    return late if certain else []


def last_one(board: StatusBoard, stacks: Sequence[RankStack]) -> list[RankStack]:
    """The one rank of several that has not ended, where it waits for nobody."""
    left = [status.rank for status in board.all() if not status.ended]
    return [
        stack
        for stack in stacks
        if [stack.rank] == left and stack.frames and not stack.waits and board.size > 1
    ]


def _waiting(stacks: Sequence[RankStack], late: Sequence[RankStack]) -> str:
    """`rank 0 waits for rank 1, which is at train.py:9`."""
    waiters = [stack.rank for stack in stacks if stack not in late]
    where = late[0].where
    place = f", which is at {where.file}:{where.line}" if where and len(late) == 1 else ""
    if not waiters:
        return f"rank {late[0].rank} alone has not ended{place.replace(', which is at', ', and is at')}"
    verb = "waits" if len(waiters) == 1 else "wait"
    return f"{rank_list(waiters)} {verb} for {rank_list([stack.rank for stack in late])}{place}"


def stack_lines(stacks: Sequence[RankStack], board: StatusBoard, stopped: Collection[int] = ()) -> list[str]:
    """One line per group of ranks in the same place, the odd one out first; whom a signal has `stopped` cannot say where it is."""
    lines = []
    gone = {status.rank for status in _gone(board)}
    at_end = [stack.rank for stack in stacks if stack.rank in gone and not stack.frames]
    standing = [stack.rank for stack in stacks if stack.rank in stopped and not stack.frames]
    if standing:
        lines.append(f"{rank_list(standing)}: stopped by a signal")
    waiting = [stack for stack in stacks if stack.rank not in (*at_end, *standing)]
    groups = grouped(waiting)
    for frame, ranks in groups:
        odd = "  <- the odd one out" if len(groups) > 1 and len(ranks) < len(waiting) / 2 else ""
        lines.append(f"{rank_list(ranks)}: {frame or 'no Python stack'}{odd}")
    if at_end:
        lines.append(f"{rank_list(at_end)}: at the end of the program, in MPI_Finalize")
    return lines
