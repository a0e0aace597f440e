"""A loaded `mpi4py.MPI` whose communicators, requests, messages and windows write down what passes through them.

`MPI.COMM_WORLD` of a recorded rank is a communicator like any other. What is not recorded works as ever, and is told once. What is written down
are the watched calls of `own_mpi`: the ranks of a recorded run agree, and wait with a deadline, as those of any run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from tt_run.runtime.own_mpi import watched_library
from tt_run.runtime.own_mpi.communicators import watch_pickles
from tt_run.runtime.own_mpi.stand_in import STANDS_FOR, StandIn
from tt_run.runtime.record.facts import site
from tt_run.runtime.record.mpi.calls import (
    BUFFERS,
    MAKERS,
    MESSAGES,
    OBJECTS,
    PREPARED,
    STARTED,
    STARTED_MAKERS,
    named_words,
)
from tt_run.runtime.record.mpi.crossing import At, Book, record_call, record_result, status_facts
from tt_run.runtime.record.mpi.files import recorded_file
from tt_run.runtime.record.mpi.library_queries import (
    ATTRIBUTES,
    OF_COMM,
    ask_library,
    attribute_of,
    recorded_method,
    words_of,
)
from tt_run.runtime.record.mpi.requests import Prepared, recorded_request, start
from tt_run.runtime.record.mpi.windows import recorded_window
from tt_run.runtime.record.recording import Recording

_UNRECORDED_CALLS = ("Accept", "Connect", "Spawn", "Spawn_multiple", "Join", "Ishrink")
_REPLACED = (
    "COMM_WORLD", "COMM_SELF", "Comm", "Intracomm", "Cartcomm", "Graphcomm", "Distgraphcomm", "Intercomm", "Request", "Prequest", "Message",
    "Win", "File", "Session",
)  # fmt: skip
_UNRECORDED = {"Session": ("Init",)}
_KINDS = ("Intracomm", "Cartcomm", "Graphcomm", "Distgraphcomm", "Intercomm")
_HANDLES = ("f2py", "fromhandle")
_FOUND = {"probe": "mprobe", "iprobe": "improbe", "Probe": "Mprobe", "Iprobe": "Improbe"}
"""What a class of messages finds on a communicator, and how that is called there."""
_SELF_KNOWLEDGE = {
    "Graphcomm": ("Get_topo",),
    "Distgraphcomm": ("Get_dist_neighbors_count", "Get_dist_neighbors"),
}
"""What a communicator says of its neighbours, which a replay is told when it is made."""


def recorded_module(module: ModuleType, book: Callable[[], Book]) -> None:
    """Let the programs that use a loaded `mpi4py.MPI` find communicators whose calls are written down."""
    mpi: Any = module
    if not mpi.Is_initialized():  # the program starts MPI itself, as `mpi4py.rc.initialize = False` says
        for name in ("Init", "Init_thread"):
            setattr(mpi, name, _and_recorded(getattr(mpi, name), module, book))
        return
    raw = {name: getattr(mpi, name) for name in _REPLACED if hasattr(mpi, name)}
    mpi._tt_run_raw = raw
    facts = _constants(mpi, raw["COMM_WORLD"])
    mpi._tt_run_recorder = recorder = _Recorder(mpi, book)
    recorder.put_on()
    ask_library(mpi, book)
    mpi.Wtime = time.perf_counter  # a clock as any other
    found = book()
    if isinstance(found, Recording):
        found.library(facts)


def recorded_pickles(module: ModuleType) -> None:
    """The same of the communicators of a loaded `mpi4py.util.pkl5`, which send and receive in ways of their own."""
    recorder = getattr(sys.modules["mpi4py.MPI"], "_tt_run_recorder", None)
    if recorder is None:  # it was loaded before the program started MPI
        tell_unrecorded(module.__name__)
    else:
        watch_pickles(module)
        recorder.put_on_pickles(module)


def _and_recorded(start: Any, module: ModuleType, book: Callable[[], Book]) -> Any:
    """What starts MPI, and lets it be recorded."""

    def call(*words: Any, **named: Any) -> Any:
        found = start(*words, **named)
        recorded_module(module, book)
        return found

    return _named_as(call, start.__name__, start)


def _text_of(info: Any, key: str) -> str | None:
    """What MPI says of its start; None where it is no text, as a working directory may be."""
    try:
        return str(info.Get(key))
    except UnicodeDecodeError:
        return None


def _constants(mpi: Any, world: Any) -> dict[str, Any]:
    """What the names of this library mean: numbers, and bytes of datatypes."""
    numbers = {n: int(v) for n, v in vars(mpi).items() if isinstance(v, int) and n.isupper()}
    kinds = {name: value for name, value in vars(mpi).items() if isinstance(value, mpi.Datatype)}
    sizes = {name: facts for name, value in kinds.items() if (facts := _datatype(mpi, value)) is not None}
    names = {kind: name for name, (_, _, kind) in sizes.items() if kind == name}
    typed = {code: _datatype(mpi, value) for code, value in getattr(mpi, "_typedict", {}).items()}
    codes = {
        code: names[facts[2]] for code, facts in typed.items() if facts is not None and facts[2] in names
    }
    package = sys.modules["mpi4py"]
    return {
        "numbers": numbers,
        "sizes": sizes,
        "codes": codes,
        "names": " ".join(sorted(name for name in vars(mpi) if name not in numbers and name not in sizes)),
        "mpi4py": getattr(package, "__version__", ""),
        "config": package.get_config() if hasattr(package, "get_config") else {},
        "info": {key: told for key in mpi.INFO_ENV if (told := _text_of(mpi.INFO_ENV, key)) is not None},
        "version": mpi.Get_version(),
        "library": mpi.Get_library_version(),
        "processor": mpi.Get_processor_name(),
        "threads": mpi.Query_thread(),
        "tick": mpi.Wtick(),
        "tag_ub": world.Get_attr(mpi.TAG_UB),
    }


def _datatype(mpi: Any, value: Any) -> tuple[int, int, str] | None:
    """Size, extent and name of a datatype; None for one that this library was built without, as Open MPI of Debian some of Fortran's."""
    try:
        if value == mpi.DATATYPE_NULL:
            return None
        return value.Get_size(), value.Get_extent()[1], value.Get_name().removeprefix("MPI_")
    except mpi.Exception:
        return None


