"""Communicators of a program's own mpi4py whose ranks agree on a collective before it moves anything, and wait for messages with a deadline."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from tt_run.runtime import guard
from tt_run.runtime.comm.world import world
from tt_run.runtime.own_mpi.calls import BUFFERS, OBJECTS, Shape, detail_of, differ, size_of, word
from tt_run.runtime.own_mpi.members import Members, forget, is_watched, made, members_of
from tt_run.runtime.own_mpi.requests import await_done, await_request, marked, peer_of

# What makes a communicator of this one, and which of its words all ranks have to say alike.
_MAKERS: dict[str, tuple[tuple[int, str], ...]] = {
    "Dup": (),
    "Dup_with_info": (),
    "Clone": (),
    "Split": (),
    "Split_type": ((0, "split_type"),),
    "Create": (),
    "Create_group": (),
    "Create_cart": ((0, "dims"), (1, "periods"), (2, "reorder")),
    "Create_graph": ((0, "index"), (1, "edges"), (2, "reorder")),
    "Create_dist_graph": (),
    "Create_dist_graph_adjacent": (),
    "Sub": ((0, "remain_dims"),),
}
_SENDS = {"send": "isend", "Send": "Isend", "ssend": "issend", "Ssend": "Issend"}
# Where source and tag stand.
_RECEIVES = {"recv": 1, "Recv": 1, "Probe": 0, "probe": 0, "Mprobe": 0, "mprobe": 0}
_EXCHANGES = {"sendrecv": ("isend", "recv"), "Sendrecv": ("Isend", "Recv")}
# Where the peer of a message that is started stands.
_STARTED = {
    "Isend": 1,
    "isend": 1,
    "Issend": 1,
    "issend": 1,
    "Irecv": 1,
    "irecv": 1,
    "Send_init": 1,
    "Recv_init": 1,
}
_TOGETHER = (
    *("Ibarrier", "Ibcast", "Igather", "Igatherv", "Iscatter", "Iscatterv", "Iallgather", "Iallgatherv", "Ialltoall"),
    *("Ialltoallv", "Ialltoallw", "Ireduce", "Iallreduce", "Ireduce_scatter_block", "Ireduce_scatter", "Iscan", "Iexscan"),
)  # fmt: skip
# A size as it crosses: bytes, and eight letters for what an element is. No bytes: nothing can be said.
_SIZE = np.dtype([("bytes", np.int64), ("element", "S8")])


def watched_communicators(mpi: Any) -> dict[type, type]:
    """The watched class for each of the library's classes of communicators inside of one job."""
    watched: dict[type, type] = {}
    for base in (mpi.Intracomm, mpi.Cartcomm, mpi.Graphcomm, mpi.Distgraphcomm):
        names: dict[str, Any] = {"__module__": base.__module__}
        for name, shape in {**OBJECTS, **BUFFERS}.items():
            names[name] = _collective(name, shape, getattr(base, name, None))
        for name, words in _MAKERS.items():
            names[name] = _maker(name, words, getattr(base, name, None), watched)
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
        names["Free"] = _freeing(base.Free)
        names = {name: value for name, value in names.items() if value is not None}
        watched[base] = type(base.__name__, (base,), names)
    return watched


# --- collectives -------------------------------------------------------------------------------------------------------


def _collective(name: str, shape: Shape, library: Any) -> Any:
    def call(self: Any, *words: Any, **named: Any) -> Any:
        if is_watched():
            _agree(self, name, shape, words, named)
        return library(self, *words, **named)

    call.__name__ = name
    return call if library is not None else None


