"""The first meeting of ranks whose program has started MPI itself: what follows cannot be interrupted, so all are waited for before.

Ranks of this host show that they have come (`comm/arrival.py`); then a barrier that is only started tells of all others. There is no board
yet: a long wait is told in the run folder, where the ranks of other hosts find who waits as well.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from tt_run.runtime import events, launched
from tt_run.runtime.comm.arrival import NotArrived
from tt_run.runtime.comm.deadlines import Patience
from tt_run.runtime.comm.missing_ranks import has_ended, world_ranks
from tt_run.runtime.comm.world import World, seconds_to_wait
from tt_run.runtime.guard.long_wait import LongWait, told_by
from tt_run.runtime.guard.states import Wait

_NAPS = (0.0001, 0.02)
_LOOK_SECONDS = 0.25
_GRACE = 3.0  # seconds that a host whose ranks do not all come has to say so before the others guess
_now = time.perf_counter


class _StatedWait:
    """What this rank says of its wait, in `call` of its program or where it is now."""

    def __init__(self, rank: int, call: str) -> None:
        self._told, self._began = LongWait(rank), _now()
        call, _, site = call.partition(" at ")
        self._call, self._site = call or "the start of the runtime", site or events.call_site()

    def missing(self, ranks: Sequence[int]) -> None:
        self._told.tell(
            Wait("collective", self._call, self._site, (), 0, tuple(ranks), self._began, _now(), len(ranks)),
            0,
        )

    def is_of(self, rank: int) -> bool:
        """Whether another rank says that it waits in the same call."""
        said = told_by(rank)
        return said is not None and bool(said["call"] == self._call)

    def over(self) -> None:
        self._told.over()


def await_all(ranks: World, call: str) -> None:
    """Return once every rank of the job is here. Raises NotArrived when one does not come within the guard's deadline, or has ended."""
    told, sign = _StatedWait(ranks.rank, call), ranks.arrive()
    try:
        if sign is not None:
            sign.await_others(
                seconds_to_wait(),
                call=call,
                tell=lambda missing: told.missing(world_ranks(missing, os.environ)),
            )
        if sign is None or sign.local_size < ranks.size:
            _await_other_hosts(ranks, call, told)
    finally:
        told.over()


def _await_other_hosts(ranks: World, call: str, told: _StatedWait) -> None:
    request, patience, nap = ranks.mpi.COMM_WORLD.Ibarrier(), Patience(), _NAPS[0]
    seconds, looked, seen = seconds_to_wait(), _now(), set[int]()
    while not request.Test():
        time.sleep(nap)
        nap = min(nap * 1.5, _NAPS[1])
        if _now() - looked < _LOOK_SECONDS:
            continue
        looked = _now()
        patience.look()
        others = _elsewhere(ranks)
        told.missing(others)
        seen.update(rank for rank in others if told.is_of(rank))  # who gives up takes it away
        ended = [rank for rank in others if has_ended(rank, launched.variables)]
        if call and ended:
            raise NotArrived(f"rank {', '.join(map(str, ended))}", ended, None, call)
        if patience.over(seconds + _GRACE):
            silent = [rank for rank in others if rank not in seen] or others
            who, where = ("one of ranks", "other hosts") if silent[1:] else ("rank", "another host")
            raise NotArrived(f"{who} {', '.join(map(str, silent))}, on {where},", silent, seconds, call)


def _elsewhere(ranks: World) -> list[int]:
    """The ranks of other hosts; all others where the run folder does not say."""
    here = world_ranks(range(int(os.environ.get("OMPI_COMM_WORLD_LOCAL_SIZE", "0"))), os.environ)
    return [rank for rank in range(ranks.size) if rank not in here and rank != ranks.rank]
