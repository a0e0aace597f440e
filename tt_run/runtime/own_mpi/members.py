"""Which ranks a communicator of the program has, and which of the communicators with those ranks it is."""

from __future__ import annotations

import threading
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from tt_run.runtime import events, guard
from tt_run.runtime.comm.world import world


class Members(NamedTuple):
    """`order` are world ranks by their rank in the communicator (of an intercommunicator those on the other side), `ranks` all, ascending.

    It is the `number`-th communicator that was made for these ranks, 0 for the world itself.
    """

    order: tuple[int, ...]
    number: int
    ranks: tuple[int, ...]

    @classmethod
    def of(cls, order: Sequence[int], number: int = 0) -> Members:
        """The members in this order."""
        return cls(tuple(order), number, tuple(sorted(order)))

    @property
    def key(self) -> int:
        """What names the communicator among all of the job."""
        return zlib.crc32(repr(self.ranks).encode()) << 32 | self.number

    @property
    def others(self) -> tuple[int, ...]:
        """All of them but this one."""
        return tuple(rank for rank in self.ranks if rank != world().rank)


_known: dict[int, Members] = {}
# Its ranks all make each of their communicators, in one order: so they number them alike.
_made: Counter[tuple[int, ...]] = Counter()
_turns: Counter[Members] = Counter()


def turn_of(members: Members) -> int:
    """Count a collective on a communicator: which one it is, as all of its ranks count."""
    _turns[members] += 1
    return _turns[members]


def is_main_thread() -> bool:
    """Whether this is the thread whose calls have one order on all ranks."""
    return threading.current_thread() is threading.main_thread()


def have_met(comm: Any = None, operation: str = "") -> bool:
    """Whether the ranks have met, and calls can be agreed on.

    All ranks make a collective of all together: where they have not met yet, they do so in the first one, `comm`'s `operation`, in whichever
    threads they come to it. Raises NotArrived where some do not come to it within the guard's deadline.
    """
    if not guard.watches() and comm is not None and comm.Get_size() == world().size and not comm.Is_inter():
        guard.start(f"{operation} at {events.call_site()}" if operation else "")
    return guard.watches()


def number_communicator(comm: Any, like: Members | None = None) -> Members:
    """Number a communicator that was just made; its members are those `like` it where it cannot be asked yet."""
    members = like or _members(comm)
    _made[members.ranks] += 1
    _known[comm.handle] = members = members._replace(number=_made[members.ranks])
    return members


def members_of(comm: Any) -> Members:
    """Who is in a communicator."""
    found = _known.get(comm.handle)
    if found is None:
        _known[comm.handle] = found = _members(comm)
    return found


def forget(comm: Any) -> None:
    """A communicator is freed; another may get its handle."""
    _known.pop(comm.handle, None)


def _members(comm: Any, number: int = 0) -> Members:
    everyone = world().mpi.COMM_WORLD.Get_group()
    try:
        order = _translated(comm.Get_group(), everyone)
        if not comm.Is_inter():
            return Members.of(order, number)
        # Its ranks are named by their place on the other side.
        there = _translated(comm.Get_remote_group(), everyone)
        return Members(there, number, tuple(sorted(order + there)))
    finally:
        everyone.Free()


def _translated(group: Any, everyone: Any) -> tuple[int, ...]:
    try:
        return tuple(group.Translate_ranks(list(range(group.Get_size())), everyone))
    finally:
        group.Free()
