"""Waits of a program's own MPI in other threads than the main one, where nobody knows whether a wait is meant to last.

A thread that serves the others may wait for their next message as long as the program runs, so it has no deadline. It cannot succeed only
when nothing else in the job moves: every thread of this rank waits for MPI or for another thread, and so does every rank it waits for.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn, Protocol

from mgd.lean import replace
from tt_run.runtime import events
from tt_run.runtime.comm.deadlines import Patience
from tt_run.runtime.guard import diagnosis
from tt_run.runtime.guard.board import WAITING
from tt_run.runtime.guard.own_traffic import own_traffic
from tt_run.runtime.guard.states import RankState, Wait
from tt_run.runtime.guard.whereabouts import Whereabouts

_LOOKS = 300  # before a thread sleeps between looks
_NAPS = (0.0001, 0.002)
_INSPECT_SECONDS = 0.1
_STILL_SECONDS = 1.0  # for which nothing must move before a rank that is gone is missed
_ANSWER_SECONDS = 2.0
_LOCKS = ("/threading.py", "/queue.py", "/concurrent/futures/thread.py")  # in which threads wait for others
_OWN = "tt-run "  # what names of threads of this library begin with
_now = time.perf_counter


class Judge(Protocol):
    """The guard of this rank, as far as its threads need it."""

    rank: int
    timeout: float
    whereabouts: Whereabouts

    def obey(self) -> None:
        """Raise the report that another rank has written."""

    def conclude(self, finding: diagnosis.Finding, known: dict[int, RankState]) -> NoReturn:
        """Raise the report of a finding."""


class ThreadWaits:
    """Which threads of this rank wait for what."""

    def __init__(self, guard: Judge) -> None:
        self._guard = guard
        self._waits: dict[int, Wait] = {}
        self.inside: Wait | None = None
        """What the main thread waits for inside of the library, from where no report can call it back."""

    def until(self, done: Callable[[], bool], wait: Callable[[], Wait]) -> None:
        """Return when `done()`. Raises GuardError when another thread or rank has, or when nothing in the job moves any more."""
        for _ in range(_LOOKS):
            if done():
                return
        me, nap, began = threading.get_ident(), _NAPS[0], _now()
        inspected, patience = began, Patience()
        try:
            while not done():
                time.sleep(nap)
                nap = _NAPS[0] if own_traffic.moves() else min(nap * 1.5, _NAPS[1])
                if _now() - inspected < _INSPECT_SECONDS:
                    continue
                inspected = _now()
                self._guard.obey()
                self._waits[me] = replace(wait(), since=began, checked=inspected)
                if self.are_still():
                    patience.look()
                    self._inspect(done, self._waits[me], patience)
                else:
                    patience = Patience()
        finally:
            self._waits.pop(me, None)

    def _inspect(self, done: Callable[[], bool], wait: Wait, patience: Patience) -> None:
        if not patience.over(min(_STILL_SECONDS, self._guard.timeout)):
            return
        guard = self._guard
        known = guard.whereabouts.known()
        known[guard.rank] = replace(known[guard.rank], state=WAITING, wait=wait)
        finding = diagnosis.absence(known, guard.rank)
        if finding is None and patience.over(guard.timeout):
            known = self._asked()
            known[guard.rank] = replace(known[guard.rank], state=WAITING, wait=wait)
            finding = diagnosis.deadlock(known, guard.rank, at_last=True)
        if finding is not None and not done() and self.are_still():
            guard.conclude(finding, known)

    def _asked(self) -> dict[int, RankState]:
        """What the ranks of this host say of themselves now."""
        whereabouts = self._guard.whereabouts
        ranks = [rank for rank in range(whereabouts.ranks) if rank != self._guard.rank]
        whereabouts.ask(ranks)
        deadline = _now() + _ANSWER_SECONDS
        while not whereabouts.have_answered(ranks) and _now() < deadline:
            time.sleep(_NAPS[1])
        return whereabouts.known()

    def are_still(self) -> bool:
        """Whether every thread waits: for MPI, or for another thread."""
        own = {each.ident for each in threading.enumerate() if each.name.startswith(_OWN)}
        return bool(self._waits) and all(
            ident in self._waits or ident in own or _awaits_a_thread(frame)
            for ident, frame in sys._current_frames().items()
        )

    def said(self) -> tuple[str, Wait | None]:
        """Which calls the threads wait in, in words; and the first of them where this rank cannot go on without."""
        waits = list(self._waits.values())
        if self.inside is not None:
            return "", self.inside
        words = "".join(f", with a thread in {wait.call} at {wait.site}" for wait in waits)
        return words, waits[0] if waits and self.are_still() else None


def is_main_thread() -> bool:
    """Whether the caller is the program's main thread."""
    return threading.current_thread() is threading.main_thread()


def has_threads() -> bool:
    """Whether the program has other threads than the main one."""
    main = threading.main_thread()
    return any(each is not main and not each.name.startswith(_OWN) for each in threading.enumerate())


def site_of_thread() -> str:
    """The user's line that led here; where there is none in this thread, as in one of a pool, that of the main thread."""
    site = events.call_site()
    if not events.is_library(site.rpartition(":")[0]):
        return site
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and events.is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return site if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno} (in a thread, {site})"


def _awaits_a_thread(frame: FrameType) -> bool:
    """Whether it waits for a lock, as joins, queues and futures do."""
    return frame.f_code.co_filename.endswith(_LOCKS)
