"""One call of mpi4py: made and written down, or answered from the record.

`real` is the library's call, None in a replay. What a rank holds open to others (the memory of its windows) may change while it calls
anything, so each call brings it along.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tt_run.runtime.record.mpi.buffers import Bytes, Unseen, memory_of, sent_digest
from tt_run.runtime.record.mpi.calls import NotRecorded, Words, facts_of, named_words, receives_into
from tt_run.runtime.record.pickles import pickled
from tt_run.runtime.record.recording import Recording
from tt_run.runtime.record.replaying import Replaying

Book = Recording | Replaying
Real = Callable[..., Any] | None
_UNSEEN = "unseen"
_WORD = 1 << 63
_SETS = (pickle.EMPTY_SET, pickle.FROZENSET)

book_of_this_process: Callable[[], Book] | None = None
"""What calls ask that know no communicator, in a replay."""


def current_book() -> Book:
    """The book of this replay."""
    assert book_of_this_process is not None
    return book_of_this_process()


exposed: list[Callable[[], list[Bytes]]] = []
"""Memory of this rank that others write into whenever they like: of each open window."""


class At(NamedTuple):
    """Where a call is made: the book, and the communicator's own rank and size."""

    book: Callable[[], Book]
    rank: int
    size: int


def record_call(
    at: At, name: str, words: Words, real: Real, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """One call that is over when it returns; what it gave."""
    given, book = named_words(words, args, kwargs), at.book()
    if book.inside and real is not None:
        return real(*args, **kwargs)
    fills = receives_into(name)
    target = Target.of(given.get("recvbuf", given.get("buf"))) if fills else Target(None)
    status = given.get("status")

    made: list[Any] = []

    def cross() -> tuple[Any, ...]:
        assert real is not None
        made.append(real(*args, **kwargs))
        return (target.seen() if fills else packed(made[0]), status_facts(status), copy_exposed())

    facts = facts_of(name, words, given, at.size)
    result, told, memory = book.call(facts, sent_digest(name, given, at.rank), cross)
    if not book.replays:
        return as_kept(made[0], result)
    fill_status(status, told)
    restore_exposed(memory)
    if fills:
        target.fill(result, name)
        return None
    return unpacked(result)


def record_result(at: At, name: str, real: Callable[[], Any] | None, sent: bytes = b"") -> Any:
    """A call whose plain result is all that a replay has to know."""
    book = at.book()
    if book.inside and real is not None:
        return real()

    made: list[Any] = []

    def cross() -> tuple[Any, ...]:
        assert real is not None
        made.append(real())
        return (packed(made[0]), copy_exposed())

    result, memory = book.call(facts_of(name, size=at.size), sent, cross)
    if not book.replays:
        return as_kept(made[0], result)
    restore_exposed(memory)
    return unpacked(result)


class Target:
    """Memory of the program that a call fills, now or later; None for none."""

    __slots__ = ("memory", "unseen")

    def __init__(self, memory: Bytes | None, unseen: str = "") -> None:
        self.memory, self.unseen = memory, unseen

    @classmethod
    def of(cls, buffer: Any) -> Target:
        """Of an argument."""
        try:
            return cls(memory_of(buffer))
        except Unseen as error:
            return cls(None, str(error))

    def seen(self) -> Any:
        """What lies there now, for the record."""
        return (_UNSEEN, self.unseen) if self.unseen else self.memory

    def fill(self, found: Any, name: str) -> None:
        """Put there what the record has. Raises NotRecorded where it has nothing."""
        if isinstance(found, tuple) and found and found[0] == _UNSEEN:
            raise NotRecorded(f"MPI {name} into {found[1]}")
        if found is None or not len(found):
            return
        if self.memory is None:
            raise NotRecorded(f"MPI {name} into {self.unseen or 'nothing'}")
        self.memory[: len(found)] = found[: len(self.memory)]


def packed(value: Any) -> Any:
    """An object in a form that keeps what in it is the same object. Numbers and texts, of which a loop has others each time, are values of one form."""
    kind = type(value)
    if kind is float or (kind is int and -_WORD <= value < _WORD):
        return (kind.__name__, np.array(value))
    if kind is str:
        return ("str", np.frombuffer(value.encode("utf-8", "surrogatepass"), np.uint8))
    if value is None or kind in (bool, int, bytes) or _is_plain(value):
        return value
    return ("object", np.frombuffer(pickled(value), np.uint8))


def _is_plain(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype.kind in "biufc" and value.flags.c_contiguous


def unpacked(value: Any) -> Any:
    """The object again."""
    if type(value) is not tuple:
        return value
    kind, data = value
    if kind in ("int", "float"):
        return data.item()
    return data.tobytes().decode("utf-8", "surrogatepass") if kind == "str" else pickle.loads(data.tobytes())


def as_kept(value: Any, kept: Any) -> Any:
    """What the program of a recorded run gets for a value: a set whose elements a replay would find in another order as the replay will."""
    if type(kept) is not tuple or kept[0] != "object":
        return value
    data = kept[1].tobytes()
    if not any(code in data for code in _SETS):
        return value
    again = pickle.loads(data)
    return value if pickled(again) == data else again


def status_facts(status: Any) -> tuple[int, ...] | None:
    """What a status tells: source, tag, bytes, and whether it was cancelled."""
    if status is None:
        return None
    told = status.Get_source(), status.Get_tag(), status.Get_count(sys.modules["mpi4py.MPI"].BYTE)
    return (*told, True) if status.Is_cancelled() else told


def fill_status(status: Any, told: tuple[int, ...] | None) -> None:
    """Let a status of a replay tell it."""
    if status is not None and told is not None:
        status.say(*told)


def exposed_memory() -> list[Bytes]:
    """Memory that others write into."""
    return [memory for window in exposed for memory in window()]


def copy_exposed() -> list[Bytes]:
    """What lies there now: a copy, for another rank may write while this one is written down."""
    return [memory.copy() for memory in exposed_memory()]


def restore_exposed(found: list[Bytes]) -> None:
    """Put it there."""
    for memory, value in zip(exposed_memory(), found, strict=False):
        memory[:] = value
