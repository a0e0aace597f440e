"""Windows of memory that other ranks read and write (MPI.Win): what lies in a rank's own after each of its calls is in the record.

Memory that ranks share changes without a call of this rank: what lies there after each of its calls is what it may rely on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tt_run.runtime.own_mpi.stand_in import STANDS_FOR
from tt_run.runtime.record.mpi import crossing
from tt_run.runtime.record.mpi.buffers import Bytes, memory_of, sent_digest
from tt_run.runtime.record.mpi.calls import NotRecordedMember
from tt_run.runtime.record.mpi.crossing import At, Target, current_book, record_result
from tt_run.runtime.record.mpi.failures import ReplayedError
from tt_run.runtime.record.mpi.library_queries import OF_WINDOW, recorded_method, words_of
from tt_run.runtime.record.mpi.local import Info
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
_NO_WINDOW = 45  # MPI_ERR_WIN


def _attributes(window: Any) -> tuple[int, int, int]:
    """Address, size and unit; the address is that of the run."""
    mpi = sys.modules["mpi4py.MPI"]
    return tuple(window.Get_attr(word) for word in (mpi.WIN_BASE, mpi.WIN_SIZE, mpi.WIN_DISP_UNIT))


_PROPERTIES = {
    "attrs": property(_attributes),
    "flavor": property(lambda window: window.Get_attr(sys.modules["mpi4py.MPI"].WIN_CREATE_FLAVOR)),
    "name": property(lambda window: window.Get_name(), lambda window, name: window.Set_name(name)),
    "model": property(lambda window: window.Get_attr(sys.modules["mpi4py.MPI"].WIN_MODEL)),
}


class Open:
    """What one window has of this rank: its memory, and where values are still to come."""

    def __init__(self, own: Bytes | None, goes: bool = False, others: Sequence[Bytes] = ()) -> None:
        self.own, self._goes, self.others = own, goes, list(others)
        """`goes`: the memory is the window's, and is gone with it; `others` is that of the ranks which share theirs with this one."""
        self._coming: list[Bytes] = []
        crossing.exposed.append(self.memory)

    def memory(self) -> list[Bytes]:
        """All of it."""
        return [each for each in (self.own, *self.others, *self._coming) if each is not None]

    def comes(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Values for the program's memory are on their way."""
        at = _FILLING.get(name)
        if at is None:
            return
        target = args[at] if len(args) > at else kwargs.get("result", kwargs.get("origin"))
        found = memory_of(target)
        if found is not None and all(found.ctypes.data != each.ctypes.data for each in self._coming):
            self._coming.append(found)

    def attach(self, memory: Any) -> None:
        """Others reach this memory, too."""
        found = memory_of(memory)
        if found is not None:
            self.others.append(found)

    def detach(self, memory: Any) -> None:
        """They no longer do."""
        found = memory_of(memory)
        if found is not None:
            self.others = [each for each in self.others if each.ctypes.data != found.ctypes.data]

    def close(self, free: Callable[[], Any]) -> None:
        """Free the window: nobody writes into it any more."""
        if self._goes:
            self.own, self.others = None, []
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
            record_result(at, f"Win.{name}", cross)
            found = kept[0]
            found._at = at
            own = kwargs.get("memory", args[0] if args else None) if name == "Create" else found
            found._open = Open(memory_of(own), name != "Create")
            return found

        maker.__name__, maker.__doc__ = name, real.__doc__
        return classmethod(maker)

    methods: dict[str, Any] = {name: made(name) for name in ("Create", "Allocate")}
    methods["Allocate_shared"] = classmethod(_sharing(base, at_of))
    methods["Create_dynamic"] = classmethod(_dynamic(base, at_of))
    methods["Attach"], methods["Detach"] = _attaching(base.Attach), _detaching(base.Detach)
    for name in OF_WINDOW:
        methods[name] = recorded_method("Win.", name, getattr(base, name), _where)
    methods["Get_info"] = words_of("Win.", "Get_info", base.Get_info, _where)
    methods["info"] = property(methods["Get_info"])
    methods |= _PROPERTIES
    methods[STANDS_FOR] = getattr(base, STANDS_FOR)
    for name in _RECORDED:
        methods[name] = _recorded(name, getattr(base, name), request)
    methods["Free"] = _freed(base.Free)
    return type("Win", (base,), methods)


def _sharing(base: Any, at_of: Callable[[Any], At]) -> Any:
    def Allocate_shared(cls: Any, *args: Any, **kwargs: Any) -> Any:
        """A window onto memory that all ranks of a communicator share."""
        comm = kwargs.get("comm", args[3] if len(args) > 3 else None)
        kept: list[Any] = []

        def cross() -> list[tuple[int, int]]:
            window = base.Allocate_shared(*args, **kwargs)
            kept.append(cls(window))
            kept[0]._tt_run = window._tt_run
            found = [window.Shared_query(rank) for rank in range(comm.Get_size() if comm is not None else 1)]
            kept.append([memory_of(memory) for memory, _ in found])
            return [(memoryview(memory).nbytes, int(unit)) for memory, unit in found]

        at = at_of(comm)
        record_result(at, "Win.Allocate_shared", cross)
        found, parts = kept
        found._at = at
        found._open = Open(None, True, [part for part in parts if part is not None])
        return found

    return Allocate_shared


def _where(window: Any) -> At:
    found: At = window._at
    return found


def _dynamic(base: Any, at_of: Callable[[Any], At]) -> Any:
    def Create_dynamic(cls: Any, *args: Any, **kwargs: Any) -> Any:
        """A window to which memory is attached later."""
        comm = kwargs.get("comm", args[1] if len(args) > 1 else None)
        kept: list[Any] = []

        def cross() -> None:
            window = base.Create_dynamic(*args, **kwargs)
            kept.append(cls(window))
            kept[0]._tt_run = window._tt_run

        at = at_of(comm)
        record_result(at, "Win.Create_dynamic", cross)
        found = kept[0]
        found._at, found._open = at, Open(None)
        return found

    return Create_dynamic


def _attaching(real: Any) -> Any:
    def Attach(self: Any, memory: Any) -> None:
        """Let others reach memory of the program."""
        if getattr(self, "_open", None) is not None:
            self._open.attach(memory)
        real(self, memory)

    return Attach


def _detaching(real: Any) -> Any:
    def Detach(self: Any, memory: Any) -> None:
        """Let them reach it no longer."""
        if getattr(self, "_open", None) is not None:
            self._open.detach(memory)
        real(self, memory)

    return Detach


def _recorded(name: str, real: Any, request: Any) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(self, "_open", None) is None:  # a window that is not recorded, as making it has said
            return real(self, *args, **kwargs)
        self._open.comes(name, args, kwargs)
        started: list[Any] = []

        def cross() -> Any:
            found = real(self, *args, **kwargs)
            if name[0] != "R":
                return found
            started.append(request(found))
            return None

        found = record_result(self._at, f"Win.{name}", cross, _sent(name, args, kwargs))
        return started[0] if started else found

    method.__name__, method.__doc__ = name, real.__doc__
    return method


def _freed(real: Any) -> Any:
    def Free(self: Any) -> None:
        """Free the window."""
        if getattr(self, "_open", None) is None:
            real(self)
            return
        self._open.close(lambda: record_result(self._at, "Win.Free", lambda: real(self)))

    return Free


def _sent(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    if name not in _SENDING:
        return b""
    return sent_digest("Put", {"buf": args[0] if args else kwargs.get("origin")}, 0)


class ReplayedWindow(bytearray):
    """A window of which only this rank's memory is there; that of `Allocate` is its own, so that NumPy finds it as in the library."""

    _at: At
    _open: Open | None = None
    _comm: Any = None
    _parts: Sequence[tuple[Bytes, int]] = ()

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
        found._is_of(comm)
        record_result(found._at, f"Win.{name}", None)
        found._open = Open(memory_of(found if name == "Allocate" else memory), name == "Allocate")
        return found

    @classmethod
    def Allocate_shared(
        cls, size: int = 0, disp_unit: int = 1, info: Any = None, comm: Any = None
    ) -> ReplayedWindow:
        """A window onto memory that all ranks share, one part after the other."""
        found = cls()
        found._is_of(comm)
        sizes = record_result(found._at, "Win.Allocate_shared", None)
        parts, at = [], 0
        whole = np.zeros(sum(length for length, _ in sizes), np.uint8)
        for length, unit in sizes:
            parts.append((whole[at : at + length], unit))
            at += length
        found._parts = parts
        found._open = Open(None, True, [part for part, _ in parts])
        return found

    def Shared_query(self, rank: int) -> tuple[memoryview, int]:
        """A rank's part of the memory and its unit; of PROC_NULL the first that is not empty."""
        given = [part for part in self._parts if len(part[0])] or self._parts
        part, unit = self._parts[rank] if rank >= 0 else given[0]
        return part.data, unit

    @classmethod
    def Create_dynamic(cls, info: Any = None, comm: Any = None) -> ReplayedWindow:
        """A window to which memory is attached later."""
        found = cls()
        found._is_of(comm)
        record_result(found._at, "Win.Create_dynamic", None)
        found._open = Open(None)
        return found

    def _is_of(self, comm: Any) -> None:
        self._comm = comm
        self._at = At(current_book, 0, 1) if comm is None else comm._at

    @property
    def _opened(self) -> Open:
        if self._open is None:
            raise ReplayedError(_NO_WINDOW, "MPI_ERR_WIN: invalid window")
        return self._open

    def Attach(self, memory: Any) -> None:
        """Let others reach memory of the program."""
        self._opened.attach(memory)

    def Detach(self, memory: Any) -> None:
        """Let them reach it no longer."""
        self._opened.detach(memory)

    def Get_group(self) -> Any:
        """The ranks that have it."""
        return (self._comm or sys.modules["mpi4py.MPI"].COMM_SELF).Get_group()

    group = property(Get_group)

    def Set_name(self, name: str) -> None:
        """Call it so: the record knows."""

    def Get_info(self) -> Info:
        """Words for the library."""
        return Info(record_result(self._at, "Win.Get_info", None))

    info = property(Get_info)

    attrs, flavor, name, model = _PROPERTIES.values()

    def Set_errhandler(self, errhandler: Any) -> None:
        """Nothing can fail but what has failed."""

    def __bool__(self) -> bool:
        return self._open is not None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ReplayedWindow):
            return self is other or (self._open is None and other._open is None)
        return NotImplemented

    def tomemory(self) -> memoryview:
        """The window's memory."""
        found = self._parts[self._at.rank][0] if self._parts else self._opened.own
        return memoryview(b"") if found is None else found.data

    memory = property(tomemory)

    def Free(self) -> None:
        """Free the window."""
        self._opened.close(lambda: record_result(self._at, "Win.Free", None))
        self._open = None

    def __getattr__(self, name: str) -> Any:
        if name in _RECORDED:
            return lambda *args, **kwargs: self._answer(name, args, kwargs)
        if name in OF_WINDOW:
            return lambda *args, **kwargs: record_result(self._at, f"Win.{name}", None)
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotRecordedMember(f"MPI.Win.{name}")

    def _answer(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._opened.comes(name, args, kwargs)
        found = record_result(self._at, f"Win.{name}", None, _sent(name, args, kwargs))
        return ReplayedRequest(self._at.book, Target(None)) if name[0] == "R" else found

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)
