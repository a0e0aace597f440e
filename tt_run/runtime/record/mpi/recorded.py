"""A loaded `mpi4py.MPI` whose communicators, requests, messages and windows write down what passes through them.

`MPI.COMM_WORLD` of a recorded rank is a communicator like any other. What is not recorded works as ever, and is told once. What is written down
are the watched calls of `own_mpi`: the ranks of a recorded run agree, and wait with a deadline, as those of any run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tt_run.runtime.own_mpi import watched_library
from tt_run.runtime.record.facts import site
from tt_run.runtime.record.mpi.calls import BUFFERS, MAKERS, MESSAGES, OBJECTS, PREPARED, STARTED, named
from tt_run.runtime.record.mpi.crossing import At, Book, noted, said, through
from tt_run.runtime.record.mpi.requests import Prepared, recorded_request, start
from tt_run.runtime.record.mpi.windows import recorded_window
from tt_run.runtime.record.recording import Recording

_UNRECORDED_CALLS = (
    "Accept", "Connect", "Spawn", "Spawn_multiple", "Create_intercomm", "Create_graph", "Create_dist_graph", "Create_dist_graph_adjacent",
    "Join", "Idup", "Psend_init", "Precv_init", "Isendrecv_replace", "Agree", "Shrink",
)  # fmt: skip
_REPLACED = (
    "COMM_WORLD", "COMM_SELF", "Intracomm", "Cartcomm", "Request", "Prequest", "Message", "Win", "File", "Session"
)  # fmt: skip
_UNRECORDED = {"Win": ("Allocate_shared", "Create_dynamic"), "File": ("Open",), "Session": ("Init",)}


def recorded_module(module: ModuleType, book: Callable[[], Book]) -> None:
    """Let the programs that use a loaded `mpi4py.MPI` find communicators whose calls are written down."""
    mpi: Any = module
    raw = {name: getattr(mpi, name) for name in _REPLACED if hasattr(mpi, name)}
    mpi._tt_run_raw = raw
    _Recorder(mpi, book).put_on()
    mpi.Wtime = time.perf_counter  # a clock as any other
    found = book()
    if isinstance(found, Recording):
        found.library(_constants(mpi, raw["COMM_WORLD"]))


def _constants(mpi: Any, world: Any) -> dict[str, Any]:
    """What the names of this library mean: numbers, and bytes of datatypes."""
    numbers = {n: int(v) for n, v in vars(mpi).items() if isinstance(v, int) and n.isupper()}
    sizes = {}
    for name, value in vars(mpi).items():
        if isinstance(value, mpi.Datatype) and value != mpi.DATATYPE_NULL:
            sizes[name] = (value.Get_size(), value.Get_extent()[1], value.Get_name().removeprefix("MPI_"))
    return {
        "numbers": numbers,
        "sizes": sizes,
        "version": mpi.Get_version(),
        "library": mpi.Get_library_version(),
        "processor": mpi.Get_processor_name(),
        "threads": mpi.Query_thread(),
        "tick": mpi.Wtick(),
        "tag_ub": world.Get_attr(mpi.TAG_UB),
    }


class _Recorder:
    """The classes that are put over those of one library."""

    def __init__(self, mpi: Any, book: Callable[[], Book]) -> None:
        self._mpi, self._book = mpi, book
        self._watched = watched_library(mpi)
        self._request = recorded_request(self._watched.Request, book)
        self._prequest = recorded_request(self._watched.Prequest, book, (self._request,))
        self._message = self._recorded_message(mpi.Message)
        methods = self._methods(self._watched.communicators[mpi.Cartcomm])
        self._intra = type(
            "Intracomm", (mpi.Intracomm,), {n: m for n, m in methods.items() if hasattr(mpi.Intracomm, n)}
        )
        self._cart = type("Cartcomm", (mpi.Cartcomm,), methods)

    def put_on(self) -> None:
        """Let programs find them under the library's names."""
        mpi = self._mpi
        mpi.Win = recorded_window(self._watched.Win, self._at, self._request)
        mpi.Request, mpi.Prequest, mpi.Message = self._request, self._prequest, self._message
        mpi.COMM_WORLD, mpi.COMM_SELF = self._intra(mpi.COMM_WORLD), self._intra(mpi.COMM_SELF)
        mpi.Intracomm, mpi.Cartcomm = self._intra, self._cart
        for kind, names in _UNRECORDED.items():
            if hasattr(mpi, kind):
                base = getattr(mpi, kind)
                told = {n: _told(f"MPI.{kind}.{n}", getattr(base, n)) for n in names if hasattr(base, n)}
                setattr(mpi, kind, type(kind, (base,), told))
        for kind in (mpi.Win, mpi.Request, mpi.Prequest, mpi.Message, mpi.Intracomm, mpi.Cartcomm):
            kind.__module__ = mpi.__name__  # programs print it

    def _at(self, comm: Any) -> At:
        return At(self._book, 0, 1) if comm is None else At(self._book, comm.Get_rank(), comm.Get_size())

    def _methods(self, base: Any) -> dict[str, Any]:
        found: dict[str, Any] = {"Free": base.Free}
        for name, words in {**OBJECTS, **BUFFERS}.items():
            found[name] = self._call(name, words, getattr(base, name))
        for name, words in STARTED.items():
            if hasattr(base, name):
                found[name] = self._start(name, words, getattr(base, name), self._request)
        for name, words in PREPARED.items():
            if hasattr(base, name):
                found[name] = self._start(name, words, getattr(base, name), self._prequest)
        for name in MAKERS:
            found[name] = self._maker(name, getattr(base, name))
        for name in MESSAGES:
            found[name] = self._finder(name, getattr(base, name))
        for name in _UNRECORDED_CALLS:
            if hasattr(base, name):
                found[name] = _told(f"MPI.Comm.{name}", getattr(base, name))
        return found

    def _call(self, name: str, words: tuple[str, ...], real: Any) -> Any:
        def method(comm: Any, *args: Any, **kwargs: Any) -> Any:
            return through(self._at(comm), name, words, lambda *a, **k: real(comm, *a, **k), args, kwargs)

        return _named_as(method, name, real)

    def _start(self, name: str, words: tuple[str, ...], real: Any, kind: Any) -> Any:
        def method(comm: Any, *args: Any, **kwargs: Any) -> Any:
            if self._book().inside:
                return real(comm, *args, **kwargs)
            at = self._at(comm)
            made, target = start(at, name, words, lambda *a, **k: real(comm, *a, **k), args, kwargs)
            found = kind(made)
            if (waits := getattr(made, "_tt_run", None)) is not None:
                found._tt_run = waits
            found._target = target
            found._prepared = Prepared(at, name, named(words, args, kwargs))
            return found

        return _named_as(method, name, real)

    def _maker(self, name: str, real: Any) -> Any:
        mpi = self._mpi

        def method(comm: Any, *args: Any, **kwargs: Any) -> Any:
            kept: list[Any] = []

            def cross() -> Any:
                made = real(comm, *args, **kwargs)
                if made == mpi.COMM_NULL:
                    kept.append(made)
                    return None
                kept.append(
                    (self._cart if isinstance(made, mpi._tt_run_raw["Cartcomm"]) else self._intra)(made)
                )
                return _members(mpi, made)

            noted(self._at(comm), name, cross)
            return kept[0]

        return _named_as(method, name, real)

    def _finder(self, name: str, real: Any) -> Any:
        def method(comm: Any, *args: Any, **kwargs: Any) -> Any:
            kept: list[Any] = []
            status = named(("source", "tag", "status"), args, kwargs).get("status")

            def cross() -> Any:
                found = real(comm, *args, **kwargs)
                kept.append(None if found is None else self._message(found))
                return found is not None, said(status)

            noted(self._at(comm), name, cross)
            return kept[0]

        return _named_as(method, name, real)

    def _recorded_message(self, base: Any) -> Any:
        at = At(self._book, 0, 1)
        methods: dict[str, Any] = {}
        for name in ("recv", "Recv"):
            real = getattr(base, name)
            words = ("buf", "status") if name == "Recv" else ("status",)

            def method(
                message: Any,
                *args: Any,
                _name: str = name,
                _words: Any = words,
                _real: Any = real,
                **kwargs: Any,
            ) -> Any:
                return through(at, _name, _words, lambda *a, **k: _real(message, *a, **k), args, kwargs)

            methods[name] = _named_as(method, name, real)
        for name in ("irecv", "Irecv"):
            methods[name] = _told(f"MPI.Message.{name}", getattr(base, name))
        return type("Message", (base,), methods)


