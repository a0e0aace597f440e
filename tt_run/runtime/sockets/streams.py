"""What carries tensors between the two ends of a socket: a queue inside the process, or messages between two ranks.

A parcel is one tensor's worth: the text of its spec and one row per connection. Rows are sent as they are and copied by the receiver's
side at the latest when it reads; shards are never changed in place, so nobody can see a half-written row.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from tt_run.runtime import events, guard
from tt_run.runtime.comm.deadlines import Patience
from tt_run.runtime.comm.group import headed
from tt_run.runtime.comm.world import Group, seconds_to_wait, world
from tt_run.runtime.enums import DataType
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.values import shapes
from tt_run.runtime.values.bfloat16 import from_wire, to_wire
from tt_run.runtime.values.dtypes import stored_dtype

Array = npt.NDArray[Any]
HEADER_BYTES = 512
LOOK = 0.05
"""Seconds between two looks at whether anybody may still send."""


class AwaitedRows(Protocol):
    """Rows that are there once something else has come."""

    def settle(self) -> Any: ...


Rows = Sequence[Array] | AwaitedRows


class Delivery(Protocol):
    """A parcel that was asked for."""

    @property
    def unsent(self) -> bool:
        """Whether this process has it to send and has not."""
        ...

    @property
    def later(self) -> Sequence[Any]:
        """What its rows wait for, if anything."""
        ...

    def take(self) -> list[Array]:
        """Wait for it; one row per connection. Raises RuntimeError when it is of another spec or can never come."""
        ...


class Stream(Protocol):
    """One direction between the ends: parcels arrive in the order in which they were sent."""

    def send(self, spec: TensorSpec, rows: Rows, name: str) -> None:
        """Hand over a parcel without waiting; `name` of the operation that sends it."""
        ...

    def ask(self, spec: TensorSpec, name: str) -> Delivery:
        """Prepare for the next parcel without waiting."""
        ...

    def flush(self) -> None:
        """Wait until everything handed over has left."""
        ...

    @property
    def idle(self) -> bool:
        """Whether everything handed over has left."""
        ...

    @property
    def peer(self) -> int:
        """The rank at the other end."""
        ...


class Unasked:
    """The sends inside of this process that no receive has asked for yet, for what is told at the end of the program."""

    all: ClassVar[list[Unasked]] = []

    def __init__(self) -> None:
        self._sends: deque[str] = deque()
        self._ahead = 0

    def sent(self, words: str) -> None:
        """A parcel was sent; `words` say from where."""
        if self._ahead:
            self._ahead -= 1
            return
        if not self._sends and self not in Unasked.all:
            Unasked.all.append(self)
        self._sends.append(words)

    def asked(self) -> None:
        """A receive asks for the next parcel."""
        if self._sends:
            self._sends.popleft()
        else:
            self._ahead += 1
        if not self._sends and self in Unasked.all:
            Unasked.all.remove(self)

    def words(self) -> list[str]:
        """The sends that are left."""
        return list(self._sends)


class ProcessStream:
    """Both ends in one process."""

    def __init__(self) -> None:
        self._sent: dict[int, tuple[TensorSpec, Rows]] = {}
        self._sends, self._asks = itertools.count(), itertools.count()
        self._arrived = threading.Condition()
        self._unasked = Unasked()

    def send(self, spec: TensorSpec, rows: Rows, name: str) -> None:
        """Queue a parcel."""
        self._unasked.sent(f"{name} at {events.call_site()} ({describe(spec)})")
        with self._arrived:
            self._sent[next(self._sends)] = (spec, list(rows) if isinstance(rows, Sequence) else rows)
            self._arrived.notify_all()

    def ask(self, spec: TensorSpec, name: str) -> Delivery:
        """The next parcel, whether it was sent already or not."""
        self._unasked.asked()
        return _Queued(self._sent, next(self._asks), self._arrived, spec, name)

    def flush(self) -> None:
        """Nothing is under way."""

    @property
    def idle(self) -> bool:
        """Nobody waits for what a process sends itself."""
        return True

    @property
    def peer(self) -> int:
        """This rank."""
        return world().rank


class _Queued:
    def __init__(
        self,
        sent: dict[int, tuple[TensorSpec, Rows]],
        number: int,
        arrived: threading.Condition,
        spec: TensorSpec,
        name: str,
    ) -> None:
        self._sent, self._number, self._arrived, self._spec, self._name = sent, number, arrived, spec, name
        self._site = "" if number in sent else events.call_site()

    @property
    def unsent(self) -> bool:
        return self._number not in self._sent

    @property
    def later(self) -> Sequence[Any]:
        parcel = self._sent.get(self._number)
        return () if parcel is None or isinstance(parcel[1], Sequence) else (parcel[1],)

    def take(self) -> list[Array]:
        with self._arrived:
            patience = Patience()
            while self._number not in self._sent:
                patience.look()
                if not others_may_send() or patience.over(seconds_to_wait()):
                    raise fatal(
                        f"{self._name} at {self._site} waits for a tensor that was never sent, and {events.call_site()} needs it: both ends of "
                        "the socket are in this process, and send_async on the sender comes before reading what recv_async returned",
                        hint="ttnn.experimental.send_async(tensor, socket) before the result is read",
                    )
                self._arrived.wait(LOOK)
            spec, rows = self._sent[self._number]
        check_spec(describe(spec), self._spec, name=self._name)
        found: list[Array] = list(rows if isinstance(rows, Sequence) else rows.settle())
        del self._sent[self._number]
        return found


def others_may_send() -> bool:
    """Whether the program has another thread that could still send: not one of the runtime's own."""
    own = threading.current_thread()
    return any(
        not (thread is own or thread.daemon or thread.name.startswith("tt-run"))
        for thread in threading.enumerate()
    )


