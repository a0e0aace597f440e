"""The ranks of the job: who they are, groups of them, and moving bytes between them.

The only module that imports mpi4py, and only when there is more than one rank: a lone process is a world of size 1 without MPI.
Everything here is raw: no deadline, no agreement check. Callers put `tt_run.runtime.guard` in front, so that a blocking call is only
made when all ranks of the group are known to make it.
"""

from __future__ import annotations

import faulthandler
import os
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run import contract
from tt_run.runtime.arrival import Arrival
from tt_run.runtime.shared import SharedBlock

Array = npt.NDArray[Any]

_SIZE_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")
DEFAULT_WAIT = 60.0  # seconds a rank waits for its peers
_START_WAIT = (
    20.0  # at least so long for those of its host to start: importing takes its time on a busy machine
)
_START_DEADLINE = (
    120.0  # until MPI start-up is given up: a rank of another host that never comes would block it
)


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


class Pending:
    """A send or receive in flight. The buffer belongs to it until `test()` is True."""

    __slots__ = ("_request", "buffer", "peer", "tag")

    def __init__(self, request: Any, buffer: Array, peer: int, tag: int) -> None:
        self._request, self.buffer, self.peer, self.tag = request, buffer, peer, tag

    def test(self) -> bool:
        """True once it has completed; makes progress."""
        return bool(self._request.Test())

    def cancel(self) -> None:
        """Give it up."""
        self._request.Cancel()


