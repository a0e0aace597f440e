"""Requests: what was started and is waited for later, one at a time or several at once.

In a run the library waits, and which of them are done, what they brought and what lies in the memory that they filled is written down; in a
replay the record says it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tt_run.runtime.own_mpi.stand_in import STANDS_FOR
from tt_run.runtime.record.mpi.buffers import sent_digest
from tt_run.runtime.record.mpi.calls import NotRecordedMember, Words, facts_of, named_words, receives_into
from tt_run.runtime.record.mpi.crossing import (
    At,
    Book,
    Real,
    Target,
    as_kept,
    copy_exposed,
    current_book,
    fill_status,
    packed,
    record_result,
    restore_exposed,
    status_facts,
    unpacked,
)
from tt_run.runtime.record.mpi.library_queries import OF_REQUEST, recorded_method

_ONE = ("wait", "test", "Wait", "Test", "Get_status", "get_status")
_SEVERAL = tuple(a + b for a in ("wait", "test", "Wait", "Test") for b in ("all", "any", "some"))


def start(at: At, name: str, words: Words, real: Real, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Begin a call that is waited for later: the library's request (None in a replay) and the memory that it fills."""
    given, book = named_words(words, args, kwargs), at.book()
    made: list[Any] = []

    def cross() -> None:
        assert real is not None
        made.append(real(*args, **kwargs))

    # What a prepared call sends is looked at when it starts.
    sent = b"" if name.endswith("_init") else sent_digest(name, given, at.rank)
    book.call(facts_of(name, words, given, at.size), sent, cross)
    target = Target.of(given.get("recvbuf", given.get("buf"))) if receives_into(name) else Target(None)
    return (made[0] if made else None), target


class Prepared:
    """What a prepared call sends each time it starts."""

    __slots__ = ("at", "given", "name")

    def __init__(self, at: At, name: str, given: dict[str, Any]) -> None:
        self.at, self.name, self.given = at, name, given

    def digest(self) -> bytes:
        """Of what lies there now."""
        return sent_digest(self.name, self.given, self.at.rank)


def wait(book: Book, name: str, requests: Sequence[Any], status: Any, real: Callable[[], Any] | None) -> Any:
    """Wait for, or look at, one request or several: what the library's call of that name gives."""
    if book.inside and real is not None:
        return real()
    made: list[Any] = []

    def cross() -> tuple[Any, ...]:
        assert real is not None
        before = len(requests)
        made.append(real())
        found = {
            n: _target(requests[n]).seen() for n in _done(name, made[0], before) if _has_target(requests[n])
        }
        return (packed(made[0]), found, _told(status), copy_exposed())

    result, found, told, memory = book.call(facts_of(name), b"", cross)
    if not book.replays:
        return as_kept(made[0], result)
    answer = unpacked(result)
    for number in _done(name, answer, len(requests)):
        requests[number].is_done = True
    for number, value in found.items():
        _target(requests[number]).fill(value, name)
    _tell(status, told)
    restore_exposed(memory)
    return answer


def _target(request: Any) -> Target:
    found: Target = request._target
    return found


def _has_target(request: Any) -> bool:
    found = getattr(request, "_target", None)
    return found is not None and (found.memory is not None or bool(found.unseen))


def _done(name: str, answer: Any, size: int) -> Sequence[int]:
    """The numbers of those that are done, by what a call of that name has answered."""
    kind = name.lower()
    first = answer[0] if isinstance(answer, tuple) else answer
    if kind.endswith("some"):
        return [n for n in first or () if 0 <= n < size]
    if kind == "waitany":
        return [first] if 0 <= first < size else []
    if kind == "testany":
        return [first] if answer[1] and 0 <= first < size else []
    if kind in ("wait", "waitall"):
        return range(size)
    return range(size) if first is True else []


def _told(status: Any) -> Any:
    return [status_facts(each) for each in status] if isinstance(status, list) else status_facts(status)


def _tell(status: Any, told: Any) -> None:
    if isinstance(status, list):
        for each, found in zip(status, told, strict=False):
            fill_status(each, found)
    else:
        fill_status(status, told)


