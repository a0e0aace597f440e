"""Groups of ranks and what they do together: gather, exchange, send, share memory. Raw: no agreement check, and a deadline only where
somebody watches (`Group.waiting`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.granted import give_way
from tt_run.runtime.comm.shared_memory import SharedBlock

Array = npt.NDArray[Any]
# The number of a rank in its group, and a contiguous array to send to it or to receive from it.
Parcel = tuple[int, Array]

# MPI counts are 32-bit; longer parcels travel in pieces.
_PIECE = 1 << 30
# So slowly data may move, in bytes a second, before anybody wonders whether it does.
_SLOWEST = 10e6
_UNASKED = 1.0  # seconds that any data may take
_LOOK = 0.002  # seconds of one look by whoever watches: what moves in pieces needs many

Done = Callable[[], bool]
Waiting = Callable[[Done, Callable[[], tuple[int, ...]]], None]
"""Returns when the first is true, which the ranks of the second bring about; raises where they never will."""


@dataclass(frozen=True, slots=True)
class Peer:
    """What every rank knows of a rank: its host (number and name), process, the mesh place its environment gave it, its sub-context."""

    rank: int
    host: int
    hostname: str
    pid: int
    mesh_id: int | None
    mesh_host_rank: int | None
    subcontext: int | None = None


class Job(Protocol):
    """The ranks that groups are made of: a `World`."""

    rank: int
    size: int

    @property
    def peers(self) -> tuple[Peer, ...]:
        """Every rank's facts, by rank."""

    @property
    def neighbours(self) -> Group:
        """The ranks that share this one's host."""

    @property
    def mpi(self) -> Any:
        """The mpi4py module."""


class Pending:
    """A send or receive in flight. The buffer belongs to it until `test()` is True, also when nobody asks any more: MPI would write into
    memory that was given back.
    """

    __slots__ = ("_request", "buffer", "peer", "tag")

    def __init__(self, request: Any, buffer: Array, peer: int, tag: int) -> None:
        self._request, self.buffer, self.peer, self.tag = request, buffer, peer, tag
        _in_flight.add(self)

    def test(self) -> bool:
        """True once it has completed; makes progress."""
        if not self._request.Test():
            return False
        _in_flight.discard(self)
        return True


_in_flight: set[Pending] = set()


class Headed(np.ndarray[Any, np.dtype[Any]]):
    """A message that also says where in the program it was sent, for what its receiver may have to tell. `meant` is the rest of what is
    sent: what two runs have to agree on, since lines move.
    """

    meant: Array | None = None


def headed(array: Array, meant: Array | None = None) -> Headed:
    """An array to send of which `meant` is what does not depend on the program's lines, or one to receive such a message into."""
    found = array.view(Headed)
    found.meant = meant
    return found


def message_of(array: Array) -> Array:
    """What an array to send says, wherever it is sent."""
    return array.meant if isinstance(array, Headed) and array.meant is not None else array