class _Recorder:
    """The classes that are put over those of one library."""

    def __init__(self, mpi: Any, book: Callable[[], Book]) -> None:
        self._mpi, self._book = mpi, book
        self._watched = watched_library(mpi)
        self._request = recorded_request(self._watched.Request, book)
        self._prequest = recorded_request(self._watched.Prequest, book, (self._request,))
        self._message = self._recorded_message(mpi.Message)
        self._kinds: dict[Any, Any] = {}
        """The recorded class for each of the library's."""
        self._by_handle = {
            name: staticmethod(self._known_by(name, getattr(mpi.Comm, name)))
            for name in _HANDLES
            if hasattr(mpi.Comm, name)
        }
        for kind in _KINDS:
            base = getattr(mpi, kind)
            watched = self._watched.communicators[base]
            methods = {**self._methods(watched), **self._by_handle, STANDS_FOR: base}
            self._kinds[base] = StandIn(kind, (watched,), methods)
        self._intra = self._kinds[mpi.Intracomm]

    def put_on(self) -> None:
        """Let programs find them under the library's names."""
        mpi = self._mpi
        mpi.Win = recorded_window(self._watched.Win, self._at, self._request)
        mpi.Request, mpi.Prequest, mpi.Message = self._request, self._prequest, self._message
        mpi.COMM_WORLD, mpi.COMM_SELF = self._intra(mpi.COMM_WORLD), self._intra(mpi.COMM_SELF)
        for kind, recorded in self._kinds.items():
            setattr(mpi, kind.__name__, recorded)
        mpi.Comm = StandIn("Comm", (mpi.Comm,), {**self._by_handle, STANDS_FOR: mpi.Comm})
        mpi.File = recorded_file(self._watched.File, self._at, self._request)
        for kind in (mpi.Win, mpi.File, mpi.Request, mpi.Prequest, mpi.Message):
            for name in _HANDLES:
                if hasattr(kind, name):
                    setattr(
                        kind, name, staticmethod(_told(f"MPI.{kind.__name__}.{name}", getattr(kind, name)))
                    )
        for kind, names in _UNRECORDED.items():
            if hasattr(mpi, kind):
                base = getattr(mpi, kind)
                told = {n: _told(f"MPI.{kind}.{n}", getattr(base, n)) for n in names if hasattr(base, n)}
                setattr(mpi, kind, type(kind, (base,), told))
        for kind in (
            mpi.Comm,
            mpi.Win,
            mpi.File,
            mpi.Request,
            mpi.Prequest,
            mpi.Message,
            *self._kinds.values(),
        ):
            kind.__module__ = mpi.__name__  # programs print it

    def put_on_pickles(self, module: Any) -> None:
        """Let programs find recorded classes under the names of `mpi4py.util.pkl5`."""
        module.Request = request = recorded_request(module.Request, self._book)
        module.Message = message = self._recorded_message(module.Message, request)
        for kind in (module.Intracomm, module.Intercomm):
            for name, words in OBJECTS.items():
                if hasattr(module.Comm, name):
                    setattr(kind, name, self._call(name, words, getattr(kind, name)))
            for name in filter(module.Comm.__dict__.__contains__, STARTED):
                setattr(kind, name, self._start(name, STARTED[name], getattr(kind, name), request))
            for name in filter(module.Comm.__dict__.__contains__, MESSAGES):
                setattr(kind, name, self._finder(name, getattr(kind, name), message))

    def _known_by(self, name: str, real: Any) -> Any:
        """A call that knows a communicator by its handle: what it gives is recorded as any other."""

        def call(handle: int) -> Any:
            found = real(handle)
            return found if found == self._mpi.COMM_NULL else self._kinds[self._kind_of(found)](found)

        return _named_as(call, name, real)

    def _at(self, comm: Any) -> At:
        return At(self._book, 0, 1) if comm is None else At(self._book, comm.Get_rank(), comm.Get_size())

    def _methods(self, base: Any) -> dict[str, Any]:
        made: tuple[tuple[Mapping[str, Any], Callable[[str, Any, Any], Any]], ...] = (
            ({**OBJECTS, **BUFFERS}, self._call),
            (STARTED, lambda name, words, real: self._start(name, words, real, self._request)),
            (PREPARED, lambda name, words, real: self._start(name, words, real, self._prequest)),
            (dict.fromkeys(MAKERS), lambda name, _, real: self._maker(name, real)),
            (dict.fromkeys(STARTED_MAKERS), lambda name, _, real: self._started_maker(name, real)),
            (dict.fromkeys(MESSAGES), lambda name, _, real: self._finder(name, real)),
            (dict.fromkeys(OF_COMM), lambda name, _, real: recorded_method("", name, real, self._at)),
            (dict.fromkeys(_UNRECORDED_CALLS), lambda name, _, real: _told(f"MPI.Comm.{name}", real)),
        )
        found: dict[str, Any] = {
            "Get_info": words_of("", "Get_info", base.Get_info, self._at),
            "Get_attr": attribute_of(base.Get_attr, self._at, self._attributes),
        }
        found["info"] = property(found["Get_info"])
        for table, make in made:
            for name, words in table.items():
                if hasattr(base, name):
                    found[name] = make(name, words, getattr(base, name))
        return found

    def _call(self, name: str, words: tuple[str, ...], real: Any) -> Any:
        def method(comm: Any, *args: Any, **kwargs: Any) -> Any:
            return record_call(self._at(comm), name, words, lambda *a, **k: real(comm, *a, **k), args, kwargs)

        return _named_as(method, name, real)

    def _start(self, name: str, words: tuple[str, ...], real: Any, kind: Any) -> Any:
        def method(comm: Any, *args: Any, **kwargs: Any) -> Any:
            if self._book().inside:
                return real(comm, *args, **kwargs)
            at = self._at(comm)
            made, target = start(at, name, words, lambda *a, **k: real(comm, *a, **k), args, kwargs)
            found = _of_kind(kind, made)
            found._target = target
            found._prepared = Prepared(at, name, named_words(words, args, kwargs))
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
                kind = self._kind_of(made)
                kept.append(self._kinds[kind](made))
                return _members(mpi, made, kind.__name__, made.Get_name())

            record_result(self._at(comm), name, cross)
            return kept[0]

        return _named_as(method, name, real)

    def _started_maker(self, name: str, real: Any) -> Any:
        def method(comm: Any, *args: Any, **kwargs: Any) -> Any:
            kept: list[Any] = []

            def cross() -> Any:
                made, request = real(comm, *args, **kwargs)
                kind = self._kind_of(comm)
                kept.extend((self._kinds[kind](made), _of_kind(self._request, request)))
                return _members(self._mpi, comm, kind.__name__, "")  # it cannot be asked itself yet

            record_result(self._at(comm), name, cross)
            return tuple(kept)

        return _named_as(method, name, real)

    def _kind_of(self, comm: Any) -> Any:
        return next(each for each in reversed(self._kinds) if isinstance(comm, each))

    def _attributes(self) -> set[int]:
        return {getattr(self._mpi, name) for name in ATTRIBUTES if hasattr(self._mpi, name)}

    def _finder(self, name: str, real: Any, message: Any = None) -> Any:
        mpi, kind = self._mpi, message or self._message

        def method(comm: Any, *args: Any, **kwargs: Any) -> Any:
            kept: list[Any] = []
            status = named_words(("source", "tag", "status"), args, kwargs).get("status")

            def cross() -> Any:
                found = real(comm, *args, **kwargs)
                kept.append(None if found is None else kind(found))
                nobody = found is not None and found == mpi.MESSAGE_NO_PROC
                return "nobody" if nobody else found is not None, status_facts(status)

            record_result(self._at(comm), name, cross)
            return kept[0]

        return _named_as(method, name, real)

    def _recorded_message(self, base: Any, request: Any = None) -> Any:
        at = At(self._book, 0, 1)
        methods: dict[str, Any] = {}
        for name in filter(base.__dict__.__contains__, ("recv", "Recv")):
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
                return record_call(at, _name, _words, lambda *a, **k: _real(message, *a, **k), args, kwargs)

            methods[name] = _named_as(method, name, real)
        for name in filter(base.__dict__.__contains__, ("irecv", "Irecv")):
            methods[name] = self._taking(name, getattr(base, name), request or self._request)
        for name, find in _FOUND.items():
            if name in base.__dict__:
                methods[name] = classmethod(
                    lambda _, comm, *args, _find=find, **kwargs: getattr(comm, _find)(*args, **kwargs)
                )
        return type("Message", (base,), methods)

    def _taking(self, name: str, real: Any, request: Any) -> Any:
        def method(message: Any, *args: Any, **kwargs: Any) -> Any:
            if self._book().inside:
                return real(message, *args, **kwargs)
            at = At(self._book, 0, 1)
            made, target = start(at, name, ("buf",), lambda *a, **k: real(message, *a, **k), args, kwargs)
            found = made if type(made) is request else request(made)
            found._target = target
            return found

        return _named_as(method, name, real)


def _of_kind(kind: Any, request: Any) -> Any:
    """A request that is recorded. One that says what its wait is for is of that kind already, and another made of it would not say so."""
    return request if type(request) is kind else kind(request)


def _members(mpi: Any, comm: Any, kind: str, name: str) -> tuple[Any, ...]:
    """What a replay knows of a communicator: this rank's place, the job's ranks in it, its grid, and what else its kind has."""
    job = mpi._tt_run_raw["COMM_WORLD"].Get_group()
    ranks = comm.Get_group().Translate_ranks(None, job)
    grid = comm.Get_topo()[:2] if kind == "Cartcomm" else None
    facts: dict[str, Any] = {"kind": kind, "name": name}
    if kind == "Intercomm":
        facts["remote"] = list(comm.Get_remote_group().Translate_ranks(None, job))
    if kind in _SELF_KNOWLEDGE:
        facts["said"] = {name: getattr(comm, name)() for name in _SELF_KNOWLEDGE[kind]}
    return comm.Get_rank(), list(ranks), grid, facts


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