def recorded_request(base: Any, book: Callable[[], Book], bases: tuple[Any, ...] = ()) -> Any:
    """The library's request whose waits are written down; `bases` for a kind of request that is one, too."""
    methods: dict[str, Any] = {"_target": None, "_prepared": None}
    if hasattr(base, STANDS_FOR):
        methods[STANDS_FOR] = getattr(base, STANDS_FOR)
    for name in filter(partial(hasattr, base), _ONE):
        methods[name] = _one(name, getattr(base, name), book)
    for name in filter(partial(hasattr, base), _SEVERAL):
        methods[name] = classmethod(_several(name, getattr(base, name), book))
    if hasattr(base, "Start"):
        for name in OF_REQUEST:
            if hasattr(base, name):
                methods[name] = recorded_method(
                    "Prequest.", name, getattr(base, name), lambda _: At(book, 0, 1)
                )
        methods["Start"] = _starts(base.Start, book)
        methods["Startall"] = classmethod(_start_all)
    return type(base.__name__, (*bases, base), methods)


def _one(name: str, real: Any, book: Callable[[], Book]) -> Any:
    def method(self: Any, status: Any = None) -> Any:
        return wait(book(), name, (self,), status, lambda: real(self, status))

    method.__name__, method.__doc__ = name, real.__doc__
    return method


def _several(name: str, real: Any, book: Callable[[], Book]) -> Any:
    def method(cls: Any, requests: Any, statuses: Any = None) -> Any:
        return wait(book(), name, requests, statuses, lambda: real(requests, statuses))

    method.__name__, method.__doc__ = name, real.__doc__
    return method


def _starts(real: Any, book: Callable[[], Book]) -> Any:
    def method(self: Any) -> None:
        sent = b"" if self._prepared is None else self._prepared.digest()
        book().call(facts_of("Start"), sent, lambda: real(self))

    method.__name__, method.__doc__ = "Start", real.__doc__
    return method


def _start_all(cls: Any, requests: Sequence[Any]) -> None:
    """Start each."""
    for request in requests:
        request.Start()


def _replayed_one(name: str) -> Any:
    def method(self: Any, status: Any = None) -> Any:
        if self._book is None:  # REQUEST_NULL
            return True if name[0].isupper() else (True, None) if name == "test" else None
        return wait(self._book(), name, (self,), status, None)

    return method


def _replayed_several(name: str) -> Any:
    def method(cls: Any, requests: Any, statuses: Any = None) -> Any:
        return wait(current_book(), name, requests, statuses, None)

    return classmethod(method)


_Answers: Any = type(
    "_Answers",
    (),
    {name: _replayed_one(name) for name in _ONE} | {name: _replayed_several(name) for name in _SEVERAL},
)


class ReplayedRequest(_Answers):
    """A request of which only the record knows what became."""

    def __init__(self, book: Callable[[], Book] | None = None, target: Target | None = None) -> None:
        self._book, self._target = book, target
        self._prepared: Prepared | None = None
        self.is_done = book is None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ReplayedRequest):
            return self is other or (self.is_done and other.is_done)
        return NotImplemented

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return not self.is_done

    def Free(self) -> None:
        """Nothing to give back."""
        self.is_done = True

    free = Free

    def Cancel(self) -> None:
        """Nothing to end."""

    cancel = Cancel

    @classmethod
    def get_status_all(cls, requests: Sequence[Any], statuses: list[Any] | None = None) -> bool:
        """Whether all are done."""
        told = [None] * len(requests) if statuses is None else statuses
        return all(map(cls.get_status, requests, told))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotRecordedMember(f"MPI.Request.{name}")


class ReplayedPrequest(ReplayedRequest):
    """One that was prepared, and is started again and again."""

    def Start(self) -> None:
        """Begin what was prepared."""
        assert self._book is not None
        sent = b"" if self._prepared is None else self._prepared.digest()
        self._book().call(facts_of("Start"), sent, lambda: None)
        self.is_done = False

    Startall = classmethod(_start_all)

    def __getattr__(self, name: str) -> Any:
        if name in OF_REQUEST and self._book is not None:
            return lambda *_: record_result(At(self._book, 0, 1), f"Prequest.{name}", None)
        return super().__getattr__(name)