class RankStream:
    """The ends on two ranks: a header with the spec, then one message per connection."""

    def __init__(self, group: Group, peer: int, tag: int, connections: int) -> None:
        self._group, self._peer, self._tag, self._connections = group, peer, tag, connections
        self._leaving: deque[guard.Transfer] = deque()

    def send(self, spec: TensorSpec, rows: Rows, name: str) -> None:
        """Start all messages; their arrays are kept until they have left."""
        rows = rows if isinstance(rows, Sequence) else list(rows.settle())
        while self._leaving and self._leaving[0].test():
            self._leaving.popleft()
        filled = np.zeros(HEADER_BYTES, np.uint8)
        site = events.call_site()[-HEADER_BYTES // 2 :]
        text = f"{describe(spec)}\n{site}\n{name}".encode()[:HEADER_BYTES]
        filled[: len(text)] = np.frombuffer(text, np.uint8)
        header = headed(filled, filled[: len(describe(spec).encode())])
        narrow = self._narrow(spec)
        for array in (header, *(to_wire(row) if narrow else np.ascontiguousarray(row) for row in rows)):
            tag = self._tag if array is header else _tag_of(self._tag, array.nbytes)
            self._leaving.append(guard.isend(self._group, array, self._peer, tag, name))

    def ask(self, spec: TensorSpec, name: str) -> Delivery:
        """Post the receives of the next parcel."""
        header = headed(np.empty(HEADER_BYTES, np.uint8))
        kind = np.dtype(np.uint16) if self._narrow(spec) else stored_dtype(spec.dtype)
        shape = (0,) if shapes.active() else tuple(spec.shape)
        rows = [np.empty(shape, kind) for _ in range(self._connections)]
        transfers = [guard.irecv(self._group, header, self._peer, self._tag, name)]
        transfers += [
            guard.irecv(self._group, row, self._peer, _tag_of(self._tag, row.nbytes), name) for row in rows
        ]
        return _Posted(transfers, header, rows, spec, f"rank {self.peer}", name)

    def flush(self) -> None:
        """Wait, with the guard's deadline, until the peer has taken everything."""
        while self._leaving:
            guard.wait(self._leaving[0])
            self._leaving.popleft()

    @property
    def idle(self) -> bool:
        """Whether the peer has taken everything."""
        return all(transfer.test() for transfer in self._leaving)

    @property
    def peer(self) -> int:
        """The rank at the other end."""
        return self._group.ranks[self._peer]

    def _narrow(self, spec: TensorSpec) -> bool:
        return spec.dtype is DataType.BFLOAT16 and not self._group.on_one_host


_ROWS = 1 << 22  # rows have tags of their own, below 2**23 as every transport allows


def _tag_of(tag: int, nbytes: int) -> int:
    """The tag of a row of so many bytes on a socket: MPI may write a longer message over what lies behind a shorter buffer, so that one
    must not match the other.
    """
    return _ROWS + ((tag & 0x3FF) << 12) + ((nbytes * 2654435761 >> 20) & 0xFFF)


class _Posted:
    unsent, later = False, ()

    def __init__(
        self,
        transfers: Sequence[guard.Transfer],
        header: Array,
        rows: Sequence[Array],
        spec: TensorSpec,
        sender: str,
        name: str,
    ) -> None:
        self._transfers, self._header, self._rows, self._spec = transfers, header, rows, spec
        self._sender, self._name = sender, name

    def take(self) -> list[Array]:
        guard.wait(self._transfers[0])
        # Before the rows: one of another size would never come.
        sent, site, name = _told(self._header.tobytes())
        check_spec(sent, self._spec, f"{name} of {self._sender} at {site}", self._name)
        for transfer in self._transfers[1:]:
            guard.wait(transfer)
        return [from_wire(row) if row.dtype != stored_dtype(self._spec.dtype) else row for row in self._rows]


def describe(spec: TensorSpec) -> str:
    """What sender and receiver have to agree on, as text."""
    return f"shape {list(spec.shape)}, {spec.dtype.name}, {spec.layout.name}"


def unreceived(group: Group, tag: int) -> list[str]:
    """The sends that this end of a socket between ranks was sent and has not asked for; all are here once the others have ended."""
    found = []
    for _ in range(_LOOKS):
        for source, content in group.arrived(tag):
            spec, site, name = _told(content[-HEADER_BYTES:])
            found.append(f"{name} of rank {group.ranks[source]} at {site} ({spec})")
    return found


_LOOKS = 10  # each moves on what is still on its way, and only the next one sees it


def _told(header: bytes) -> tuple[str, str, str]:
    """What a header says: the spec that is sent, from which line, by which operation."""
    spec, site, name = [*header.rstrip(b"\0").decode(errors="replace").split("\n"), "", ""][:3]
    return spec, site, name


def check_spec(sent: str, expected: TensorSpec, sender: str = "the sender", name: str = "recv_async") -> None:
    """Raise RuntimeError when what was sent does not fit what is waited for; `sender` says who sent it and where."""
    if sent != describe(expected):
        raise fatal(
            f"{name} waits for a tensor of {describe(expected)}, but {sender} sent {sent}",
            "sender and receiver of a socket use tensors of one spec, in the same order",
            hint="ttnn.allocate_tensor_on_device(spec, mesh_device) with the spec of what is sent",
        )
