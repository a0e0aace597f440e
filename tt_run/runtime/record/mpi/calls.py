"""The calls of mpi4py that are recorded: the names of their words, which of them are sent, and which only wait."""

from __future__ import annotations

import sys
from typing import Any

from tt_run.runtime.record.facts import Facts, Place, place, site, site_at

Words = tuple[str, ...]

# Calls of Python objects.
OBJECTS: dict[str, Words] = {
    "bcast": ("obj", "root"),
    "gather": ("sendobj", "root"),
    "scatter": ("sendobj", "root"),
    "allgather": ("sendobj",),
    "alltoall": ("sendobj",),
    "reduce": ("sendobj", "op", "root"),
    "allreduce": ("sendobj", "op"),
    "scan": ("sendobj", "op"),
    "exscan": ("sendobj", "op"),
    "neighbor_allgather": ("sendobj",),
    "neighbor_alltoall": ("sendobj",),
    "send": ("obj", "dest", "tag"),
    "ssend": ("obj", "dest", "tag"),
    "bsend": ("obj", "dest", "tag"),
    "recv": ("buf", "source", "tag", "status"),
    "sendrecv": ("sendobj", "dest", "sendtag", "recvbuf", "source", "recvtag", "status"),
    "probe": ("source", "tag", "status"),
    "iprobe": ("source", "tag", "status"),
    "Probe": ("source", "tag", "status"),
    "Iprobe": ("source", "tag", "status"),
    "barrier": (),
}
_REDUCING: dict[str, Words] = {
    "Reduce": ("sendbuf", "recvbuf", "op", "root"),
    "Allreduce": ("sendbuf", "recvbuf", "op"),
    "Scan": ("sendbuf", "recvbuf", "op"),
    "Exscan": ("sendbuf", "recvbuf", "op"),
    "Reduce_scatter": ("sendbuf", "recvbuf", "recvcounts", "op"),
    "Reduce_scatter_block": ("sendbuf", "recvbuf", "op"),
}
_MOVING: dict[str, Words] = {
    "Bcast": ("buf", "root"),
    **dict.fromkeys(("Gather", "Gatherv", "Scatter", "Scatterv"), ("sendbuf", "recvbuf", "root")),
    **dict.fromkeys(("Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw"), ("sendbuf", "recvbuf")),
    **dict.fromkeys(("Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall", "Neighbor_alltoallv"), ("sendbuf", "recvbuf")),
}  # fmt: skip
_MESSAGES: dict[str, Words] = {
    **dict.fromkeys(("Send", "Ssend", "Bsend", "Rsend"), ("buf", "dest", "tag")),
    "Recv": ("buf", "source", "tag", "status"),
    "Sendrecv": ("sendbuf", "dest", "sendtag", "recvbuf", "source", "recvtag", "status"),
    "Sendrecv_replace": ("buf", "dest", "sendtag", "source", "recvtag", "status"),
}
# Calls of buffers; the one that is received into is `recvbuf` or `buf`.
BUFFERS: dict[str, Words] = {**_MOVING, **_REDUCING, **_MESSAGES, "Barrier": ()}
# Calls that are started here and waited for later.
STARTED: dict[str, Words] = {
    **{f"I{name.lower()}": words for name, words in BUFFERS.items()},
    **dict.fromkeys(("isend", "issend", "ibsend"), ("obj", "dest", "tag")),
    "irecv": ("buf", "source", "tag"),
    "Iagree": ("flag",),
}
# The same prepared once and started again and again.
PREPARED: dict[str, Words] = {
    **{f"{name}_init": words for name, words in BUFFERS.items()},
    "Psend_init": ("buf", "partitions", "dest", "tag"),
    "Precv_init": ("buf", "partitions", "source", "tag"),
}
MAKERS = (
    "Dup", "Dup_with_info", "Clone", "Split", "Split_type", "Create", "Create_group", "Create_cart", "Sub", "Create_intercomm", "Merge",
    "Create_graph", "Create_dist_graph", "Create_dist_graph_adjacent", "Shrink",
)  # fmt: skip
"""Calls that make another communicator; its ranks are what a replay needs."""
STARTED_MAKERS = ("Idup", "Idup_with_info")
"""Those that are waited for: a communicator like this one, and a request."""
MESSAGES = ("mprobe", "improbe", "Mprobe", "Improbe")
"""Calls that find a message which is received later."""
_FILL_NOTHING = ("send", "ssend", "bsend", "rsend", "psend", "barrier", "probe", "agree")
OPERATIONS = (
    "SUM", "MAX", "MIN", "PROD", "LAND", "LOR", "LXOR", "BAND", "BOR", "BXOR", "MAXLOC", "MINLOC", "REPLACE", "NO_OP",
)  # fmt: skip
_SAID = ("root", "dest", "source", "tag", "sendtag", "recvtag")


class NotRecorded(RuntimeError):
    """A replayed program asks MPI for what no record has."""

    code = "TTP004"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"error[{self.code}]: {name} at {site()} is not in the record: a replay has no MPI\n"
            "  help: tt-run explain TTP004 lists the calls of mpi4py that are recorded"
        )


class NotRecordedMember(NotRecorded, AttributeError):
    """The same of a class or module, which a program may ask with `hasattr`."""


def facts_of(name: str, words: Words = (), given: dict[str, Any] | None = None, size: int = 1) -> Facts:
    """What a call is called in the record."""
    found = given or {}
    said = tuple(
        (word, int(found[word])) for word in words if word in _SAID and isinstance(found.get(word), int)
    )
    operation = _operation(found["op"]) if "op" in found else "SUM"  # which is meant where none is given
    at = place()
    key = name, said, operation, at, size
    facts = _known.get(key)
    if facts is None:
        if len(_known) >= _REMEMBERED:
            _known.clear()
        told = [f"{word}={number}" for word, number in said]
        told += [f"op={operation}"] if operation != "SUM" else []
        facts = Facts("mpi", name, f"MPI {name}({', '.join(told)})", site_at(at), tuple(range(size)))
        _known[key] = facts
    return facts


_known: dict[tuple[str, tuple[tuple[str, int], ...], str, Place, int], Facts] = {}
_REMEMBERED = 4096


def _operation(op: Any) -> str:
    """The library's name of an operation, or that it is the program's own."""
    library = sys.modules["mpi4py.MPI"]
    return next((name for name in OPERATIONS if getattr(library, name, None) is op), "its own")


def named_words(words: Words, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The words of a call by their names."""
    return {**dict(zip(words, args, strict=False)), **kwargs}


def base_name(name: str) -> str:
    """`Ibcast` and `Bcast_init` are `bcast`: what is sent in each is the same."""
    return name.removesuffix("_init").lower().removeprefix("i")


def is_read(name: str) -> bool:
    """Whether a call on a file reads."""
    return "read" in name.lower()


def receives_into(name: str) -> bool:
    """Whether a call fills memory of the program."""
    if name.startswith("File."):
        return is_read(name)
    return name[0].isupper() and base_name(name) not in _FILL_NOTHING