class Group:
    """Some ranks of the world in a fixed order. Members connect on first use; byte counts may exceed 2 GiB if divisible by 8.

    All buffers are C-contiguous NumPy arrays of any type; they travel as bytes.
    """

    def __init__(self, world: World, ranks: tuple[int, ...]) -> None:
        self.world = world
        self.ranks = ranks
        self.rank = ranks.index(world.rank) if world.rank in ranks else -1
        self._comm: Any = None
        self._windows: dict[str, Window] = {}

    @property
    def size(self) -> int:
        """How many ranks."""
        return len(self.ranks)

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

    def allgatherv(self, send: Array, receive: Array, counts: Sequence[int]) -> None:
        """Concatenate every rank's `send` into `receive`, in group order; `counts` are bytes per rank."""
        if self.size == 1:
            as_bytes(receive)[:] = as_bytes(send)
            return
        unit, kind = self._unit(counts)
        amounts = [count // unit for count in counts]
        if len(set(amounts)) == 1:
            self.comm.Allgather([as_bytes(send), amounts[0], kind], [as_bytes(receive), amounts[0], kind])
        else:
            self.comm.Allgatherv(
                [as_bytes(send), amounts[self.rank], kind], [as_bytes(receive), amounts, None, kind]
            )

    def alltoallv(
        self, send: Array, send_counts: Sequence[int], receive: Array, receive_counts: Sequence[int]
    ) -> None:
        """Rank i's j-th piece of `send` becomes rank j's i-th piece of `receive`; counts are bytes."""
        if self.size == 1:
            as_bytes(receive)[:] = as_bytes(send)
            return
        unit, kind = self._unit((*send_counts, *receive_counts))
        self.comm.Alltoallv(
            [as_bytes(send), [count // unit for count in send_counts], None, kind],
            [as_bytes(receive), [count // unit for count in receive_counts], None, kind],
        )

    def broadcast(self, buffer: Array, root: int) -> None:
        """Overwrite `buffer` with that of the group rank `root`."""
        if self.size > 1:
            unit, kind = self._unit((buffer.nbytes,))
            self.comm.Bcast([as_bytes(buffer), buffer.nbytes // unit, kind], root)

    def sendrecv(self, send: Array, destination: int, receive: Array, source: int, tag: int = 0) -> None:
        """Send to one group rank while receiving from another."""
        if self.size == 1:
            as_bytes(receive)[:] = as_bytes(send)
            return
        (a, kind_a), (b, kind_b) = self._unit((send.nbytes,)), self._unit((receive.nbytes,))
        self.comm.Sendrecv(
            [as_bytes(send), send.nbytes // a, kind_a], destination, tag,
            [as_bytes(receive), receive.nbytes // b, kind_b], source, tag,
        )  # fmt: skip

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

    def shared_block(self, nbytes: int) -> SharedBlock:
        """Zeroed memory that all ranks of the group map. The group must be on one host. Collective."""
        if self.size == 1:
            return SharedBlock.create(nbytes).unlinked()
        block = SharedBlock.create(nbytes) if self.rank == 0 else None
        path = self.comm.bcast(block.path if block else None, 0)
        mine = block or SharedBlock.open(path, nbytes)
        self.comm.Barrier()
        return mine.unlinked() if block else mine

    def window(self, nbytes: int, name: str = "") -> Window:
        """The group's shared window called `name`, with at least `nbytes` for each rank; grown when too small. Collective."""
        window = self._windows.get(name)
        if window is None or window.nbytes < nbytes:
            room = 1 << max(12, (nbytes - 1).bit_length())
            window = self._windows[name] = Window(self, self.shared_block(room * self.size), room)
        return window

    def _unit(self, counts: Sequence[int]) -> tuple[int, Any]:
        """The widest element that all byte counts are a multiple of: MPI counts are 32-bit."""
        mpi = self.world.mpi
        return (8, mpi.INT64_T) if all(count % 8 == 0 for count in counts) else (1, mpi.BYTE)


class Window:
    """One segment of bytes per rank, in memory that all ranks of the group see: what a rank writes the others read without a copy.

    Write to `segments[rank]`, `fence()`, read the others'; fence again before the next write. The fence here is a barrier; the guard's
    agreement on a collective is one too.
    """

    def __init__(self, group: Group, block: SharedBlock, nbytes: int) -> None:
        self.group = group
        self.nbytes = nbytes
        whole = np.frombuffer(block.memory, np.uint8)
        self._block = block
        self.segments: tuple[Array, ...] = tuple(
            whole[i * nbytes : (i + 1) * nbytes] for i in range(group.size)
        )

    @property
    def mine(self) -> Array:
        """This rank's segment."""
        return self.segments[self.group.rank]

    def fence(self) -> None:
        """Wait until every rank is here; writes before it are seen after it."""
        self.group.barrier()


class World:
    """All ranks of the job. `rank` and `size` are known without MPI; `peers` and everything that communicates connect on first use."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size
        self._groups: dict[tuple[int, ...], Group] = {}
        self._peers: tuple[Peer, ...] | None = None
        self._arrival: Arrival | None = None

    @property
    def connected(self) -> bool:
        """True once the ranks have met."""
        return self._peers is not None

    @property
    def peers(self) -> tuple[Peer, ...]:
        """Every rank's facts, by rank; the first use is a meeting of all ranks."""
        if self._peers is None:
            self.connect()
        assert self._peers is not None
        return self._peers

    def group(self, ranks: Sequence[int]) -> Group:
        """The group of these ranks in this order; the same object for the same ranks. Local: nothing is communicated yet."""
        key = tuple(ranks)
        if key not in self._groups:
            if len(set(key)) != len(key) or not all(0 <= rank < self.size for rank in key):
                raise ValueError(f"a group needs distinct ranks of 0..{self.size - 1}, not {key}")
            self._groups[key] = Group(self, key)
        return self._groups[key]

    @property
    def everyone(self) -> Group:
        """The group of all ranks."""
        return self.group(range(self.size))

    @cached_property
    def mpi(self) -> Any:
        """The mpi4py module. Importing it starts MPI, which waits for all ranks: those of this host are waited for before, with a
        deadline; for those of other hosts there is a watchdog.
        """
        if "mpi4py.MPI" not in sys.modules:
            self._arrival = Arrival.announce(os.environ)
            if self._arrival is not None:
                self._arrival.await_others(max(seconds_to_wait(), _START_WAIT))
        faulthandler.dump_traceback_later(_START_DEADLINE, exit=True)
        try:
            import mpi4py

            mpi4py.rc.thread_level = "serialized"
            from mpi4py import MPI
        finally:
            faulthandler.cancel_dump_traceback_later()
        _check_size(MPI, self.size)
        return MPI

    def connect(self) -> None:
        """Meet all ranks: exchange names and places. Every rank must call it, once; later calls do nothing."""
        if self._peers is not None:
            return
        mine = (
            socket.gethostname(),
            os.getpid(),
            _optional(contract.MESH_ID),
            _optional(contract.MESH_HOST_RANK),
        )
        if self.size == 1:
            self._peers = (Peer(0, 0, *mine),)
            return
        mpi = self.mpi
        faulthandler.dump_traceback_later(_START_DEADLINE, exit=True)
        try:
            node = mpi.COMM_WORLD.Split_type(mpi.COMM_TYPE_SHARED, key=self.rank)
            leader = node.bcast(self.rank, 0)
            facts = mpi.COMM_WORLD.allgather((leader, mine))
            node.Free()
        finally:
            faulthandler.cancel_dump_traceback_later()
        if self._arrival is not None:
            self._arrival.close()
        leaders = sorted({leader for leader, _ in facts})
        self._peers = tuple(
            Peer(rank, leaders.index(leader), *own) for rank, (leader, own) in enumerate(facts)
        )
        self.control.connect()

    @cached_property
    def control(self) -> Group:
        """All ranks on a communicator of their own, for messages about the job. Exists once the ranks have met."""
        group = Group(self, tuple(range(self.size)))
        group.connect()
        return group

    @cached_property
    def neighbours(self) -> Group:
        """The ranks that share this one's host."""
        host = self.peers[self.rank].host
        return self.group([peer.rank for peer in self.peers if peer.host == host])

    def abort(self, code: int) -> None:
        """End every rank of the job now. Does not return."""
        sys.stdout.flush()
        sys.stderr.flush()
        if self.size > 1 and "mpi" in self.__dict__ and not self.mpi.Is_finalized():
            self.mpi.COMM_WORLD.Abort(code)
        os._exit(code)


_world: World | None = None


def world() -> World:
    """The job this process belongs to, read from its environment once.

    Raises RuntimeError when the number of ranks is not the planned one (TT_RUN_WORLD_SIZE).
    """
    global _world
    if _world is None:
        _world = _from_environment()
    return _world


def seconds_to_wait() -> float:
    """How long a rank waits for its peers: TT_RUN_GUARD_TIMEOUT, 60 s by default. Raises RuntimeError for what is no positive number."""
    text = os.environ.get(contract.GUARD_TIMEOUT, "").strip()
    try:
        seconds = float(text) if text else DEFAULT_WAIT
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise RuntimeError(f"{contract.GUARD_TIMEOUT}={text!r} is not a positive number of seconds")
    return seconds


def as_bytes(array: Array) -> npt.NDArray[np.uint8]:
    """A C-contiguous array as flat bytes, without a copy. Raises ValueError for any other array."""
    if not array.flags.c_contiguous:
        raise ValueError("only C-contiguous arrays can be sent")
    return array.reshape(-1).view(np.uint8)


def _from_environment() -> World:
    size = int(next((os.environ[name] for name in _SIZE_VARIABLES if name in os.environ), "1"))
    rank = int(
        next(
            (
                os.environ[n]
                for n in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK")
                if n in os.environ
            ),
            "0",
        )
    )
    planned = os.environ.get(contract.WORLD_SIZE)
    if planned is not None and int(planned) != size:
        raise RuntimeError(
            f"the job was planned for {planned} ranks ({contract.WORLD_SIZE}={planned}) but MPI started {size}: "
            "start the program through tt-run, or unset the variable"
        )
    return World(rank, size)


def _check_size(mpi: Any, expected: int) -> None:
    found = mpi.COMM_WORLD.Get_size()
    if found != expected:
        raise RuntimeError(
            f"the environment announces {expected} ranks but MPI has {found}: mpi4py is built for another MPI than the mpirun in use"
        )


def _optional(name: str) -> int | None:
    value = os.environ.get(name, "").strip()
    if not value:
        return None
    try:
        return int(value)
    except ValueError:
        raise RuntimeError(f"{name}={value!r} is not a number") from None


def _tag_of(ranks: tuple[int, ...]) -> int:
    """A tag that two groups under construction at the same time hardly share."""
    tag = 0
    for rank in ranks:
        tag = (tag * 31 + rank + 1) % 32749
    return tag
