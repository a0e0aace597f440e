"""Which ranks a communicator of the program has, and which of the communicators with those ranks it is."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any, NamedTuple

from tt_run.runtime import guard
from tt_run.runtime.comm.world import world


class Members(NamedTuple):
    """`order` are world ranks by their rank in the communicator; it is the `number`-th that was made for these ranks, 0 for the world itself."""

    order: tuple[int, ...]
    number: int

    @property
    def ranks(self) -> tuple[int, ...]:
        """The world ranks, ascending: what names their group."""
        return tuple(sorted(self.order))

    @property
    def others(self) -> tuple[int, ...]:
        """All of them but this one."""
        return tuple(rank for rank in self.ranks if rank != world().rank)


_known: dict[int, Members] = {}
# Its ranks all make each of their communicators, in one order: so they number them alike.
_made: Counter[tuple[int, ...]] = Counter()


def is_watched() -> bool:
    """Whether this call can be agreed on: the ranks have met, and it is the main thread, whose calls have one order on all ranks."""
    return guard.watches() and threading.current_thread() is threading.main_thread()


def made(comm: Any) -> Members:
    """Number a communicator that was just made."""
    order = _order(comm)
    _made[tuple(sorted(order))] += 1
    _known[comm.handle] = members = Members(order, _made[tuple(sorted(order))])
    return members


def members_of(comm: Any) -> Members:
    """Who is in a communicator."""
    found = _known.get(comm.handle)
    if found is None:
        _known[comm.handle] = found = Members(_order(comm), 0)
    return found


def forget(comm: Any) -> None:
    """A communicator is freed; another may get its handle."""
    _known.pop(comm.handle, None)


def _order(comm: Any) -> tuple[int, ...]:
    group, everyone = comm.Get_group(), world().mpi.COMM_WORLD.Get_group()
    try:
        return tuple(group.Translate_ranks(list(range(group.Get_size())), everyone))
    finally:
        group.Free()
        everyone.Free()
