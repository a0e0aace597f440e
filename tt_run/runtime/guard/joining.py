"""The first meeting of a group: creating a communicator blocks, so its members first make sure that all of them come."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np

from tt_run.runtime.comm.group import Group
from tt_run.runtime.guard.signature import SignedCall
from tt_run.runtime.guard.states import Wait

_TAG = 5


Until = Callable[[Callable[[], bool], Callable[[], Wait]], None]


def join(control: Group, group: Group, call: SignedCall, until: Until, diverged: Callable[[], None]) -> None:
    """Return when every member has called this with the same group and signature; if one's differs, `diverged()` says so or lets it pass.

    `control` holds all ranks of the job; `until` waits as this thread does.

    Each member sends its token to each other; between two ranks tokens keep their order, so each pair compares like with like. What is left
    open by some may differ: the channel compares that.
    """
    token = np.array([zlib.crc32(repr(group.ranks).encode()) << 32 | call.signature.firm], np.uint64)
    others = [rank for rank in group.ranks if rank != control.rank]
    sends = [control.isend(token, rank, _TAG) for rank in others]
    receives = {rank: control.irecv(np.zeros(1, np.uint64), rank, _TAG) for rank in others}
    arrived: set[int] = set()

    def done() -> bool:
        arrived.update(rank for rank in others if rank not in arrived and receives[rank].test())
        return len(arrived) == len(others) or differs()

    def differs() -> bool:
        return any(receives[rank].buffer[0] != token[0] for rank in arrived)

    def wait() -> Wait:
        missing = tuple(rank for rank in others if rank not in arrived)
        return Wait("collective", str(call.signature), call.site, group.ranks, 1, missing)

    until(done, wait)
    if differs():
        diverged()
    for send in sends:
        until(send.test, wait)
