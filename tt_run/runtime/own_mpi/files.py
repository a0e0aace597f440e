"""Files of a program's own MPI: their ranks agree on opening one, on reading and writing it together, and on its end."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from tt_run.runtime import guard
from tt_run.runtime.own_mpi.calls import word
from tt_run.runtime.own_mpi.communicators import meet
from tt_run.runtime.own_mpi.members import Members, members_of
from tt_run.runtime.own_mpi.stand_in import stand_in

_TOGETHER = (
    *("Close", "Set_size", "Preallocate", "Set_info", "Set_view", "Set_atomicity", "Sync", "Seek_shared"),
    *("Read_all", "Read_at_all", "Read_ordered", "Write_all", "Write_at_all", "Write_ordered"),
    *("Read_all_begin", "Read_at_all_begin", "Read_ordered_begin", "Write_all_begin", "Write_at_all_begin"),
    *("Write_ordered_begin", "Read_all_end", "Read_at_all_end", "Read_ordered_end", "Write_all_end"),
    *("Write_at_all_end", "Write_ordered_end", "Iread_all", "Iread_at_all", "Iwrite_all", "Iwrite_at_all"),
)
# Its ranks all open each of their files, in one order: so they number them alike.
_opened: Counter[tuple[int, ...]] = Counter()


def watched_files(mpi: Any) -> type:
    """The class of files whose collective calls are agreed on. The library's own files count as instances of it."""
    library = mpi.File

    def Open(cls: Any, *words: Any, **named: Any) -> Any:
        comm = word(words, named, 0, ("comm",), sys.modules["mpi4py.MPI"].COMM_SELF)
        members = members_of(comm)
        meet(members, "MPI File.Open", "", comm)
        file = cls(library.Open(*words, **named))
        _opened[members.ranks] += 1
        file._tt_run = members, _opened[members.ranks]
        return file

    names: dict[str, Any] = {name: _together(name, getattr(library, name)) for name in _TOGETHER}
    return stand_in(library, {**names, "Open": classmethod(Open)})


def _together(name: str, library: Any) -> Any:
    def call(self: Any, *words: Any, **named: Any) -> Any:
        known: tuple[Members, int] | None = getattr(self, "_tt_run", None)
        if known is not None and guard.watches():
            meet(known[0], f"MPI File.{name}", f"file {known[1]}")
        return library(self, *words, **named)

    call.__name__ = name
    return call