def _members(mpi: Any, comm: Any) -> tuple[Any, ...]:
    """What a replay knows of a communicator: this rank's place, the job's ranks in it, and its grid."""
    group = comm.Get_group()
    ranks = group.Translate_ranks(None, mpi._tt_run_raw["COMM_WORLD"].Get_group())
    grid = comm.Get_topo()[:2] if isinstance(comm, mpi._tt_run_raw["Cartcomm"]) else None
    return comm.Get_rank(), list(ranks), grid


def _named_as(method: Any, name: str, real: Any) -> Any:
    method.__name__, method.__doc__ = name, real.__doc__
    return method


_once: set[str] = set()


def tell_unrecorded(name: str) -> None:
    """Say, once, that what passes through a call or module is not recorded."""
    if name not in _once:
        _once.add(name)
        print(
            f"tt-run: --record: {name} at {site()} is not recorded; a replay stops there (TTP004)",
            file=sys.stderr,
            flush=True,
        )


def _told(name: str, real: Any) -> Any:
    """A call that is not recorded, as it is: the first says so."""

    def method(*args: Any, **kwargs: Any) -> Any:
        tell_unrecorded(name)
        return real(*args, **kwargs)

    if isinstance(real, type(print)) or getattr(real, "__self__", None) is not None:
        return staticmethod(_named_as(method, name.rpartition(".")[2], real))
    return _named_as(method, name.rpartition(".")[2], real)
