"""Windows of a program's own mpi4py: their ranks agree on making one, on fences and on its end. What one rank does in it alone is named."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from tt_run.runtime import guard
from tt_run.runtime.own_mpi.calls import word
from tt_run.runtime.own_mpi.communicators import meet
from tt_run.runtime.own_mpi.members import Members, members_of
from tt_run.runtime.own_mpi.requests import await_done
from tt_run.runtime.own_mpi.stand_in import stand_in

# Where the communicator stands.
_MAKERS = {"Create": 3, "Allocate": 3, "Allocate_shared": 3, "Create_dynamic": 1}
_TOGETHER = ("Fence", "Free")
# They may wait for another rank inside of the library, which cannot be called off: the report says where the rank is.
_ALONE = (
    *("Lock", "Lock_all", "Unlock", "Unlock_all", "Flush", "Flush_all", "Flush_local", "Flush_local_all"),
    *("Post", "Start", "Complete"),
)
# Its ranks all make each of their windows, in one order: so they number them alike.
_made: Counter[tuple[int, ...]] = Counter()


def watched_windows(mpi: Any) -> type:
    """The class of windows whose collective calls are agreed on. The library's own windows count as instances of it."""
    library = mpi.Win

    names: dict[str, Any] = {
        name: _maker(name, place, getattr(library, name)) for name, place in _MAKERS.items()
    }
    names |= {name: _together(name, getattr(library, name)) for name in _TOGETHER}
    names |= {name: _alone(name, getattr(library, name)) for name in _ALONE}
    names["Wait"] = _waiting(library.Wait, library.Test)
    return stand_in(library, names)


def _maker(name: str, place: int, library: Any) -> Any:
    def call(cls: Any, *words: Any, **named: Any) -> Any:
        comm = word(words, named, place, ("comm",), sys.modules["mpi4py.MPI"].COMM_SELF)
        members = members_of(comm)
        meet(members, f"MPI Win.{name}", "", comm)
        window = cls(library(*words, **named))
        _made[members.ranks] += 1
        window._tt_run = members, _made[members.ranks]
        guard.own_traffic.opened(window)
        return window

    call.__name__ = name
    return classmethod(call)


def _together(name: str, library: Any) -> Any:
    def call(self: Any, *words: Any, **named: Any) -> Any:
        known: tuple[Members, int] | None = getattr(self, "_tt_run", None)
        if known is not None and guard.watches():
            meet(known[0], f"MPI Win.{name}", f"window {known[1]}")
        return library(self, *words, **named)

    call.__name__ = name
    return call


def _alone(name: str, library: Any) -> Any:
    def call(self: Any, *words: Any, **named: Any) -> Any:
        known: tuple[Members, int] | None = getattr(self, "_tt_run", None)
        if known is None:
            return library(self, *words, **named)
        members, rank = known[0], named.get("rank", words[0] if words else None)
        target = members.order[rank : rank + 1] if isinstance(rank, int) and rank >= 0 else ()
        said = f"rank {rank}" if target else ""
        return guard.inside(
            lambda: library(self, *words, **named), f"MPI Win.{name}", said, target or members.others
        )

    call.__name__ = name
    return call


def _waiting(library: Any, test: Any) -> Any:
    def Wait(self: Any) -> Any:
        known: tuple[Members, int] | None = getattr(self, "_tt_run", None)
        if known is None or not guard.watches():
            return library(self)
        await_done(lambda: bool(test(self)), "MPI Win.Wait()", lambda: known[0].others)
        return True

    return Wait
