"""Communicators of a program's own mpi4py whose ranks agree on a collective before it moves anything, and wait for messages with a deadline."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from tt_run.runtime import guard
from tt_run.runtime.comm.world import world
from tt_run.runtime.own_mpi.calls import PARTED, SHAPES, bytes_taken, detail_of, word
from tt_run.runtime.own_mpi.members import (
    Members,
    forget,
    have_met,
    is_main_thread,
    members_of,
    number_communicator,
    turn_of,
)
from tt_run.runtime.own_mpi.processes import AGREEING, agreeing, is_whole, spawning
from tt_run.runtime.own_mpi.requests import await_done, await_request, marked, peer_of
from tt_run.runtime.own_mpi.stand_in import stand_in

# What makes a communicator of this one, and which of its words all ranks have to say alike.
_MAKERS: dict[str, tuple[tuple[int, str], ...]] = {
    "Dup": (),
    "Dup_with_info": (),
    "Idup": (),
    "Idup_with_info": (),
    "Clone": (),
    "Split": (),
    "Split_type": ((0, "split_type"),),
    "Create": (),
    "Create_group": ((1, "tag"),),
    "Create_cart": ((0, "dims"), (1, "periods"), (2, "reorder")),
    "Create_graph": ((0, "index"), (1, "edges"), (2, "reorder")),
    "Create_dist_graph": (),
    "Create_dist_graph_adjacent": (),
    "Sub": ((0, "remain_dims"),),
    "Create_intercomm": (),
    "Merge": (),
    "Shrink": (),
}
_SENDS = {"send": "isend", "Send": "Isend", "ssend": "issend", "Ssend": "Issend"}
# Where source and tag stand.
_RECEIVES = {"recv": 1, "Recv": 1, "Probe": 0, "probe": 0, "Mprobe": 0, "mprobe": 0}
_EXCHANGES = {"sendrecv": ("isend", "recv"), "Sendrecv": ("Isend", "Recv")}
# Where the peer of a message that is started stands.
_STARTED = {
    **dict.fromkeys(
        ("Isend", "isend", "Issend", "issend", "Irsend", "Ibsend", "ibsend", "Irecv", "irecv"), 1
    ),
    **dict.fromkeys(("Send_init", "Ssend_init", "Rsend_init", "Bsend_init", "Recv_init"), 1),
    **dict.fromkeys(("Psend_init", "Precv_init"), 2),
}
_TOGETHER = (
    *("Ibarrier", "Ibcast", "Igather", "Igatherv", "Iscatter", "Iscatterv", "Iallgather", "Iallgatherv", "Ialltoall"),
    *("Ialltoallv", "Ialltoallw", "Ireduce", "Iallreduce", "Ireduce_scatter_block", "Ireduce_scatter", "Iscan", "Iexscan"),
    *("Ineighbor_allgather", "Ineighbor_allgatherv", "Ineighbor_alltoall", "Ineighbor_alltoallv", "Ineighbor_alltoallw"),
    *("Isendrecv", "Isendrecv_replace"),
)  # fmt: skip


def watched_communicators(mpi: Any) -> dict[type, type]:
    """The watched class for each of the library's classes of communicators inside of one job. The library's own count as instances of it."""
    watched: dict[type, type] = {}
    for base in (mpi.Intracomm, mpi.Cartcomm, mpi.Graphcomm, mpi.Distgraphcomm, mpi.Intercomm):
        names: dict[str, Any] = {}
        for name in SHAPES:
            names[name] = _collective(name, getattr(base, name, None))
            names[f"{name}_init"] = _prepared(name, getattr(base, f"{name}_init", None))
        for name, words in _MAKERS.items():
            names[name] = _maker(name, words, getattr(base, name, None), watched)
        names["Agree"] = agreeing("Agree", getattr(base, "Agree", None), meet)
        for name in ("Spawn", "Spawn_multiple"):
            names[name] = spawning(name, getattr(base, name, None), meet)
        for name, start in _SENDS.items():
            names[name] = _sending(name, getattr(base, name), getattr(base, start))
        for name, place in _RECEIVES.items():
            names[name] = _receiving(name, place, getattr(base, name), base.Iprobe)
        for name, (start, end) in _EXCHANGES.items():
            names[name] = _exchange(
                name, getattr(base, name), getattr(base, start), getattr(base, end), base.Iprobe
            )
        for name in (*_STARTED, *_TOGETHER):
            names[name] = _starting(name, getattr(base, name, None))
        names["Sendrecv_replace"] = _replacing(base.Sendrecv_replace, base.Isend, base.Recv, base.Iprobe)
        names["Free"] = _freeing(base.Free)
        names["free"] = _freeing(getattr(base, "free", None))
        names["Disconnect"] = _leaving(base.Disconnect)
        names["__reduce__"] = _reducing(base)
        names = {name: value for name, value in names.items() if value is not None}
        watched[base] = stand_in(base, names)
    return watched


def starting_communicators(mpi: Any) -> dict[type, type]:
    """As `watched_communicators`, of a lone process: nobody is there to agree with, but what it starts may never come."""
    base = mpi.Intracomm
    watched: dict[type, type] = {}
    names = {name: spawning(name, getattr(base, name), meet) for name in ("Spawn", "Spawn_multiple")}
    names |= {name: _kept(getattr(base, name), watched) for name in _MAKERS if hasattr(base, name)}
    watched[base] = stand_in(base, {**names, "__reduce__": _reducing(base)})
    return watched


def _kept(library: Any, watched: dict[type, type]) -> Any:
    """A call that makes a communicator, which is then of the watched class as this one."""

    def call(self: Any, *words: Any, **named: Any) -> Any:
        new = library(self, *words, **named)
        if isinstance(new, tuple):
            new, request = new
            return watched.get(type(new), type(new))(new), request
        return watched.get(type(new), type(new))(new)

    call.__name__ = library.__name__
    return call


def watch_pickles(module: Any) -> None:
    """Watch the communicators of `mpi4py.util.pkl5`, which are made of the library's."""
    mpi: Any = sys.modules["mpi4py.MPI"]
    for kind in (module.Intracomm, module.Intercomm):
        own = {name: _collective(name, getattr(kind, name, None)) for name in SHAPES}
        own |= {
            name: _sending(name, getattr(kind, name), getattr(kind, start)) for name, start in _SENDS.items()
        }
        own |= {
            name: _receiving(name, place, getattr(kind, name), mpi.Comm.Iprobe)
            for name, place in _RECEIVES.items()
        }
        for name, call in own.items():
            if call is not None:
                setattr(kind, name, call)


