"""The ranks of the job: who they are, groups of them, and moving bytes between them.

The only module that imports mpi4py, and only when there is more than one rank: a lone process is a world of size 1 without MPI.
Everything here is raw: no deadline, no agreement check. Callers put `tt_run.runtime.guard` in front, so that a blocking call is only
made when all ranks of the group are known to make it.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from tt_run import contract
from tt_run.runtime import launched
from tt_run.runtime.comm import debugger_pause
from tt_run.runtime.comm.arrival import Arrival
from tt_run.runtime.comm.descriptors import are_closed, sockets
from tt_run.runtime.comm.group import Group as Group
from tt_run.runtime.comm.group import Peer as Peer
from tt_run.runtime.comm.group import Pending as Pending
from tt_run.runtime.comm.group import as_bytes as as_bytes

_SIZE_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")
# Above this module, hence by name: the world of a rank that is recorded or replayed.
_RECORD = "tt_run.runtime.record.process"
# Seconds a rank waits for its peers.
DEFAULT_WAIT = contract.GUARD_SECONDS
# At least so long for those of its host to start: importing takes its time on a busy machine.
_START_WAIT = 20.0
# Until MPI start-up is given up: a rank of another host that never comes, or is out of reach, would block it. At least so long, and
# twice as long as ranks wait for each other.
_START_DEADLINE = 60.0


class World:
    """All ranks of the job. `rank` and `size` are known without MPI; `peers` and everything that communicates connect on first use.

    A subclass may take its place (`replace_world`): what a rank learns from others comes from `connect`, `peers`, `control` and the methods of the
    groups that `group` makes, so a recording writes there and a replay of one rank answers there, with nobody else present.
    """

    guarded = True
    """Whether there are ranks to agree with: in a replay there are none."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size
        self._groups: dict[tuple[int, ...], Group] = {}
        self._peers: tuple[Peer, ...] | None = None
        self._arrival: Arrival | None = None
        self._sockets: dict[int, int] = {}  # those of MPI

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
            self._groups[key] = self.make_group(key)
        return self._groups[key]

    def make_group(self, ranks: tuple[int, ...]) -> Group:
        """A new group; `group` makes each once."""
        return Group(self, ranks)

    @property
    def everyone(self) -> Group:
        """The group of all ranks."""
        return self.group(range(self.size))

    @cached_property
    def mpi(self) -> Any:
        """The mpi4py module. Importing it starts MPI, which waits for all ranks: those of this host are waited for before, with a
        deadline; for those of other hosts there is a watchdog.
        """
        sign = None if "mpi4py.MPI" in sys.modules else self.arrive()
        if sign is not None:
            sign.await_others(max(seconds_to_wait(), _START_WAIT))
        before = {} if "mpi4py.MPI" in sys.modules else sockets()
        with _limited_start():
            import mpi4py

            mpi4py.rc.thread_level = "multiple"  # a program may have threads that use MPI, as on a cluster
            with _crashes_left_to_python():
                from mpi4py import MPI
        self._sockets = {number: inode for number, inode in sockets().items() if number not in before}
        _check_size(MPI, self.size)
        hidden = getattr(MPI, "_tt_run_raw", None)  # the communicators that the program does not see
        return MPI if hidden is None else SimpleNamespace(**{**vars(MPI), **hidden})

    @property
    def has_lost_mpi(self) -> bool:
        """Whether the program has closed what MPI had opened: shutting it down would wait for ever."""
        return are_closed(self._sockets)

    @property
    def has_started(self) -> bool:
        """Whether the program has started MPI itself: who was there then may be anywhere now."""
        return self._arrival is None and "mpi4py.MPI" in sys.modules

    def arrive(self) -> Arrival | None:
        """Show the other ranks of this host that this one has come; None where the environment names no job."""
        self._arrival = Arrival.announce(os.environ)
        return self._arrival

    def connect(self) -> None:
        """Meet all ranks: exchange names and places. Every rank must call it, once; later calls do nothing."""
        if self._peers is not None:
            return
        mine = (
            os.uname().nodename,
            os.getpid(),
            _optional(contract.MESH_ID),
            _optional(contract.MESH_HOST_RANK),
        )
        if self.size == 1:
            self._peers = (Peer(0, 0, *mine),)
            return
        mpi = self.mpi
        with _limited_start():
            node = mpi.COMM_WORLD.Split_type(mpi.COMM_TYPE_SHARED, key=self.rank)
            leader = node.bcast(self.rank, 0)
            facts = mpi.COMM_WORLD.allgather((leader, mine))
            node.Free()
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
        """End every rank of the job now. Does not return.

        Without its sockets MPI would wait for mpirun's answer for ever; mpirun ends the others when it sees the code.
        """
        flush_streams()
        if self.size > 1 and "mpi" in self.__dict__ and not self.mpi.Is_finalized() and not self.has_lost_mpi:
            self.mpi.COMM_WORLD.Abort(code)
        os._exit(code)


def flush_streams() -> None:
    """Flush what the program prints to, which may be anything by now: None, closed, an object that only writes."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()


_world: World | None = None


def world() -> World:
    """The job this process belongs to, read from its environment once.

    Raises RuntimeError when the number of ranks is not the planned one (TT_RUN_WORLD_SIZE).
    """
    global _world
    if _world is None:
        _world = _from_environment()
    return _world


def replace_world(instead: World | None) -> World | None:
    """Put another world in the place of this process's; None: read it from the environment again. Returns the one before.

    Do it before the first mesh is opened: whoever asked `world()` keeps what it got.
    """
    global _world
    before, _world = _world, instead
    return before


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
    for variable in (contract.RECORD, contract.REPLAY):
        if launched.variables.get(variable):
            recorded: World = import_module(_RECORD).world_of(rank, size)
            return recorded
    return World(rank, size)


@contextmanager
def _crashes_left_to_python() -> Iterator[None]:
    """UCX, which some Open MPIs load, would put its handlers of crashes over Python's, and print C functions in the place of the program's line."""
    own = "UCX_ERROR_SIGNALS" not in os.environ and "UCX_HANDLE_ERRORS" not in os.environ
    if own:
        os.environ["UCX_ERROR_SIGNALS"] = ""
    try:
        yield
    finally:
        if own:
            del os.environ["UCX_ERROR_SIGNALS"]


@contextmanager
def _limited_start() -> Iterator[None]:
    """A watchdog over what cannot be interrupted, unless a rank may be stopped in a debugger for as long as its user likes."""
    if debugger_pause.is_expected():
        yield
        return
    borrow = getattr(faulthandler.dump_traceback_later, "tt_run_borrow", _borrow)  # of the hook of ranks
    give_back = borrow(max(2 * seconds_to_wait(), _START_DEADLINE))
    try:
        yield
    finally:
        give_back()


def _borrow(seconds: float) -> Callable[[], None]:
    faulthandler.dump_traceback_later(seconds, exit=True, file=2)  # sys.stderr may be replaced, or None
    return faulthandler.cancel_dump_traceback_later


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
