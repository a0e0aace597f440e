"""The `mpi4py` of a replay, whether the library is installed or not: only this rank is there, and the record answers for the others."""

from __future__ import annotations

import importlib.abc
import sys
import time
from collections.abc import Callable, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

from tt_run.runtime.record.mpi import crossing, local
from tt_run.runtime.record.mpi.calls import (
    BUFFERS,
    MAKERS,
    MESSAGES,
    OBJECTS,
    PREPARED,
    STARTED,
    NotRecorded,
    named,
)
from tt_run.runtime.record.mpi.crossing import At, Book, noted, say, through
from tt_run.runtime.record.mpi.requests import Prepared, ReplayedRequest, start
from tt_run.runtime.record.mpi.windows import ReplayedWindow

_CALLS = {**OBJECTS, **BUFFERS}


class ReplayedComm:
    """A communicator of which only this rank is there. `ranks` are the job's ranks in it."""

    def __init__(self, book: Callable[[], Book], rank: int, ranks: tuple[int, ...], name: str = "") -> None:
        self._at = At(book, rank, len(ranks))
        self.rank, self.size, self.name, self._ranks = rank, len(ranks), name, ranks

    def Get_rank(self) -> int:
        """This rank."""
        return self.rank

    def Get_size(self) -> int:
        """How many ranks there were."""
        return self.size

    def Get_name(self) -> str:
        """As the library calls it."""
        return self.name

    def Set_name(self, name: str) -> None:
        """Call it otherwise."""
        self.name = name

    def Get_group(self) -> local.Group:
        """Its ranks."""
        return local.Group(self._ranks, self._ranks[self.rank])

    group = property(Get_group)
    is_intra, is_inter = True, False

    def Is_intra(self) -> bool:
        """True: of one group."""
        return True

    def Is_inter(self) -> bool:
        """False: not of two."""
        return False

    def Get_topology(self) -> Any:
        """UNDEFINED: none."""
        return local.UNDEFINED

    def Get_attr(self, keyval: Any) -> Any:
        """The largest tag; others are not in the record."""
        mpi = sys.modules["mpi4py.MPI"]
        if keyval != mpi.TAG_UB:
            raise NotRecorded("MPI.Comm.Get_attr")
        return mpi._tt_run_facts["tag_ub"]

    def Set_errhandler(self, errhandler: Any) -> None:
        """Nothing can fail but what has failed."""

    def Free(self) -> None:
        """Nothing to give back."""

    Disconnect = Free

    def Abort(self, errorcode: int = 0) -> None:
        """End this process, all that is left of the job."""
        sys.stdout.flush()
        sys.exit(errorcode)

    def __getattr__(self, name: str) -> Any:
        if name in _CALLS:
            return lambda *args, **kwargs: through(self._at, name, _CALLS[name], None, args, kwargs)
        for table in (STARTED, PREPARED):
            if name in table:
                return lambda *args, **kwargs: self._started(name, table[name], args, kwargs)
        if name in MAKERS:
            return lambda *args, **kwargs: self._made(name)
        if name in MESSAGES:
            return lambda *args, **kwargs: self._message(name, args, kwargs)
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotRecorded(f"MPI.Comm.{name}")

    def _started(
        self, name: str, words: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> ReplayedRequest:
        _, target = start(self._at, name, words, None, args, kwargs)
        found = ReplayedRequest(self._at.book, target)
        found._prepared = Prepared(self._at, name, named(words, args, kwargs))
        return found

    def _made(self, name: str) -> Any:
        members = noted(self._at, name, None)
        if members is None:
            return sys.modules["mpi4py.MPI"].COMM_NULL
        rank, ranks, topo = members
        if topo is None:
            return ReplayedComm(self._at.book, rank, tuple(ranks))
        return ReplayedCart(
            self._at.book,
            rank,
            tuple(ranks),
            local.Grid(topo[0], topo[1], sys.modules["mpi4py.MPI"].PROC_NULL),
        )

    def _message(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        came, told = noted(self._at, name, None)
        say(named(("source", "tag", "status"), args, kwargs).get("status"), told)
        return ReplayedMessage(At(self._at.book, 0, 1)) if came else None


class ReplayedCart(ReplayedComm):
    """One whose ranks lie in a grid."""

    def __init__(self, book: Callable[[], Book], rank: int, ranks: tuple[int, ...], grid: local.Grid) -> None:
        super().__init__(book, rank, ranks)
        self._grid = grid
        self.dims, self.periods, self.coords = grid.dims, grid.periods, grid.coords(rank)
        self.ndim = self.dim = len(grid.dims)
        self.topo = (grid.dims, grid.periods, self.coords)

    def Get_topology(self) -> Any:
        """CART."""
        return sys.modules["mpi4py.MPI"].CART

    def Get_dim(self) -> int:
        """How many dimensions."""
        return self.ndim

    def Get_topo(self) -> tuple[list[int], list[bool], list[int]]:
        """Sizes, whether each wraps, and this rank's place."""
        return self.topo

    def Get_coords(self, rank: int) -> list[int]:
        """Where a rank is."""
        return self._grid.coords(rank)

    def Get_cart_rank(self, coords: Any) -> int:
        """Who is there."""
        return self._grid.rank(coords)

    def Shift(self, direction: int, disp: int) -> tuple[int, int]:
        """Whom a shift comes from, and whom it goes to."""
        return self._grid.shift(self.rank, direction, disp)


class ReplayedMessage:
    """A message that was found and is received now."""

    def __init__(self, at: At) -> None:
        self._at = at

    def recv(self, *args: Any, **kwargs: Any) -> Any:
        """The object."""
        return through(self._at, "recv", ("status",), None, args, kwargs)

    def Recv(self, *args: Any, **kwargs: Any) -> None:
        """Into memory."""
        through(self._at, "Recv", ("buf", "status"), None, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        raise NotRecorded(f"MPI.Message.{name}")


class _InPlace(int):
    """`MPI.IN_PLACE`."""

    def __repr__(self) -> str:
        return "IN_PLACE"


_InPlace.__name__ = "InPlaceType"


class ReplayedError(RuntimeError):
    """`MPI.Exception`: what the library said in the run."""

    said = ""

    def __init__(self, ierr: int = 0) -> None:
        super().__init__(ierr)
        self.error_code = self.ob_mpi = ierr

    def Get_error_code(self) -> int:
        """Its number."""
        return self.error_code

    Get_error_class = Get_error_code
    error_class = property(Get_error_code)

    def Get_error_string(self) -> str:
        """The library's words."""
        return self.said or str(self.error_code)

    error_string = property(Get_error_string)
    __str__ = Get_error_string

    def __int__(self) -> int:
        return self.error_code

    def __eq__(self, other: object) -> bool:
        return self.error_code == (other.error_code if isinstance(other, ReplayedError) else other)

    __hash__ = RuntimeError.__hash__


class _Constant:
    """A name of MPI that is only handed on, such as SUM or INFO_NULL; what one asks of it is not in the record."""

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


class _Op(_Constant):
    """An operation: a program's own, too, which the other ranks' values would be needed for."""

    @classmethod
    def Create(cls, function: Any, commute: bool = False) -> _Op:
        """A program's own."""
        return cls("Op")

    def Is_commutative(self) -> bool:
        """Not in the record."""
        raise NotRecorded("MPI.Op.Is_commutative")

    def Free(self) -> None:
        """Nothing to give back."""


class _UnknownPart(NotRecorded, ImportError):
    """A module of mpi4py that a replay does not have."""


class NoParts(importlib.abc.MetaPathFinder):
    """Says of the library's other modules (futures, utilities) that what passes through them is not recorded."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        """None. Raises ImportError for a module of mpi4py."""
        if name.startswith("mpi4py."):
            raise _UnknownPart(name)


class _ReplayedModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
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
    package.rc = SimpleNamespace()  # type: ignore[attr-defined]
    package.MPI = module  # type: ignore[attr-defined]
    types = {name: local.Datatype(*facts) for name, facts in library.get("sizes", {}).items()}
    world = ReplayedComm(book, rank, tuple(range(size)), "MPI_COMM_WORLD")
    facts: dict[str, Any] = {
        **library.get("numbers", {}),
        **types,
        **_functions(library, host),
        "_tt_run_facts": dict(library),
        "COMM_WORLD": world,
        "COMM_SELF": ReplayedComm(book, 0, (rank,), "MPI_COMM_SELF"),
        "COMM_NULL": None,
        "GROUP_EMPTY": local.Group((), rank),
        "Comm": ReplayedComm,
        "Intracomm": ReplayedComm,
        "Cartcomm": ReplayedCart,
        "Group": local.Group,
        "Datatype": local.Datatype,
        "Op": _Op,
        "Status": local.Status,
        "Request": ReplayedRequest,
        "Prequest": ReplayedRequest,
        "REQUEST_NULL": ReplayedRequest(),
        "Message": ReplayedMessage,
        "Win": ReplayedWindow,
        "Exception": ReplayedError,
        "IN_PLACE": _InPlace(1),
    }
    for name, value in facts.items():
        setattr(module, name, value)
        if isinstance(value, type) and name != "Prequest":  # programs print the names of classes
            value.__name__ = value.__qualname__ = name
            value.__module__ = module.__name__
    return {"mpi4py": package, "mpi4py.MPI": module}


def _functions(library: Mapping[str, Any], host: str) -> dict[str, Any]:
    return {
        "Wtime": time.perf_counter,
        "Wtick": lambda: library.get("tick", 1e-9),
        "Get_processor_name": lambda: library.get("processor", host),
        "Get_version": lambda: tuple(library.get("version", ())),
        "Get_library_version": lambda: library.get("library", ""),
        "Query_thread": lambda: library.get("threads", 0),
        "Is_thread_main": _is_main,
        "Is_initialized": lambda: True,
        "Is_finalized": lambda: False,
        "Finalize": lambda: None,
        "Init": lambda: None,
        "Init_thread": lambda required=3: library.get("threads", 0),
    }


def _is_main() -> bool:
    import threading

    return threading.current_thread() is threading.main_thread()