def _reducing(base: type) -> Any:
    def __reduce__(self: Any) -> Any:
        everyone = sys.modules["mpi4py.MPI"].COMM_WORLD
        if self is everyone:
            return "COMM_WORLD"
        return (copy_of_world, ()) if self == everyone else base.__reduce__(base(self))  # type: ignore[call-arg]

    return __reduce__


def copy_of_world() -> Any:
    """Another object for the communicator of all ranks."""
    everyone = sys.modules["mpi4py.MPI"].COMM_WORLD
    return type(everyone)(everyone)


# --- collectives -------------------------------------------------------------------------------------------------------


def _collective(name: str, library: Any) -> Any:
    operation = "MPI Barrier" if name == "barrier" else f"MPI {name}"

    def call(self: Any, *words: Any, **named: Any) -> Any:
        if have_met(self, operation):
            meet(members_of(self), operation, _detail(self, name, words, named), self)
        guard.own_traffic.used = True
        try:
            return library(self, *words, **named)
        except sys.modules["mpi4py.MPI"].Exception as error:
            if name in PARTED and error.Get_error_class() == sys.modules["mpi4py.MPI"].ERR_TRUNCATE:
                _blame_senders(self, operation, bytes_taken(self, name, words, named))
            raise

    call.__name__ = name
    return call if library is not None else None


def _blame_senders(comm: Any, operation: str, of_each: dict[int, int]) -> None:
    """Raise GuardError with the ranks that gave more to this one than it takes; return where none is known."""
    if of_each and have_met(comm) and is_main_thread() and guard.watches():
        members = members_of(comm)
        by_rank = {
            members.order[place]: size for place, size in of_each.items() if place < len(members.order)
        }
        guard.refuse_sent(world().group(members.ranks), operation, by_rank, comm.Get_rank())


def _prepared(name: str, library: Any) -> Any:
    """A collective that is made ready once and started often: its ranks agree when they make it."""

    def call(self: Any, *words: Any, **named: Any) -> Any:
        members = members_of(self)
        if have_met(self, f"MPI {name}_init"):
            meet(members, f"MPI {name}_init", _detail(self, name, words, named), self)
        return marked(library(self, *words, **named), f"MPI {name}_init", members.others)

    call.__name__ = f"{name}_init"
    return call if library is not None else None


