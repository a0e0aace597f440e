"""How the ranks of one exchange move buffers: the interface that the algorithms use.

Inside a host there is a window: small rows lie in its slots, large results in its blocks, so that nothing is copied twice. Everywhere
else large buffers go point to point, straight from the sender's array into the receiver's, and small ones in one allgather.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ccl.exchange.window import Window, known_window, open_window
from tt_run.runtime.comm.world import Group
from tt_run.runtime.values.bfloat16 import from_wire, to_wire

Array = npt.NDArray[Any]
# A peer's number in the exchange and a contiguous array to send to it, or to receive from it.
Parcel = tuple[int, Array]
Meanwhile = Callable[[], None] | None


class Wire(Protocol):
    """The ranks of one exchange, numbered as in `Exchange.ranks`."""

    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def same_host(self) -> bool: ...
    @property
    def window(self) -> Window | None: ...
    def open(self) -> None:
        """Make the window, where there can be one. Every rank calls it, when all are known to."""
        ...

    def allgather(self, send: Array, recv: Array) -> None:
        """Every rank's contiguous `send` into row `rank` of everybody's `recv`; equal sizes."""
        ...

    def swap(self, sends: Sequence[Parcel], recvs: Sequence[Parcel], meanwhile: Meanwhile = None) -> None:
        """Complete all parcels, calling `meanwhile` while they move.

        Between two ranks, the n-th sent is the n-th received; sizes in bytes agree.
        """
        ...


class Alone:
    """The wire of a rank that holds every device of the exchange."""

    rank = 0
    size = 1
    same_host = True
    window: Window | None = None

    def open(self) -> None:
        """Nobody to share with."""

    def allgather(self, send: Array, recv: Array) -> None:
        """Copy."""
        recv[0] = send

    def swap(self, sends: Sequence[Parcel], recvs: Sequence[Parcel], meanwhile: Meanwhile = None) -> None:
        """Nothing to do: nobody else is there."""
        if sends or recvs:
            raise ValueError("a single rank has no peer to exchange parcels with")
        if meanwhile is not None:
            meanwhile()


class Ranks:
    """The wire between real MPI ranks. Blocking: the guard has agreed on the collective before."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self.rank, self.size, self.same_host = group.rank, group.size, group.on_one_host
        self.window = known_window(group)

    def open(self) -> None:
        """Make the window of the group, the first time."""
        self.window = open_window(self._group)

    def allgather(self, send: Array, recv: Array) -> None:
        """One all-gather of the group."""
        self._group.allgather(send, recv)

    def swap(self, sends: Sequence[Parcel], recvs: Sequence[Parcel], meanwhile: Meanwhile = None) -> None:
        """All at once: no order of the ranks can block."""
        self._group.swap(sends, recvs, meanwhile)


class HalfWords:
    """A wire that carries bfloat16 values, stored as float32, in 16 bits: for ranks on different hosts.

    Inside a host the conversion costs more than the bytes it saves.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.rank, self.size, self.same_host = wire.rank, wire.size, wire.same_host
        self.window: Window | None = None

    def open(self) -> None:
        """Different hosts share no memory."""

    def allgather(self, send: Array, recv: Array) -> None:
        """Small blocks with headers: as they are."""
        self._wire.allgather(send, recv)

    def swap(self, sends: Sequence[Parcel], recvs: Sequence[Parcel], meanwhile: Meanwhile = None) -> None:
        """Send each value's upper half, the lower one of a bfloat16 is zero."""
        packed: dict[int, Array] = {}
        for _, array in sends:
            if id(array) not in packed:
                packed[id(array)] = to_wire(array)
        arrived = [(peer, np.empty(array.shape, np.uint16)) for peer, array in recvs]
        self._wire.swap([(peer, packed[id(array)]) for peer, array in sends], arrived, meanwhile)
        for (_, halves), (_, array) in zip(arrived, recvs, strict=True):
            np.copyto(array, from_wire(halves))
