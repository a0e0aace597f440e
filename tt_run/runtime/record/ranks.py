"""The ranks of a recorded or replayed job: a `World` whose groups write down what passes, or answer from a record with nobody else there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.comm.group import Group, Parcel, Pending
from tt_run.runtime.comm.shared_memory import SharedBlock
from tt_run.runtime.comm.world import Peer, World
from tt_run.runtime.record.arrays import digest
from tt_run.runtime.record.facts import Facts, site
from tt_run.runtime.record.recording import Recording
from tt_run.runtime.record.replaying import Replaying, copy_recorded

Array = npt.NDArray[Any]
Book = Recording | Replaying


class BookedGroup(Group):
    """A group whose messages are in the book, except those inside of a collective, which is there as a whole, and those of the guard."""

    def __init__(self, world: BookedWorld, ranks: tuple[int, ...]) -> None:
        super().__init__(world, ranks)
        self._book = world.book

    def _crosses(self) -> bool:
        return self.size > 1 and not self._book.inside

    def _facts(self, kind: str, name: str, detail: str = "") -> Facts:
        words = f"{name}({detail})" if detail else name
        return Facts(kind, name, words, site(), self.ranks)

    @property
    def connected(self) -> bool:
        """As of any group; in a replay there is nobody to connect to."""
        return self._book.replays or super().connected

    def connect(self) -> None:
        """Create the communicator, unless the job is read from a record."""
        if not self._book.replays:
            super().connect()

    def barrier(self) -> None:
        """Nothing crosses in a barrier, so there is nothing to keep."""
        if not self._book.replays:
            super().barrier()

    def allgather_bytes(self, payload: bytes) -> list[bytes]:
        """Every rank's payload, in group order."""
        if not self._crosses():
            return super().allgather_bytes(payload)
        facts = self._facts("ranks", "allgather_bytes", f"{self.size} ranks")
        return self._book.call(
            facts, digest(np.frombuffer(payload, np.uint8)), lambda: Group.allgather_bytes(self, payload)
        )

    def allgather(self, send: Array, receive: Array) -> None:
        """Every rank's `send` into everybody's `receive`."""
        self._filled("allgather", send, receive, lambda: Group.allgather(self, send, receive))

    def allgatherv(self, send: Array, receive: Array, counts: Sequence[int]) -> None:
        """Concatenate every rank's `send` into `receive`."""
        self._filled("allgatherv", send, receive, lambda: Group.allgatherv(self, send, receive, counts))

    def _filled(self, name: str, send: Array, receive: Array, work: Callable[[], None]) -> None:
        if not self._crosses():
            work()
            return

        def cross() -> Array:
            work()
            return receive

        facts = self._facts("ranks", name, f"{receive.nbytes} bytes")
        copy_recorded(receive, self._book.call(facts, digest(send), cross))

    def swap(
        self, sends: Sequence[Parcel], receives: Sequence[Parcel], meanwhile: Callable[[], None] | None = None
    ) -> None:
        """Complete all parcels."""
        if not self._crosses():
            super().swap(sends, receives, meanwhile)
            return

        def cross() -> list[Array]:
            Group.swap(self, sends, receives, meanwhile)
            return [array for _, array in receives]

        facts = self._facts("ranks", "swap", f"{len(sends)} out, {len(receives)} in")
        found = self._book.call(facts, b"".join(digest(array) for _, array in sends), cross)
        if self._book.replays and meanwhile is not None:
            meanwhile()
        for (_, array), value in zip(receives, found, strict=True):
            copy_recorded(array, value)

    def isend(self, buffer: Array, destination: int, tag: int = 0) -> Pending:
        """Start sending."""
        if self._book.inside:
            return super().isend(buffer, destination, tag)
        detail = f"{buffer.nbytes} bytes, tag {tag}"
        facts = self._facts("send", f"send to rank {self.ranks[destination]}", detail)
        return self._book.sends(facts, buffer, lambda: Group.isend(self, buffer, destination, tag))

    def irecv(self, buffer: Array, source: int, tag: int = 0) -> Pending:
        """Start receiving."""
        if self._book.inside:
            return super().irecv(buffer, source, tag)
        detail = f"{buffer.nbytes} bytes, tag {tag}"
        facts = self._facts("receive", f"receive from rank {self.ranks[source]}", detail)
        number, pending = self._book.receives(facts, buffer, lambda: Group.irecv(self, buffer, source, tag))
        return pending if self._book.replays else Noted(self._book, number, pending)

    def shared_block(self, nbytes: int, in_memory: bool = False) -> SharedBlock:
        """Memory of all ranks; in a replay, of this process."""
        if self._book.replays:
            return SharedBlock.create(nbytes, in_memory).unlinked()
        return super().shared_block(nbytes, in_memory)


class Noted(Pending):
    """A receive in flight that is written down when it has come."""

    __slots__ = ("_book", "_done", "_inner", "_number")

    def __init__(self, book: Book, number: int, inner: Pending) -> None:
        super().__init__(None, inner.buffer, inner.peer, inner.tag)
        self._book, self._number, self._inner, self._done = book, number, inner, False

    def test(self) -> bool:
        """True once it has completed."""
        if not self._done and self._inner.test():
            self._done = True
            self._book.arrived(self._number, self.buffer)
        return self._done


class BookedWorld(World):
    """The job of a rank whose book is written, or read back."""

    def __init__(self, rank: int, size: int, book: Book) -> None:
        super().__init__(rank, size)
        self.book = book
        self.guarded = not book.replays

    def make_group(self, ranks: tuple[int, ...]) -> Group:
        """A group whose messages are in the book."""
        return BookedGroup(self, ranks)

    @property
    def mpi(self) -> Any:
        """mpi4py, with the communicator that the program does not see: what the runtime sends is in the book already."""
        if self.book.replays:
            raise RuntimeError("a replay has no MPI: nothing of it may reach the library")
        module = World.mpi.func(self)  # type: ignore[attr-defined]
        self.__dict__["mpi"] = raw = _raw(module)
        return raw

    def connect(self) -> None:
        """Meet the other ranks, or read who they were."""
        if self._peers is not None:
            return
        if isinstance(self.book, Replaying):
            told = self.book.story.peers
            if not told and self.size > 1:
                self.book.never_met()
            self._peers = tuple(Peer(**fields) for fields in told) or (Peer(0, 0, "", 0, None, None),)
            return
        super().connect()
        assert self._peers is not None
        self.book.peers(self._peers)


def _raw(module: Any) -> Any:
    """The module with its own communicators, whatever programs see under their names."""
    hidden = getattr(module, "_tt_run_raw", None)
    if hidden is None:
        return module
    return SimpleNamespace(**{**vars(module), **hidden})
