"""Windows of memory that other ranks read and write (MPI.Win): what lies in a rank's own after each of its calls is in the record.

What others may change at any moment without a call of this rank (memory shared with it) cannot be recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt_run.runtime.own_mpi.stand_in import STANDS_FOR
from tt_run.runtime.record.mpi import crossing
from tt_run.runtime.record.mpi.buffers import Bytes, memory_of, sent_digest
from tt_run.runtime.record.mpi.calls import NotRecorded
from tt_run.runtime.record.mpi.crossing import At, Book, Target, current_book, noted
from tt_run.runtime.record.mpi.requests import ReplayedRequest

_FILLING = {
    "Get": 0,
    "Rget": 0,
    "Get_accumulate": 1,
    "Rget_accumulate": 1,
    "Fetch_and_op": 1,
    "Compare_and_swap": 2,
}
"""Calls that bring something, by the number of the word that says where to; it is there after the next call that completes it."""
_SENDING = ("Put", "Rput", "Accumulate", "Raccumulate")
_WAITING = (
    "Fence", "Lock", "Lock_all", "Unlock", "Unlock_all", "Flush", "Flush_all", "Flush_local", "Flush_local_all", "Sync", "Start",
    "Post", "Complete", "Wait", "Test",
)  # fmt: skip
_RECORDED = (*_FILLING, *_SENDING, *_WAITING)


class Open:
    """What one window has of this rank: its memory, and where values are still to come."""

    def __init__(self, own: Bytes | None, goes: bool = False) -> None:
        self.own, self._goes = own, goes
        """`goes`: the memory is the window's, and is gone with it."""
        self._coming: list[Bytes] = []
        crossing.exposed.append(self.memory)

    def memory(self) -> list[Bytes]:
        """All of it."""
        return [each for each in (self.own, *self._coming) if each is not None]

    def comes(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Values for the program's memory are on their way."""
        at = _FILLING.get(name)
        if at is None:
            return
        target = args[at] if len(args) > at else kwargs.get("result", kwargs.get("origin"))
        found = memory_of(target)
        if found is not None and all(found.ctypes.data != each.ctypes.data for each in self._coming):
            self._coming.append(found)

    def close(self, free: Callable[[], Any]) -> None:
        """Free the window: nobody writes into it any more."""
        if self._goes:
            self.own = None
        free()
        crossing.exposed.remove(self.memory)


def recorded_window(base: Any, at_of: Callable[[Any], At], request: Any) -> Any:
    """The library's window whose calls are written down. `at_of` says where calls on a communicator are made."""

    def made(name: str) -> Any:
        real = getattr(base, name)

        def maker(cls: Any, *args: Any, **kwargs: Any) -> Any:
            comm = kwargs.get("comm", args[3] if len(args) > 3 else None)
            kept: list[Any] = []

            def cross() -> None:
                window = real(*args, **kwargs)
                kept.append(cls(window))
                kept[0]._tt_run = window._tt_run  # whose window it is

            at = at_of(comm)
            noted(at, f"Win.{name}", cross)
            found = kept[0]
            found._at = at
            own = kwargs.get("memory", args[0] if args else None) if name == "Create" else found
            found._open = Open(memory_of(own), name != "Create")
            return found

        maker.__name__, maker.__doc__ = name, real.__doc__
        return classmethod(maker)

    methods: dict[str, Any] = {name: made(name) for name in ("Create", "Allocate")}
    methods[STANDS_FOR] = getattr(base, STANDS_FOR)
    for name in _RECORDED:
        methods[name] = _recorded(name, getattr(base, name), request)
    methods["Free"] = _freed(base.Free)
    return type("Win", (base,), methods)


def _recorded(name: str, real: Any, request: Any) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        self._open.comes(name, args, kwargs)
        started: list[Any] = []

        def cross() -> Any:
            found = real(self, *args, **kwargs)
            if name[0] != "R":
                return found
            started.append(request(found))
            return None

        found = noted(self._at, f"Win.{name}", cross, _sent(name, args, kwargs))
        return started[0] if started else found

    method.__name__, method.__doc__ = name, real.__doc__
    return method


def _freed(real: Any) -> Any:
    def Free(self: Any) -> None:
        """Free the window."""
        self._open.close(lambda: noted(self._at, "Win.Free", lambda: real(self)))

    return Free


def _sent(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    if name not in _SENDING:
        return b""
    return sent_digest("Put", {"buf": args[0] if args else kwargs.get("origin")}, 0)


class ReplayedWindow(bytearray):
    """A window of which only this rank's memory is there; that of `Allocate` is its own, so that NumPy finds it as in the library."""

    _at: At
    _open: Open
    _book: Callable[[], Book]

    @classmethod
    def Create(
        cls, memory: Any = None, disp_unit: int = 1, info: Any = None, comm: Any = None
    ) -> ReplayedWindow:
        """A window onto memory of the program."""
        return cls._made("Create", comm, memory)

    @classmethod
    def Allocate(
        cls, size: int = 0, disp_unit: int = 1, info: Any = None, comm: Any = None
    ) -> ReplayedWindow:
        """A window onto memory of its own."""
        return cls._made("Allocate", comm, None, size)

    @classmethod
    def _made(cls, name: str, comm: Any, memory: Any, size: int = 0) -> ReplayedWindow:
        found = cls(size)
        found._at = At(current_book, 0, 1) if comm is None else comm._at
        noted(found._at, f"Win.{name}", None)
        found._open = Open(memory_of(found if name == "Allocate" else memory), name == "Allocate")
        return found

    @classmethod
    def Allocate_shared(cls, *args: Any, **kwargs: Any) -> ReplayedWindow:
        """Raises NotRecorded: what others write into shared memory passes without a call."""
        raise NotRecorded("MPI.Win.Allocate_shared")

    @classmethod
    def Create_dynamic(cls, *args: Any, **kwargs: Any) -> ReplayedWindow:
        """Raises NotRecorded."""
        raise NotRecorded("MPI.Win.Create_dynamic")

    def tomemory(self) -> memoryview:
        """The window's memory."""
        found = self._open.own
        return memoryview(b"") if found is None else found.data

    memory = property(tomemory)

    def Free(self) -> None:
        """Free the window."""
        self._open.close(lambda: noted(self._at, "Win.Free", None))

    def __getattr__(self, name: str) -> Any:
        if name in _RECORDED:
            return lambda *args, **kwargs: self._answer(name, args, kwargs)
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotRecorded(f"MPI.Win.{name}")

    def _answer(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._open.comes(name, args, kwargs)
        found = noted(self._at, f"Win.{name}", None, _sent(name, args, kwargs))
        return ReplayedRequest(self._at.book, Target(None)) if name[0] == "R" else found

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)