def _detail(comm: Any, name: str, words: Sequence[Any], named: dict[str, Any]) -> str:
    """What the ranks must mean alike. Between two groups the root's side says other words than the others'."""
    return "" if comm.Is_inter() else detail_of(comm, name, words, named)


def meet(members: Members, operation: str, detail: str = "", comm: Any = None) -> None:
    """Return once all ranks of a communicator are in this call. Raises GuardError when they are not, or mean another one.

    The main threads come to their calls in one order on all ranks, which the guard counts; other threads meet beside it.
    """
    if len(members.ranks) < 2 or members.ranks[0] < 0:
        return
    if not have_met(comm, operation):
        return
    if not is_main_thread():
        beside = _beside(members, operation, detail)
        if beside is not None:
            beside.meet()
        return
    turn_of(members)
    guard.collective(world().group(members.ranks), _signature(members, operation, detail), depth=3)


def _beside(members: Members, operation: str, detail: str) -> Any:
    """A collective that the main threads do not come to one after the other; None where it cannot be compared."""
    if len(members.ranks) < 2 or members.ranks[0] < 0:
        return None
    group = world().group(members.ranks)
    return guard.beside(group, _signature(members, operation, detail), members.key, turn_of(members))


def _signature(members: Members, operation: str, detail: str) -> guard.Signature:
    if members.number:
        detail = f"{detail}, communicator {members.number}" if detail else f"communicator {members.number}"
    return guard.Signature(operation, detail=detail)


def _maker(name: str, shared: tuple[tuple[int, str], ...], library: Any, watched: dict[type, type]) -> Any:
    def call(self: Any, *words: Any, **named: Any) -> Any:
        if is_whole(self) if name in AGREEING else have_met(self, f"MPI {name}"):
            members = members_of(self)
            if name == "Create_group":
                group = word(words, named, 0, ("group",), None)
                order = group.Translate_ranks(list(range(group.Get_size())), self.Get_group())
                members = Members.of([members.order[rank] for rank in order])
            alike = [(key, word(words, named, place, (key,), None)) for place, key in shared]
            out = sys.modules["mpi4py.MPI"].UNDEFINED  # as the kind of a split: this rank takes no part in it
            said = ", ".join(
                f"{key} {str(value).replace(', ', ' ')}"
                for key, value in alike
                if value is not None and not (key == "split_type" and value == out)
            )
            meet(members, f"MPI {name}", said, self)
        new = library(self, *words, **named)
        if isinstance(new, tuple):  # it is made while the request is under way
            new, request = new
            request = marked(request, f"MPI {name}", members_of(self).others)
            number_communicator(new, members_of(self))
            return watched.get(type(new), type(new))(new), request
        if new == sys.modules["mpi4py.MPI"].COMM_NULL:
            return new
        number_communicator(new)
        return watched[type(new)](new) if type(new) in watched else new

    call.__name__ = name
    return call if library is not None else None


def _leaving(library: Any) -> Any:
    def Disconnect(self: Any) -> None:
        if have_met(self, "MPI Disconnect"):
            meet(members_of(self), "MPI Disconnect", "", self)
        forget(self)
        library(self)

    return Disconnect


def _freeing(library: Any) -> Any:
    def call(self: Any) -> None:
        if library.__name__ == "free" and self == sys.modules["mpi4py.MPI"].COMM_WORLD:
            return  # as the library does, which knows its own object only
        forget(self)
        library(self)

    if library is None:
        return None
    call.__name__ = library.__name__
    return call


# --- messages ----------------------------------------------------------------------------------------------------------


def _sending(name: str, library: Any, start: Any) -> Any:
    def call(self: Any, *words: Any, **named: Any) -> None:
        if not (guard.watches() or guard.is_unmet()):
            library(self, *words, **named)
            return
        guard.own_traffic.used = True
        request = start(self, *words, **named)
        dest, tag = word(words, named, 1, ("dest",), None), word(words, named, 2, ("tag",), 0)
        await_request(request, f"MPI {name}(dest {dest}, tag {tag})", peer_of(members_of(self), dest))

    call.__name__ = name
    return call


def _receiving(name: str, place: int, library: Any, probe: Any) -> Any:
    def call(self: Any, *words: Any, **named: Any) -> Any:
        if guard.watches() or guard.is_unmet():
            _await_message(self, name, probe, *_source(words, named, place, "tag"))
        return library(self, *words, **named)

    call.__name__ = name
    return call


