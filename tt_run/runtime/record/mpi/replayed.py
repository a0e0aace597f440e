"""The `mpi4py` of a replay, whether the library is installed or not: only this rank is there, and the record answers for the others."""

from __future__ import annotations

import importlib.abc
import pickle
import sys
import time
from collections.abc import Callable, Mapping
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType, SimpleNamespace
from typing import Any

from tt_run.runtime.record.mpi import crossing, local
from tt_run.runtime.record.mpi.callbacks import Errhandler
from tt_run.runtime.record.mpi.calls import NotRecorded, NotRecordedMember
from tt_run.runtime.record.mpi.crossing import Book
from tt_run.runtime.record.mpi.datatypes import Datatype
from tt_run.runtime.record.mpi.failures import ReplayedError
from tt_run.runtime.record.mpi.files import ReplayedFile
from tt_run.runtime.record.mpi.library_queries import replayed_answers
from tt_run.runtime.record.mpi.ops import PREDEFINED, Op
from tt_run.runtime.record.mpi.replayed_communicators import (
    Own,
    ReplayedComm,
    ReplayedInter,
    ReplayedIntra,
    ReplayedMessage,
)
from tt_run.runtime.record.mpi.replayed_topologies import (
    ReplayedCart,
    ReplayedDistgraph,
    ReplayedGraph,
    ReplayedTopology,
)
from tt_run.runtime.record.mpi.requests import ReplayedPrequest, ReplayedRequest
from tt_run.runtime.record.mpi.windows import ReplayedWindow


class _InPlace(int):
    """`MPI.IN_PLACE`."""

    def __repr__(self) -> str:
        return "IN_PLACE"


_InPlace.__name__ = "InPlaceType"


class _Constant:
    """A name of MPI that is only handed on, such as BOTTOM or ERRORS_RETURN; what one asks of it is not in the record."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"MPI.{self._name}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotRecorded(f"MPI.{self._name}()")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotRecorded(f"MPI.{self._name}.{name}")


class Pickle:
    """`MPI.Pickle`: how objects become bytes; those of the record are objects again already."""

    def __init__(
        self, dumps: Any = None, loads: Any = None, protocol: Any = None, threshold: Any = None
    ) -> None:
        self.PROTOCOL = pickle.HIGHEST_PROTOCOL if protocol is None else protocol
        self.THRESHOLD, self._dumps, self._loads = (
            threshold or 1 << 18,
            dumps or pickle.dumps,
            loads or pickle.loads,
        )

    def dumps(self, obj: Any) -> bytes:
        """The bytes of an object."""
        found: bytes = self._dumps(obj, self.PROTOCOL)
        return found

    def loads(self, data: Any) -> Any:
        """The object of bytes."""
        return self._loads(data)

    def dumps_oob(self, obj: Any) -> tuple[bytes, list[Any]]:
        """The same with large buffers apart."""
        buffers: list[Any] = []
        return pickle.dumps(obj, 5, buffer_callback=buffers.append), [each.raw() for each in buffers]

    def loads_oob(self, data: Any, buffers: Any) -> Any:
        """The object of those."""
        return pickle.loads(data, buffers=buffers)


_BY_CALLS = ("mpi4py.util.dtlib",)


class _UnknownPart(NotRecorded, ImportError):
    """A module of mpi4py that a replay does not have."""


class NoParts(importlib.abc.MetaPathFinder):
    """Says of the library's other modules (futures, utilities) that what passes through them is not recorded.

    What works on communicators in Python is taken from an mpi4py that is installed here.
    """

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """A module that goes by the recorded calls. Raises ImportError for others of mpi4py."""
        if not name.startswith("mpi4py."):
            return None
        if name in _BY_CALLS:
            for folder in filter(None, sys.path):
                found = PathFinder.find_spec(name, [f"{folder}/{name.rpartition('.')[0].replace('.', '/')}"])
                if found is not None:
                    return found
        raise _UnknownPart(name)


class _ReplayedModule(ModuleType):
    _known: frozenset[str] = frozenset()
    """The names that the library had; empty where the record does not know."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or (self._known and name not in self._known):
            raise AttributeError(f"module 'mpi4py.MPI' has no attribute {name!r}")
        found = _Constant(name)
        setattr(self, name, found)
        return found


