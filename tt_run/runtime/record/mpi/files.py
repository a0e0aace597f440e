"""Files of MPI (MPI.File): what was read of them, and what they said of themselves, is in the record. A replay writes none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from tt_run.runtime.own_mpi.stand_in import STANDS_FOR
from tt_run.runtime.record.mpi.calls import NotRecordedMember, Words
from tt_run.runtime.record.mpi.crossing import At, current_book, record_call, record_result
from tt_run.runtime.record.mpi.failures import ReplayedError
from tt_run.runtime.record.mpi.library_queries import words_of
from tt_run.runtime.record.mpi.local import Info
from tt_run.runtime.record.mpi.requests import ReplayedRequest, start

_AT, _HERE = ("offset", "buf", "status"), ("buf", "status")
_MOVES: Mapping[str, Words] = {
    f"{verb}{how}": _AT if how.startswith("_at") else _HERE
    for verb in ("Read", "Write")
    for how in ("", "_all", "_at", "_at_all", "_shared", "_ordered", "_all_end", "_at_all_end", "_ordered_end")
} | dict.fromkeys(
    (f"{verb}{how}_end" for verb in ("Read", "Write") for how in ("_all", "_at_all", "_ordered")), _HERE
)  # fmt: skip
"""Calls that are over when they return. What an `_end` names was filled since its `_begin`."""
_STARTED: Mapping[str, Words] = {
    f"I{verb}{how}": _AT[:2] if how.startswith("_at") else _HERE[:1]
    for verb in ("read", "write")
    for how in ("", "_all", "_at", "_at_all", "_shared")
}
_PLAIN = (
    "Get_size", "Get_position", "Get_position_shared", "Get_byte_offset", "Get_amode", "Get_atomicity", "Seek", "Seek_shared",
    "Set_size", "Set_view", "Set_atomicity", "Preallocate", "Sync", "Close",
    *(f"{verb}{how}_begin" for verb in ("Read", "Write") for how in ("_all", "_at_all", "_ordered")),
)  # fmt: skip
"""Calls whose plain result is all that a replay has to know."""
_NO_FILE = 30  # MPI_ERR_FILE
_PROPERTIES = {"size": "Get_size", "amode": "Get_amode", "atomicity": "Get_atomicity"}


def recorded_file(base: Any, at_of: Callable[[Any], At], request: Any) -> Any:
    """The library's file whose calls are written down. `at_of` says where calls on a communicator are made."""

    def Open(cls: Any, comm: Any, *args: Any, **kwargs: Any) -> Any:
        """Open a file."""
        kept: list[Any] = []

        def cross() -> None:
            file = base.Open(comm, *args, **kwargs)
            kept.append(cls(file))
            kept[0]._tt_run = file._tt_run  # whose file it is

        at = at_of(comm)
        record_result(at, "File.Open", cross)
        kept[0]._at = at
        return kept[0]

    def Delete(filename: Any, *args: Any, **kwargs: Any) -> None:
        """Delete a file."""
        record_result(at_of(None), "File.Delete", lambda: base.Delete(filename, *args, **kwargs))

    methods: dict[str, Any] = {
        "Open": classmethod(Open),
        "Delete": classmethod(lambda _, *args, **kwargs: Delete(*args, **kwargs)),
        "Get_info": words_of("File.", "Get_info", base.Get_info, lambda file: file._at),
        STANDS_FOR: getattr(base, STANDS_FOR),
    }
    methods["info"] = property(methods["Get_info"])
    for table, made in ((_MOVES, _moving), (_STARTED, _starting), (dict.fromkeys(_PLAIN, ()), _plain)):
        for name, words in table.items():
            if hasattr(base, name):
                method = made(name, words, getattr(base, name), request)
                method.__name__, method.__doc__ = name, getattr(base, name).__doc__
                methods[name] = method
    return type("File", (base,), methods)


def _moving(name: str, words: Words, real: Any, request: Any) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return record_call(self._at, f"File.{name}", words, lambda *a, **k: real(self, *a, **k), args, kwargs)

    return method


def _starting(name: str, words: Words, real: Any, request: Any) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        made, target = start(
            self._at, f"File.{name}", words, lambda *a, **k: real(self, *a, **k), args, kwargs
        )
        found = request(made)
        found._target = target
        return found

    return method


def _plain(name: str, words: Words, real: Any, request: Any) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return record_result(self._at, f"File.{name}", lambda: real(self, *args, **kwargs))

    return method


class ReplayedFile:
    """A file of which only the record knows."""

    def __init__(self, at: At | None = None, comm: Any = None) -> None:
        self._at, self._comm = at, comm
        self._view: tuple[Any, ...] = ()

    @classmethod
    def Open(cls, comm: Any, filename: Any = None, amode: int = 0, info: Any = None) -> ReplayedFile:
        """Open a file: nothing is looked for on the disk."""
        at = At(current_book, 0, 1) if comm is None else comm._at
        record_result(at, "File.Open", None)
        return cls(at, comm)

    @classmethod
    def Delete(cls, filename: Any, info: Any = None) -> None:
        """Delete a file: it stays as it is."""
        record_result(At(current_book, 0, 1), "File.Delete", None)

    def __bool__(self) -> bool:
        return self._at is not None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ReplayedFile):
            return self is other or (self._at is None and other._at is None)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as the library's have none

    def Set_view(
        self, disp: int = 0, etype: Any = None, filetype: Any = None, datarep: Any = None, info: Any = None
    ) -> None:
        """See this part of the file."""
        record_result(self._open, "File.Set_view", None)
        self._view = disp, etype, filetype or etype, datarep or "native"

    def Get_view(self) -> tuple[Any, ...]:
        """What it sees."""
        byte = sys.modules["mpi4py.MPI"].BYTE
        disp, etype, filetype, datarep = self._view or (0, byte, byte, "native")
        return disp, etype or byte, filetype or byte, datarep

    def Get_group(self) -> Any:
        """The ranks that have it open."""
        return (self._comm or sys.modules["mpi4py.MPI"].COMM_SELF).Get_group()

    def Get_type_extent(self, datatype: Any) -> int:
        """How far elements lie apart."""
        return int(datatype.Get_extent()[1])

    def Get_info(self) -> Info:
        """Words for the library."""
        return Info(record_result(self._open, "File.Get_info", None))

    group, info = property(Get_group), property(Get_info)

    @property
    def _open(self) -> At:
        if self._at is None:
            raise ReplayedError(_NO_FILE, "MPI_ERR_FILE: invalid file")
        return self._at

    def Set_errhandler(self, errhandler: Any) -> None:
        """Nothing can fail but what has failed."""

    def __getattr__(self, name: str) -> Any:
        at = self.__dict__.get("_at")
        if name.startswith("_") or at is None:
            raise AttributeError(name)
        if name in _PROPERTIES:
            return record_result(at, f"File.{_PROPERTIES[name]}", None)
        if name in _MOVES:
            return lambda *args, **kwargs: record_call(at, f"File.{name}", _MOVES[name], None, args, kwargs)
        if name in _STARTED:
            return lambda *args, **kwargs: self._started(at, name, args, kwargs)
        if name in _PLAIN:
            return lambda *args, **kwargs: self._noted(at, name)
        raise NotRecordedMember(f"MPI.File.{name}")

    def _started(self, at: At, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ReplayedRequest:
        _, target = start(at, f"File.{name}", _STARTED[name], None, args, kwargs)
        return ReplayedRequest(at.book, target)

    def _noted(self, at: At, name: str) -> Any:
        found = record_result(at, f"File.{name}", None)
        if name == "Close":
            self._at = None
        return found