class Group:
    """Some ranks of the world in a fixed order. Members connect on first use; byte counts may exceed 2 GiB if divisible by 8.

    All buffers are C-contiguous NumPy arrays of any type; they travel as bytes. Whatever passes between ranks passes through these
    methods and nothing else, so the groups of another `World` may write it down, or read it back instead.
    """

    def __init__(self, world: Job, ranks: tuple[int, ...]) -> None:
        self.world = world
        self.ranks = ranks
        self.size = len(ranks)
        self.rank = ranks.index(world.rank) if world.rank in ranks else -1
        self.waiting: Waiting | None = None
        """How data is waited for that takes long; None: as long as it takes."""
        self._comm: Any = None

    @property
    def is_member(self) -> bool:
        """True when this rank belongs to the group."""
        return self.rank >= 0

    @cached_property
    def on_one_host(self) -> bool:
        """True when all ranks share one host's memory."""
        return len({self.world.peers[rank].host for rank in self.ranks}) <= 1

    @property
    def connected(self) -> bool:
        """True once the communicator exists (always for a group of one)."""
        return self.size == 1 or self._comm is not None

    def connect(self) -> None:
        """Create the communicator: every member must call it, no other rank needs to."""
        if self.connected:
            return
        if not self.is_member:
            raise RuntimeError(f"rank {self.world.rank} is not in the group {self.ranks}")
        mpi = self.world.mpi
        world = mpi.COMM_WORLD
        if self.ranks == tuple(range(self.world.size)):
            self._comm = world.Dup()
        else:
            self._comm = world.Create_group(world.Get_group().Incl(list(self.ranks)), tag=_tag_of(self.ranks))

    @property
    def comm(self) -> Any:
        """The mpi4py communicator; connects on first use. Raises RuntimeError in a group of one, which has nobody to talk to."""
        if self.size == 1:
            raise RuntimeError(f"the group of rank {self.ranks[0]} alone has no communicator")
        if self._comm is None:
            self.connect()
        return self._comm

    def barrier(self) -> None:
        """Return when every rank of the group has called it."""
        if self.size > 1:
            self.comm.Barrier()

    def allgather_bytes(self, payload: bytes) -> list[bytes]:
        """Every rank's payload, in group order; lengths may differ."""
        if self.size == 1:
            return [payload]
        lengths = np.empty(self.size, np.int64)
        self.comm.Allgather(np.array([len(payload)], np.int64), lengths)
        gathered = np.empty(int(lengths.sum()), np.uint8)
        self.allgatherv(np.frombuffer(payload, np.uint8), gathered, lengths.tolist())
        ends = np.cumsum(lengths)
        return [gathered[end - length : end].tobytes() for end, length in zip(ends, lengths, strict=True)]

    def allgather(self, send: Array, receive: Array) -> None:
        """Every rank's `send` into row `rank` of everybody's `receive`; equal sizes."""
        if self.waiting is None:
            self.comm.Allgather(send, receive)
        else:
            self._complete(self.comm.Iallgather(send, receive), receive.nbytes)

    def swap(
        self, sends: Sequence[Parcel], receives: Sequence[Parcel], meanwhile: Callable[[], None] | None = None
    ) -> None:
        """Complete all parcels, calling `meanwhile` while they move. Between two ranks, the n-th sent is the n-th received.

        Nonblocking receives, then sends, then one wait for all: no order of the ranks can block.
        """
        comm = self.comm
        coming = [(peer, piece) for peer, array in receives for piece in _pieces(array)]
        requests = [comm.Irecv(piece, peer) for peer, piece in coming]
        requests += [comm.Isend(piece, peer) for peer, array in sends for piece in _pieces(array)]
        if meanwhile is not None:
            meanwhile()
        if not requests:
            return
        kind = type(requests[0])
        if self.waiting is None:
            kind.Waitall(requests)
            return
        peers = [peer for peer, _ in coming]

        def missing() -> tuple[int, ...]:
            late = {peer for peer, request in zip(peers, requests, strict=False) if not request.Test()}
            return tuple(sorted(self.ranks[peer] for peer in late)) or self._others()

        self._await(
            lambda: kind.Testall(requests), missing, sum(array.nbytes for _, array in (*sends, *receives))
        )

    def allgatherv(self, send: Array, receive: Array, counts: Sequence[int]) -> None:
        """Concatenate every rank's `send` into `receive`, in group order; `counts` are bytes per rank."""
        if self.size == 1:
            as_bytes(receive)[:] = as_bytes(send)
            return
        unit, kind = self._unit(counts)
        amounts = [count // unit for count in counts]
        alike = len(set(amounts)) == 1
        parts = [as_bytes(send), amounts[self.rank], kind]
        whole = [as_bytes(receive), amounts[0], kind] if alike else [as_bytes(receive), amounts, None, kind]
        if self.waiting is None:
            (self.comm.Allgather if alike else self.comm.Allgatherv)(parts, whole)
        else:
            start = self.comm.Iallgather if alike else self.comm.Iallgatherv
            self._complete(start(parts, whole), receive.nbytes)

    def _complete(self, request: Any, nbytes: int) -> None:
        self._await(request.Test, self._others, nbytes)

    def _others(self) -> tuple[int, ...]:
        return tuple(rank for rank in self.ranks if rank != self.world.rank)

    def _await(self, done: Done, missing: Callable[[], tuple[int, ...]], nbytes: int) -> None:
        """Return when `done()`: looked at without a pause, since that is what moves data, and watched when it takes longer than any network."""
        if _within(_UNASKED + nbytes / _SLOWEST, done):
            return
        assert self.waiting is not None
        self.waiting(lambda: _within(_LOOK, done), missing)

    def isend(self, buffer: Array, destination: int, tag: int = 0) -> Pending:
        """Start sending to a group rank."""
        unit, kind = self._unit((buffer.nbytes,))
        request = self.comm.Isend([as_bytes(buffer), buffer.nbytes // unit, kind], destination, tag)
        return Pending(request, buffer, destination, tag)

    def irecv(self, buffer: Array, source: int, tag: int = 0) -> Pending:
        """Start receiving from a group rank into `buffer`, whose size must match what is sent."""
        unit, kind = self._unit((buffer.nbytes,))
        request = self.comm.Irecv([as_bytes(buffer), buffer.nbytes // unit, kind], source, tag)
        return Pending(request, buffer, source, tag)

    def iallgather(self, send: Array, receive: Array) -> Pending:
        """Start an all-gather of equal pieces."""
        return Pending(self.comm.Iallgather(as_bytes(send), as_bytes(receive)), receive, -1, 0)

    def arrived(self, tag: int) -> list[tuple[int, bytes]]:
        """Messages with this tag that are here already: (group rank of the sender, content)."""
        found = []
        status = self.world.mpi.Status()
        while self.comm.Iprobe(self.world.mpi.ANY_SOURCE, tag, status):
            content = np.empty(status.Get_count(self.world.mpi.BYTE), np.uint8)
            source = status.Get_source()
            self.comm.Recv([content, self.world.mpi.BYTE], source, tag)
            found.append((source, content.tobytes()))
        return found

    def shared_block(self, nbytes: int, in_memory: bool = False) -> SharedBlock:
        """Zeroed memory that all ranks of the group map. The group must be on one host. Collective.

        Raises OSError on every rank when there is no room for it.
        """
        if self.size == 1:
            return SharedBlock.create(nbytes, in_memory).unlinked()
        block, fault = None, ""
        if self.rank == 0:
            try:
                block = SharedBlock.create(nbytes, in_memory)
            except OSError as error:
                fault = str(error)
        path, fault = self.comm.bcast((block.path if block else None, fault), 0)
        if fault:
            raise OSError(fault)
        mine = block or SharedBlock.open(path, nbytes)
        self.comm.Barrier()
        return mine.unlinked() if block else mine

    def _unit(self, counts: Sequence[int]) -> tuple[int, Any]:
        """The widest element that all byte counts are a multiple of: MPI counts are 32-bit."""
        mpi = self.world.mpi
        return (8, mpi.INT64_T) if all(count % 8 == 0 for count in counts) else (1, mpi.BYTE)


def as_bytes(array: Array) -> npt.NDArray[np.uint8]:
    """A C-contiguous array as flat bytes, without a copy. Raises ValueError for any other array."""
    if not array.flags.c_contiguous:
        raise ValueError("only C-contiguous arrays can be sent")
    return array.reshape(-1).view(np.uint8)


def _within(seconds: float, done: Done) -> bool:
    """True as soon as `done()`, looked at for so long."""
    end = 0.0
    while not done():
        now = time.perf_counter()
        end = end or now + seconds
        if now > end:
            return False
        give_way()
    return True


def _pieces(array: Array) -> list[npt.NDArray[np.uint8]]:
    flat = as_bytes(array)
    if flat.size <= _PIECE:
        return [flat] if flat.size else []
    return [flat[start : start + _PIECE] for start in range(0, flat.size, _PIECE)]


def _tag_of(ranks: tuple[int, ...]) -> int:
    """A tag that two groups under construction at the same time hardly share."""
    tag = 0
    for rank in ranks:
        tag = (tag * 31 + rank + 1) % 32749
    return tag
