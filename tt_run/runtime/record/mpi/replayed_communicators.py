"""Communicators of a replay: only this rank is there, and the record answers for the others."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakValueDictionary

from tt_run.runtime.record.mpi import library_queries, local
from tt_run.runtime.record.mpi.callbacks import Attributes, Errhandler, new_key
from tt_run.runtime.record.mpi.calls import (
    BUFFERS,
    MAKERS,
    MESSAGES,
    OBJECTS,
    PREPARED,
    STARTED,
    STARTED_MAKERS,
    NotRecorded,
    NotRecordedMember,
    named_words,
)
from tt_run.runtime.record.mpi.crossing import At, Book, Target, fill_status, record_call, record_result
from tt_run.runtime.record.mpi.failures import ReplayedError
from tt_run.runtime.record.mpi.requests import Prepared, ReplayedPrequest, ReplayedRequest, start

_CALLS = {**OBJECTS, **BUFFERS}
_NO_COMMUNICATOR = 5  # MPI_ERR_COMM
_COPIES = ("Dup", "Dup_with_info", "Clone", *STARTED_MAKERS)


class Own:
    """What one communicator is, whichever objects stand for it. `ranks` are the job's ranks in it, `facts` what else its kind knows."""

    def __init__(
        self,
        book: Callable[[], Book],
        rank: int,
        ranks: tuple[int, ...],
        name: str = "",
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        self.at, self.ranks, self.name, self.facts = At(book, rank, len(ranks)), ranks, name, facts or {}
        self.attributes = Attributes()
        self.errhandler: Any = None
        self.handles: Callable[[Any, int], object] | None = None
        """What the program wants called with an error."""
        self.number = next(_numbers)
        self.kind: type[ReplayedComm] = ReplayedIntra


_numbers = itertools.count(1)
_by_handle: WeakValueDictionary[int, Own] = WeakValueDictionary()
_by_fortran: WeakValueDictionary[int, Own] = WeakValueDictionary()
"""Communicators that the program has asked for the handles of."""
_NOBODY = -1
"""That of COMM_NULL."""


def _known_by(known: WeakValueDictionary[int, Own], number: int, call: str) -> Any:
    if number == _NOBODY:
        return sys.modules["mpi4py.MPI"].COMM_NULL
    own = known.get(number)
    if own is None:
        raise NotRecorded(f"MPI.Comm.{call}({number})")
    return own.kind.of(own)


class ReplayedComm:
    """A communicator of which only this rank is there; without one, COMM_NULL."""

    _own: Own | None = None

    def __new__(cls, comm: ReplayedComm | None = None, *args: Any, **kwargs: Any) -> Any:
        """Another object for a communicator, as the library's classes make."""
        found = object.__new__(cls)
        found._own = None if comm is None else comm._own
        return found

    @classmethod
    def of(cls, own: Own) -> Any:
        """The communicator itself."""
        found = object.__new__(cls)
        found._own, own.kind = own, cls
        return found

    def py2f(self) -> int:
        """The number by which Fortran knew it."""
        if self._own is None:
            return _NOBODY
        number: int = record_result(self._at, "py2f", None)
        _by_fortran[number] = self._own
        return number

    @classmethod
    def f2py(cls, arg: int) -> Any:
        """The communicator that `py2f` gave a number of. Raises NotRecorded for one that the program has from elsewhere."""
        return _known_by(_by_fortran, arg, "f2py")

    @property
    def handle(self) -> int:
        """A number that stands for it."""
        if self._own is None:
            return _NOBODY
        _by_handle[self._own.number] = self._own
        return self._own.number

    @classmethod
    def fromhandle(cls, handle: int) -> Any:
        """The communicator of a `handle`. Raises NotRecorded for one that the program has from elsewhere."""
        return _known_by(_by_handle, handle, "fromhandle")

    @property
    def _is(self) -> Own:
        if self._own is None:
            raise ReplayedError(_NO_COMMUNICATOR, "MPI_ERR_COMM: invalid communicator")
        return self._own

    @property
    def _at(self) -> At:
        return self._is.at

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ReplayedComm):
            return self._own is other._own
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as the library's have none

    def __bool__(self) -> bool:
        return self._own is not None

    def __reduce__(self) -> Any:
        mpi = sys.modules["mpi4py.MPI"]
        for name in ("COMM_WORLD", "COMM_SELF", "COMM_NULL"):
            if self is getattr(mpi, name):
                return name
        if self == mpi.COMM_WORLD:
            return type(self), (mpi.COMM_WORLD,)
        raise ValueError("cannot pickle a communicator")

    def Get_rank(self) -> int:
        """This rank."""
        return self._is.at.rank

    def Get_size(self) -> int:
        """How many ranks there were."""
        return self._is.at.size

    rank, size = property(Get_rank), property(Get_size)

    def Get_name(self) -> str:
        """As the library calls it."""
        return self._is.name

    def Set_name(self, name: str) -> None:
        """Call it otherwise."""
        self._is.name = name

    name = property(Get_name, Set_name)

    def Get_group(self) -> local.Group:
        """Its ranks."""
        own = self._is
        return local.Group(own.ranks, own.ranks[own.at.rank])

    group = property(Get_group)

    def Is_intra(self) -> bool:
        """True: of one group."""
        return True

    def Is_inter(self) -> bool:
        """False: not of two."""
        return False

    def Get_topology(self) -> Any:
        """UNDEFINED: none."""
        return local.UNDEFINED

    is_intra = property(lambda self: self.Is_intra())
    is_inter = property(lambda self: self.Is_inter())
    topology = property(lambda self: self.Get_topology())
    is_topo = property(lambda self: self.Get_topology() != local.UNDEFINED)

    def Get_attr(self, keyval: int) -> Any:
        """What the library knows, or the program has put there."""
        mpi = sys.modules["mpi4py.MPI"]
        if keyval in [getattr(mpi, name, None) for name in library_queries.ATTRIBUTES]:
            return record_result(self._at, "Get_attr", None)
        return self._is.attributes.get(keyval)

    def Set_attr(self, keyval: int, attrval: Any) -> None:
        """Put something there."""
        self._is.attributes.put(self, keyval, attrval)

    def Delete_attr(self, keyval: int) -> None:
        """Take it away."""
        self._is.attributes.take(self, keyval)

    @classmethod
    def Create_keyval(cls, copy_fn: Any = None, delete_fn: Any = None, nopython: bool = False) -> int:
        """A key of the program's own."""
        return new_key(copy_fn, delete_fn)

    @classmethod
    def Free_keyval(cls, keyval: int) -> int:
        """Give it back."""
        return local.UNDEFINED

    @classmethod
    def Compare(cls, comm1: ReplayedComm, comm2: ReplayedComm) -> int:
        """IDENT, CONGRUENT (the same ranks in their order), SIMILAR or UNEQUAL."""
        if comm1 == comm2:
            return 0
        return local.Group.Compare(comm1.Get_group(), comm2.Get_group()) or 1

    def Set_errhandler(self, errhandler: Any) -> None:
        """Nothing can fail but what has failed; of that a function of the program's hears."""
        self._is.errhandler = errhandler
        self._is.handles = errhandler.function if isinstance(errhandler, Errhandler) else None

    @classmethod
    def Create_errhandler(cls, errhandler_fn: Callable[[Any, int], object]) -> Errhandler:
        """A function of the program's for errors."""
        return Errhandler.of(errhandler_fn)

    def Call_errhandler(self, errorcode: int) -> None:
        """Let it hear of one."""
        if self._is.handles is not None:
            self._is.handles(self, errorcode)

    def Get_errhandler(self) -> Any:
        """What was set, or what mpi4py sets itself."""
        return self._is.errhandler or sys.modules["mpi4py.MPI"].ERRORS_RETURN

    def Get_failed(self) -> local.Group:
        """The ranks that had failed, of which the record knows none."""
        return local.Group((), self._is.ranks[self._is.at.rank])

    def Free(self) -> None:
        """Nothing to give back but what the program has put there."""
        self._is.attributes.clear(self)
        self._own = None

    Disconnect = free = Free

    def Abort(self, errorcode: int = 0) -> None:
        """End this process, all that is left of the job."""
        sys.stdout.flush()
        sys.exit(errorcode)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _CALLS:
            return lambda *args, **kwargs: self._answered(name, args, kwargs)
        for table, kind in ((STARTED, ReplayedRequest), (PREPARED, ReplayedPrequest)):
            if name in table:
                return lambda *args, _k=kind, _t=table, **kwargs: self._started(
                    _k, name, _t[name], args, kwargs
                )
        if name in MAKERS:
            return lambda *args, **kwargs: self._made(name)
        if name in STARTED_MAKERS:
            return lambda *args, **kwargs: (
                self._made(name),
                ReplayedRequest(self._at.book, Target(None)),
            )
        if name in MESSAGES:
            return lambda *args, **kwargs: self._message(name, args, kwargs)
        if name in library_queries.OF_COMM:
            return lambda *args, **kwargs: record_result(self._at, name, None)
        if name in ("Get_info", "info"):
            found = lambda: local.Info(record_result(self._at, "Get_info", None))  # noqa: E731
            return found if name == "Get_info" else found()
        raise NotRecordedMember(f"MPI.Comm.{name}")

    def _answered(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return record_call(self._at, name, _CALLS[name], None, args, kwargs)
        except ReplayedError as error:
            handles, inside = self._is.handles, self._at.book().inside
            if handles is not None:
                inside.now = True  # what it asks was a part of the call
                try:
                    handles(self, error.error_code)
                finally:
                    inside.now = False
            raise

    def _started(
        self,
        kind: type[ReplayedRequest],
        name: str,
        words: tuple[str, ...],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> ReplayedRequest:
        _, target = start(self._at, name, words, None, args, kwargs)
        found = kind(self._at.book, target)
        found._prepared = Prepared(self._at, name, named_words(words, args, kwargs))
        return found

    def _made(self, name: str) -> Any:
        members = record_result(self._at, name, None)
        if members is None:
            return sys.modules["mpi4py.MPI"].Intracomm()
        rank, ranks, grid, *more = members
        facts = {"grid": grid, **(more[0] if more else {})}
        kind = facts.get("kind", "Intracomm" if grid is None else "Cartcomm")
        own = Own(self._at.book, rank, tuple(ranks), facts.get("name", ""), facts)
        if name in _COPIES:
            own.attributes = self._is.attributes.copied(self)
            own.errhandler, own.handles = self._is.errhandler, self._is.handles
        return getattr(sys.modules["mpi4py.MPI"], kind).of(own)

    def _message(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        came, told = record_result(self._at, name, None)
        fill_status(named_words(("source", "tag", "status"), args, kwargs).get("status"), told)
        if came == "nobody":
            return sys.modules["mpi4py.MPI"].MESSAGE_NO_PROC
        return ReplayedMessage(At(self._at.book, 0, 1)) if came else None


class ReplayedIntra(ReplayedComm):
    """One of one group."""


class ReplayedInter(ReplayedComm):
    """One between two groups."""

    def Is_intra(self) -> bool:
        """False: not of one group."""
        return False

    def Is_inter(self) -> bool:
        """True: of two."""
        return True

    def Get_remote_size(self) -> int:
        """How many ranks the other group has."""
        return len(self._is.facts["remote"])

    def Get_remote_group(self) -> local.Group:
        """The other group."""
        own = self._is
        return local.Group(own.facts["remote"], own.ranks[own.at.rank])

    remote_size, remote_group = property(Get_remote_size), property(Get_remote_group)


class ReplayedMessage:
    """A message that was found and is received now."""

    def __init__(self, at: At) -> None:
        self._at: At | None = at

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ReplayedMessage):
            return self is other or (self._at is None and other._at is None)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return self._at is not None

    @classmethod
    def probe(cls, comm: Any, *args: Any, **kwargs: Any) -> Any:
        """Find one on a communicator."""
        return comm.mprobe(*args, **kwargs)

    @classmethod
    def iprobe(cls, comm: Any, *args: Any, **kwargs: Any) -> Any:
        """Find one, if it has come."""
        return comm.improbe(*args, **kwargs)

    def recv(self, *args: Any, **kwargs: Any) -> Any:
        """The object."""
        return record_call(self._taken(), "recv", ("status",), None, args, kwargs)

    def Recv(self, *args: Any, **kwargs: Any) -> None:
        """Into memory."""
        record_call(self._taken(), "Recv", ("buf", "status"), None, args, kwargs)

    def irecv(self) -> ReplayedRequest:
        """The object, later."""
        return self._started("irecv", (), {})

    def Irecv(self, *args: Any, **kwargs: Any) -> ReplayedRequest:
        """Into memory, later."""
        return self._started("Irecv", args, kwargs)

    def _started(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ReplayedRequest:
        at = self._taken()
        _, target = start(at, name, ("buf",), None, args, kwargs)
        return ReplayedRequest(at.book, target)

    def _taken(self) -> At:
        at, self._at = self._at, None
        if at is None:
            raise ReplayedError(_NO_COMMUNICATOR, "MPI_ERR_REQUEST: invalid request")
        return at

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotRecordedMember(f"MPI.Message.{name}")