def replayed_modules(
    book: Callable[[], Book], rank: int, size: int, host: str, library: Mapping[str, Any]
) -> dict[str, ModuleType]:
    """What `mpi4py` and `mpi4py.MPI` are in a replay; `library` is what the record knows of the one that was used."""
    crossing.book_of_this_process = book
    package, module = ModuleType("mpi4py"), _ReplayedModule("mpi4py.MPI")
    package.__path__ = []
    sys.meta_path.insert(0, NoParts())
    package.rc = SimpleNamespace(initialize=True, threads=True, thread_level="multiple", finalize=None)  # type: ignore[attr-defined]
    package.MPI = module  # type: ignore[attr-defined]
    package.__version__ = library.get("mpi4py", "")  # type: ignore[attr-defined]
    package.get_config = lambda: dict(library.get("config", {}))  # type: ignore[attr-defined]
    types = {name: Datatype(*facts) for name, facts in library.get("sizes", {}).items()}
    nowhere = ReplayedMessage(crossing.At(book, 0, 1))
    nowhere._at = None
    facts: dict[str, Any] = {
        **library.get("numbers", {}),
        **types,
        **_KINDS,
        **PREDEFINED,
        **_functions(library, host, package.rc),
        "_tt_run_facts": dict(library),
        "_typedict": {code: types[name] for code, name in library.get("codes", {}).items()},
        "COMM_WORLD": ReplayedIntra.of(Own(book, rank, tuple(range(size)), "MPI_COMM_WORLD")),
        "COMM_SELF": ReplayedIntra.of(Own(book, 0, (rank,), "MPI_COMM_SELF")),
        "COMM_NULL": ReplayedComm(),
        "GROUP_EMPTY": local.Group((), rank),
        "INFO_ENV": local.Info(library.get("info", {})),
        "INFO_NULL": local.Info(),
        "REQUEST_NULL": ReplayedRequest(),
        "MESSAGE_NULL": None,
        "MESSAGE_NO_PROC": nowhere,
        "ERRHANDLER_NULL": Errhandler(),
        "WIN_NULL": ReplayedWindow(),
        "FILE_NULL": ReplayedFile(),
        "IN_PLACE": _InPlace(1),
        "pickle": Pickle(),
    }
    module._known = frozenset(library.get("names", "").split())
    for name, value in facts.items():
        setattr(module, name, value)
        if isinstance(value, type):  # programs print the names of classes
            value.__name__ = value.__qualname__ = name
            value.__module__ = module.__name__
    Datatype.fromcode = staticmethod(lambda code: module._typedict[code])  # type: ignore[attr-defined]
    for name, kind in _KINDS.items():
        if name not in ("Exception", "Pickle"):
            _refuse_handles(name, kind)
    module._handleof = lambda arg: arg.handle  # type: ignore[attr-defined]
    package.util = util = ModuleType("mpi4py.util")  # type: ignore[attr-defined]
    util.__path__ = []
    util.pkl5 = pickles = ModuleType("mpi4py.util.pkl5")  # type: ignore[attr-defined]
    own = {
        name: type(name, (_KINDS[name],), {"__module__": pickles.__name__})
        for name in ("Intracomm", "Intercomm")
    }
    vars(pickles).update({name: _KINDS[name] for name in ("Comm", "Request", "Message", "Pickle")} | own)
    vars(pickles).update(pickle=Pickle(), MPI=module)
    return {"mpi4py": package, "mpi4py.MPI": module, "mpi4py.util": util, "mpi4py.util.pkl5": pickles}


def _refuse_handles(name: str, kind: Any) -> None:
    """Let a class of whose objects no record knows the handles say so."""

    def refused(call: str) -> Any:
        def refuse(*_: Any) -> Any:
            raise NotRecordedMember(f"MPI.{name}.{call}")

        return refuse

    for call in ("f2py", "fromhandle"):
        if not hasattr(kind, call):
            setattr(kind, call, staticmethod(refused(call)))
    if not hasattr(kind, "py2f"):
        kind.py2f = refused("py2f")
    if not hasattr(kind, "handle"):
        kind.handle = property(refused("handle"))


_KINDS = {
    "Comm": ReplayedComm,
    "Intracomm": ReplayedIntra,
    "Topocomm": ReplayedTopology,
    "Cartcomm": ReplayedCart,
    "Graphcomm": ReplayedGraph,
    "Distgraphcomm": ReplayedDistgraph,
    "Intercomm": ReplayedInter,
    "Group": local.Group,
    "Datatype": Datatype,
    "Op": Op,
    "Status": local.Status,
    "Info": local.Info,
    "Request": ReplayedRequest,
    "Prequest": ReplayedPrequest,
    "Message": ReplayedMessage,
    "Win": ReplayedWindow,
    "File": ReplayedFile,
    "Errhandler": Errhandler,
    "Exception": ReplayedError,
    "Pickle": Pickle,
}


def _functions(library: Mapping[str, Any], host: str, settings: SimpleNamespace) -> dict[str, Any]:
    is_ended: list[bool] = []
    begun: list[bool] = []
    attached: list[Any] = []
    return {
        **replayed_answers(),
        "Wtime": time.perf_counter,
        "Wtick": lambda: library.get("tick", 1e-9),
        "Get_processor_name": lambda: library.get("processor", host),
        "Get_version": lambda: tuple(library.get("version", ())),
        "Get_library_version": lambda: library.get("library", ""),
        "Query_thread": lambda: library.get("threads", 0),
        "Is_thread_main": _is_main,
        "Is_initialized": lambda: bool(settings.initialize or begun),
        "Is_finalized": lambda: bool(is_ended),
        "Finalize": lambda: is_ended.append(True),
        "Init": lambda: begun.append(True),
        "Init_thread": lambda required=3: _begin(begun, library),
        "Attach_buffer": lambda buf: attached.append(buf),
        "Detach_buffer": lambda: attached.pop() if attached else None,
        "Flush_buffer": lambda: None,
        "Alloc_mem": lambda size, info=None: memoryview(bytearray(size)),
        "Free_mem": lambda mem: None,
    }


def _is_main() -> bool:
    import threading

    return threading.current_thread() is threading.main_thread()


def _begin(begun: list[bool], library: Mapping[str, Any]) -> Any:
    begun.append(True)
    return library.get("threads", 0)
