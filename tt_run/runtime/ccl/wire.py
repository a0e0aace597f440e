"""How the ranks of one exchange move buffers: the interface that the algorithms use.

Large buffers go point to point, straight from the sender's array into the receiver's: inside a host Open MPI copies them once, which
beats its own reductions and a shared window with copies (performance baselines, section 2). Small ones go in one allgather.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]
# A peer's number in the exchange and a contiguous array to send to it, or to receive from it.
Parcel = tuple[int, Array]


class Wire(Protocol):
    """The ranks of one exchange, numbered as in `Exchange.ranks`."""

    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def same_host(self) -> bool: ...
    def allgather(self, send: Array, recv: Array) -> None:
        """Every rank's contiguous `send` into row `rank` of everybody's `recv`; equal sizes."""
        ...

    def swap(self, sends: Sequence[Parcel], recvs: Sequence[Parcel]) -> None:
        """Complete all parcels. Between two ranks, the n-th sent is the n-th received; sizes in bytes agree."""
        ...


class Alone:
    """The wire of a rank that holds every device of the exchange."""

    rank = 0
    size = 1
    same_host = True

    def allgather(self, send: Array, recv: Array) -> None:
        """Copy."""
        recv[0] = send

    def swap(self, sends: Sequence[Parcel], recvs: Sequence[Parcel]) -> None:
        """Nothing to do: nobody else is there."""
        if sends or recvs:
            raise ValueError("a single rank has no peer to exchange parcels with")


class HalfWords:
    """A wire that carries bfloat16 values, stored as float32, in 16 bits: for ranks on different hosts.

    Inside a host the conversion costs more than the bytes it saves.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.rank, self.size, self.same_host = wire.rank, wire.size, wire.same_host

    def allgather(self, send: Array, recv: Array) -> None:
        """Small blocks with headers: as they are."""
        self._wire.allgather(send, recv)

    def swap(self, sends: Sequence[Parcel], recvs: Sequence[Parcel]) -> None:
        """Send the upper halves of float32 words; the lower ones of a bfloat16 value are zero."""
        packed: dict[int, Array] = {}
        for _, array in sends:
            if id(array) not in packed:
                packed[id(array)] = upper_halves(array)
        arrived = [(peer, np.empty(array.shape, np.uint16)) for peer, array in recvs]
        self._wire.swap([(peer, packed[id(array)]) for peer, array in sends], arrived)
        for (_, halves), (_, array) in zip(arrived, recvs, strict=True):
            np.left_shift(halves, 16, out=array.view(np.uint32), dtype=np.uint32)


def upper_halves(array: Array) -> Array:
    """The 16 bits of each bfloat16 value of a float32 array."""
    halves = np.empty(array.shape, np.uint16)
    np.right_shift(array.view(np.uint32), 16, out=halves, casting="unsafe")
    return halves