def _exchange(name: str, library: Any, start: Any, end: Any, probe: Any) -> Any:
    sent = ("sendbuf", "dest", "sendtag") if name[0].isupper() else ("sendobj", "dest", "sendtag")

    def call(self: Any, *words: Any, **named: Any) -> Any:
        if not (guard.watches() or guard.is_unmet()):
            return library(self, *words, **named)
        guard.own_traffic.used = True
        buffer, dest, tag = (
            word(words, named, place, (key,), 0 if key == "sendtag" else None)
            for place, key in enumerate(sent)
        )
        into, status = word(words, named, 3, ("recvbuf",), None), word(words, named, 6, ("status",), None)
        source, of = _source(words, named, 4, "recvtag")
        request = start(self, buffer, dest, tag)
        _await_message(self, name, probe, source, of)
        received = end(self, into, source, of, status)
        await_request(request, f"MPI {name}(dest {dest}, tag {tag})", peer_of(members_of(self), dest))
        return received

    call.__name__ = name
    return call


def _replacing(library: Any, start: Any, end: Any, probe: Any) -> Any:
    def Sendrecv_replace(self: Any, *words: Any, **named: Any) -> None:
        buffer = word(words, named, 0, ("buf",), None)
        sent = _copied(buffer)
        if sent is None or not (guard.watches() or guard.is_unmet()):
            library(self, *words, **named)
            return
        dest, tag = word(words, named, 1, ("dest",), None), word(words, named, 2, ("sendtag",), 0)
        source, of = _source(words, named, 3, "recvtag")
        request = start(self, sent, dest, tag)
        _await_message(self, "Sendrecv_replace", probe, source, of)
        end(self, buffer, source, of, word(words, named, 5, ("status",), None))
        await_request(
            request, f"MPI Sendrecv_replace(dest {dest}, tag {tag})", peer_of(members_of(self), dest)
        )

    return Sendrecv_replace


def _copied(buffer: Any) -> Any:
    """The same buffer with its data in another place; None where it is given in a way that does not tell."""
    data, *rest = buffer if isinstance(buffer, (list, tuple)) else (buffer,)
    try:
        copy = (
            data.copy() if hasattr(data, "copy") and hasattr(data, "dtype") else bytearray(memoryview(data))
        )
    except (TypeError, ValueError, BufferError):
        return None
    if not rest and isinstance(copy, bytearray) and memoryview(data).format not in ("B", "b", "c"):
        return None  # of which the library knows the type, and bytes have lost it
    return [copy, *rest] if rest else copy


def _source(words: Sequence[Any], named: dict[str, Any], place: int, tag: str) -> tuple[Any, Any]:
    mpi: Any = sys.modules["mpi4py.MPI"]
    return (
        word(words, named, place, ("source",), mpi.ANY_SOURCE),
        word(words, named, place + 1, (tag,), mpi.ANY_TAG),
    )


def _await_message(comm: Any, name: str, probe: Any, source: Any, tag: Any) -> None:
    mpi: Any = sys.modules["mpi4py.MPI"]
    if source == mpi.PROC_NULL:
        return
    called = ", ".join(
        f"{key} {'any' if value == wild else value}"
        for key, value, wild in (("source", source, mpi.ANY_SOURCE), ("tag", tag, mpi.ANY_TAG))
    )
    await_done(
        lambda: bool(probe(comm, source, tag)),
        f"MPI {name}({called})",
        lambda: peer_of(members_of(comm), source),
    )


def _starting(name: str, library: Any) -> Any:
    place = _STARTED.get(name)
    collective = f"{name[1:2].upper()}{name[2:]}"

    def call(self: Any, *words: Any, **named: Any) -> Any:
        members = members_of(self)
        if place is None:
            beside = None
            if guard.watches() and collective in SHAPES:
                beside = _beside(members, f"MPI {name}", _detail(self, collective, words, named))
            return marked(library(self, *words, **named), f"MPI {name}", members.others, beside)
        request = library(self, *words, **named)
        names = ("source",) if "recv" in name.lower() else ("dest",)
        peer = word(words, named, place, names, sys.modules["mpi4py.MPI"].ANY_SOURCE)
        return marked(request, f"MPI {name}", peer_of(members, peer))

    call.__name__ = name
    return call if library is not None else None