def _agree(comm: Any, name: str, shape: Shape, words: Sequence[Any], named: dict[str, Any]) -> None:
    """Return when all ranks of the communicator are in this call. Raises GuardError when they are not, or mean another one."""
    members = members_of(comm)
    operation, detail = "MPI Barrier" if name == "barrier" else f"MPI {name}", detail_of(shape, words, named)
    group = meet(members, operation, detail, depth=3)
    if shape.buffer is None or group is None:
        return
    # All are here. A buffer may be given in ways that tell no size: those ranks have no say.
    own = size_of(comm, shape, words, named)
    told = np.empty(group.size, _SIZE)
    mine = np.array([(-1, b"") if own is None else (own[0], own[1].encode())], _SIZE)
    group.comm.Allgather(mine.view(np.uint8), told.view(np.uint8))
    if (told == mine).all():
        return
    known = [(int(size), element.decode()) for size, element in told if size >= 0]
    if differ(set(known)):
        size, element = own or known[0]
        parts = (detail, f"bytes {size}", f"element {element}")
        meet(members, operation, ", ".join(part for part in parts if part), depth=3)


def meet(members: Members, operation: str, detail: str = "", depth: int = 1) -> Any:
    """The group of these ranks, once all are in this call; None where there is nobody to meet."""
    if len(members.order) < 2 or min(members.order) < 0:
        return None
    if members.number:
        detail = f"{detail}, communicator {members.number}" if detail else f"communicator {members.number}"
    group = world().group(members.ranks)
    guard.collective(group, guard.Signature(operation, detail=detail), depth=depth)
    return group


def _maker(name: str, shared: tuple[tuple[int, str], ...], library: Any, watched: dict[type, type]) -> Any:
    def call(self: Any, *words: Any, **named: Any) -> Any:
        if is_watched():
            members = members_of(self)
            if name == "Create_group":
                group = word(words, named, 0, ("group",), None)
                order = group.Translate_ranks(list(range(group.Get_size())), self.Get_group())
                members = Members(tuple(members.order[rank] for rank in order), 0)
            alike = [(key, word(words, named, place, (key,), None)) for place, key in shared]
            said = ", ".join(
                f"{key} {str(value).replace(', ', ' ')}" for key, value in alike if value is not None
            )
            meet(members, f"MPI {name}", said, depth=2)
        new = library(self, *words, **named)
        if new == sys.modules["mpi4py.MPI"].COMM_NULL:
            return new
        made(new)
        return watched[type(new)](new) if type(new) in watched else new

    call.__name__ = name
    return call if library is not None else None


def _freeing(library: Any) -> Any:
    def Free(self: Any) -> None:
        forget(self)
        library(self)

    return Free


# --- messages ----------------------------------------------------------------------------------------------------------


def _sending(name: str, library: Any, start: Any) -> Any:
    def call(self: Any, *words: Any, **named: Any) -> None:
        if not is_watched():
            library(self, *words, **named)
            return
        request = start(self, *words, **named)
        dest, tag = word(words, named, 1, ("dest",), None), word(words, named, 2, ("tag",), 0)
        await_request(request, f"MPI {name}(dest {dest}, tag {tag})", peer_of(members_of(self), dest))

    call.__name__ = name
    return call


def _receiving(name: str, place: int, library: Any, probe: Any) -> Any:
    def call(self: Any, *words: Any, **named: Any) -> Any:
        if is_watched():
            _await_message(self, name, probe, *_source(words, named, place, "tag"))
        return library(self, *words, **named)

    call.__name__ = name
    return call


def _exchange(name: str, library: Any, start: Any, end: Any, probe: Any) -> Any:
    sent = ("sendbuf", "dest", "sendtag") if name[0].isupper() else ("sendobj", "dest", "sendtag")

    def call(self: Any, *words: Any, **named: Any) -> Any:
        if not is_watched():
            return library(self, *words, **named)
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

    def call(self: Any, *words: Any, **named: Any) -> Any:
        request = library(self, *words, **named)
        members = members_of(self)
        if place is None:
            return marked(request, f"MPI {name}", members.others)
        names = ("source",) if "recv" in name.lower() else ("dest",)
        peer = word(words, named, place, names, sys.modules["mpi4py.MPI"].ANY_SOURCE)
        return marked(request, f"MPI {name}", peer_of(members, peer))

    call.__name__ = name
    return call if library is not None else None
