"""Messages that a program's own MPI waits for before the ranks have met: there is no board yet, only the files in which long waits are told.

No deadline ends such a wait: who is waited for may prepare something. It is in vain when all whom it leads to wait as well, or are at the end of
their programs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tt_run.runtime import events, launched
from tt_run.runtime.comm.deadlines import Patience
from tt_run.runtime.comm.missing_ranks import has_ended
from tt_run.runtime.comm.world import seconds_to_wait, world
from tt_run.runtime.guard import diagnosis
from tt_run.runtime.guard.board import ENDED, WAITING
from tt_run.runtime.guard.long_wait import LongWait, told_by
from tt_run.runtime.guard.report import GuardError, render
from tt_run.runtime.guard.states import RankState, Wait

_LOOKS = 300
_NAPS = (0.0001, 0.002)
_INSPECT_SECONDS = 0.5
_now = time.perf_counter

Told = dict[int, dict[str, Any]]


def until(done: Callable[[], bool], what: str, peers: Callable[[], tuple[int, ...]]) -> None:
    """Return when `done()`. Raises GuardError when everybody that this wait depends on waits for messages, past the guard's deadline, or has ended."""
    for _ in range(_LOOKS):
        if done():
            return
    nap, began, patience, told = _NAPS[0], _now(), Patience(), LongWait(world().rank)
    inspected, before = began, None
    try:
        while not done():
            time.sleep(nap)
            nap = min(nap * 1.5, _NAPS[1])
            if _now() - inspected < _INSPECT_SECONDS:
                continue
            inspected = _now()
            patience.look()
            told.tell(Wait("message", what, events.call_site(), (), 0, peers(), began, inspected, 1), 0)
            stuck = _stuck(world().rank)
            if stuck is not None and stuck == before and not done():
                _conclude(stuck, is_late=patience.over(seconds_to_wait()))
            before = stuck
    finally:
        told.over()


def _stuck(rank: int) -> Told | None:
    """What all ranks say that this one waits for, and those that they wait for; None when one of them is neither in a long wait nor at its end."""
    found: Told = {}
    pending = [rank]
    while pending:
        each = pending.pop()
        if each in found:
            continue
        told = told_by(each)
        if told is None and has_ended(each, launched.variables):
            told = {"ended": True, "missing": []}
        if told is None:
            return None
        found[each] = told
        pending.extend(told["missing"])
    return found


def _conclude(stuck: Told, is_late: bool) -> None:
    states = {rank: _state(rank, said) for rank, said in stuck.items()}
    finding = diagnosis.absence(states, world().rank)
    if finding is None and is_late:
        finding = diagnosis.deadlock(states, world().rank, at_last=True)
    if finding is not None:
        raise GuardError(render(finding, states, 0.0), finding.code, finding.culprits)


def _state(rank: int, said: dict[str, Any]) -> RankState:
    if said.get("ended"):
        return RankState(rank, ENDED, calls=None)
    wait = Wait("message", said["call"], said["site"], (), 0, tuple(said["missing"]), -said["waited"])
    return RankState(rank, WAITING, wait=wait)
