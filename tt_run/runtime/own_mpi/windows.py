"""Windows of a program's own mpi4py: their ranks agree on making one, on fences and on its end. Locks go to the library as they are."""

from __future__ import annotations

import sys
from typing import Any

from tt_run.runtime.own_mpi.calls import word
from tt_run.runtime.own_mpi.communicators import meet
from tt_run.runtime.own_mpi.members import Members, is_watched, members_of

# Where the communicator stands.
_MAKERS = {"Create": 3, "Allocate": 3, "Allocate_shared": 3, "Create_dynamic": 1}


def watched_windows(mpi: Any) -> type:
    """The class of windows whose collective calls are agreed on. The library's own windows count as instances of it."""
    library = mpi.Win

    class Kind(type):
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, library)

    names: dict[str, Any] = {
        name: _maker(name, place, getattr(library, name)) for name, place in _MAKERS.items()
    }
    names |= {name: _together(name, getattr(library, name)) for name in ("Fence", "Free")}
    return Kind("Win", (library,), {**names, "__module__": library.__module__})


def _maker(name: str, place: int, library: Any) -> Any:
    def call(cls: Any, *words: Any, **named: Any) -> Any:
        comm = word(words, named, place, ("comm",), sys.modules["mpi4py.MPI"].COMM_SELF)
        if is_watched():
            meet(members_of(comm), f"MPI Win.{name}", depth=2)
        window = cls(library(*words, **named))
        window._tt_run = members_of(comm)
        return window

    call.__name__ = name
    return classmethod(call)


def _together(name: str, library: Any) -> Any:
    def call(self: Any, *words: Any, **named: Any) -> Any:
        members: Members | None = getattr(self, "_tt_run", None)
        if members is not None and is_watched():
            meet(members, f"MPI Win.{name}", depth=2)
        return library(self, *words, **named)

    call.__name__ = name
    return call
