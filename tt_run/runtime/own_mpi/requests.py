"""Waiting for what a program has started with mpi4py itself: messages and requests, until the guard's deadline."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tt_run.runtime import guard
from tt_run.runtime.comm.world import world
from tt_run.runtime.own_mpi.members import Members, is_main_thread
from tt_run.runtime.own_mpi.stand_in import stand_in

# Requests of a rank that gave them up: MPI still reads and writes their buffers.
_given_up: list[Any] = []
# What it is, who brings it about, and what the others mean by it, of a request that was not marked.
_UNKNOWN: tuple[str, tuple[int, ...], Any] = ("", (), None)


def await_done(done: Callable[[], bool], what: str, peers: Callable[[], tuple[int, ...]]) -> None:
    """Return when `done()`, which the ranks `peers()` bring about. Raises GuardError at the deadline, or when all of them are gone."""
    if guard.watches() and not done():
        (guard.until_message if is_main_thread() else guard.until_in_thread)(done, what, peers)
    elif guard.is_unmet() and is_main_thread():
        guard.until_unmet(done, what, peers)


def await_request(request: Any, what: str, peers: tuple[int, ...]) -> None:
    """Return when a request is complete; it keeps its buffer for as long as MPI uses that."""
    test = getattr(request, "Test", None) or (lambda: request.test()[0])
    try:
        await_done(test, what, lambda: peers)
    except guard.GuardError:
        _given_up.append(request)
        raise
    getattr(request, "Wait", request.wait)()


def watched_requests(mpi: Any) -> tuple[type, type]:
    """The classes of requests whose waits have a deadline. The library's own requests count as instances of them."""
    plain, persistent = mpi.Request, mpi.Prequest

    def waits(base: Any) -> dict[str, Any]:
        single = {name: _wait(name, getattr(base, name)) for name in ("Wait", "wait")}
        single |= {name: _test(name, getattr(base, name)) for name in ("Test", "test")}
        several: dict[str, Any] = {
            name: classmethod(_wait_for_several(name, getattr(base, name), enough))
            for enough, names in {all: ("Waitall", "waitall"), any: _ANY}.items()
            for name in names
        }
        return {**single, **several}

    return stand_in(plain, waits(plain)), stand_in(persistent, waits(persistent))


_ANY = ("Waitany", "waitany", "Waitsome", "waitsome")


def marked(request: Any, what: str, peers: tuple[int, ...], beside: Any = None) -> Any:
    """A request whose wait has a deadline, and can say whom it waits for; of a collective also what the others mean by it, `beside`."""
    mpi = sys.modules["mpi4py.MPI"]
    is_lasting = isinstance(request, mpi.Prequest)
    watched = (mpi.Prequest if is_lasting else mpi.Request)(request)
    watched._tt_run = (what, peers, beside)
    (guard.own_traffic.opened if is_lasting else guard.own_traffic.started)(watched)
    return watched


def _compare(requests: Iterable[Any]) -> None:
    """Raise GuardError where others mean something else by a collective that was started."""
    for request in requests:
        what, peers, beside = getattr(request, "_tt_run", _UNKNOWN)
        if beside is not None and beside.agrees():
            request._tt_run = (what, peers, None)


def peer_of(members: Members, rank: Any) -> tuple[int, ...]:
    """The world rank of a communicator's rank: all others for ANY_SOURCE, none for PROC_NULL or what the library refuses."""
    mpi = sys.modules["mpi4py.MPI"]
    if rank == mpi.ANY_SOURCE:
        return members.others
    return (members.order[rank],) if isinstance(rank, int) and 0 <= rank < len(members.order) else ()


def _wait(name: str, library: Any) -> Any:
    def call(self: Any, *words: Any, **named: Any) -> Any:
        _await_requests([self], all, name)
        return library(self, *words, **named)

    call.__name__ = name
    return call


def _test(name: str, library: Any) -> Any:
    def call(self: Any, *words: Any, **named: Any) -> Any:
        _compare([self])
        return library(self, *words, **named)

    call.__name__ = name
    return call


def _wait_for_several(name: str, library: Any, enough: Callable[[Iterable[bool]], bool]) -> Any:
    def call(cls: Any, requests: Sequence[Any], *words: Any, **named: Any) -> Any:
        _await_requests(requests, enough, name)
        return library(requests, *words, **named)

    call.__name__ = name
    return call


def _await_requests(requests: Sequence[Any], enough: Callable[[Iterable[bool]], bool], name: str) -> None:
    if not requests or not (guard.watches() or guard.is_unmet()):
        return
    told = [getattr(request, "_tt_run", _UNKNOWN) for request in requests]
    named = sorted({what for what, _, _ in told if what})
    everybody = tuple(rank for rank in range(world().size) if rank != world().rank)

    is_over = (
        sys.modules["mpi4py.MPI"]._tt_run_raw["Request"].Get_status
    )  # no book writes down what is asked here

    def peers() -> tuple[int, ...]:
        open_ = [
            (beside.missing() if beside is not None else ()) or of
            for (_, of, beside), each in zip(told, requests, strict=True)
            if not is_over(each)
        ]
        return tuple(sorted({rank for of in open_ for rank in of or everybody}))

    def done() -> bool:
        _compare(requests)
        return enough([bool(is_over(request)) for request in requests])

    try:
        await_done(done, f"MPI {name} of {', '.join(named) or 'requests'}", peers)
    except guard.GuardError:
        _given_up.extend(requests)
        raise
