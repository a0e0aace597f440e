"""The words of a collective that a program makes with mpi4py itself: what all ranks must mean alike, and which sizes they have to share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from tt_run.runtime.guard.diagnosis import ONE_BYTE
from tt_run.runtime.guard.signature import SENT

_MODULE = "mpi4py.MPI"


class Shape(NamedTuple):
    """Where the words of a call stand: its root and its operation, and the buffer whose size all ranks share.

    Where that buffer is MPI.IN_PLACE, `instead` stands for it, with a part for each rank in it if it is `cut`.
    """

    root: int | None = None
    op: int | None = None
    buffer: int | None = None
    instead: int | None = None
    cut: bool = False


OBJECTS = {
    "barrier": Shape(),
    "bcast": Shape(root=1),
    "gather": Shape(root=1),
    "scatter": Shape(root=1),
    "allgather": Shape(),
    "alltoall": Shape(),
    "reduce": Shape(op=1, root=2),
    "allreduce": Shape(op=1),
    "scan": Shape(op=1),
    "exscan": Shape(op=1),
}
BUFFERS = {
    "Barrier": Shape(),
    "Bcast": Shape(root=1, buffer=0),
    "Gather": Shape(root=2, buffer=0, instead=1, cut=True),
    "Gatherv": Shape(root=2),
    "Scatter": Shape(root=2, buffer=1, instead=0, cut=True),
    "Scatterv": Shape(root=2),
    "Allgather": Shape(buffer=0, instead=1, cut=True),
    "Allgatherv": Shape(),
    "Alltoall": Shape(buffer=0, instead=1),
    "Alltoallv": Shape(),
    "Alltoallw": Shape(),
    "Reduce": Shape(op=2, root=3, buffer=0, instead=1),
    "Allreduce": Shape(op=2, buffer=0, instead=1),
    "Reduce_scatter_block": Shape(op=2, buffer=0, instead=1),
    "Reduce_scatter": Shape(op=3, buffer=0, instead=1),
    "Scan": Shape(op=2, buffer=0, instead=1),
    "Exscan": Shape(op=2, buffer=0, instead=1),
}
NEIGHBOURS = {
    name: Shape()
    for name in (
        *("neighbor_allgather", "neighbor_alltoall", "Neighbor_allgather", "Neighbor_allgatherv", "Neighbor_alltoall"),
        *("Neighbor_alltoallv", "Neighbor_alltoallw"),
    )
}  # fmt: skip
SHAPES = {**OBJECTS, **BUFFERS, **NEIGHBOURS}
PARTED = ("Gatherv", "Scatterv", "Alltoallv")
"""Calls in which each rank may give, and take, as much as it likes, as long as both mean the same."""
_MOST_PARTS = 16
_BUFFERS = (("sendbuf", "buf"), ("recvbuf",))
_MOST_DETAILS = 4096
_BARE = Shape()
_operations: dict[int, str] = {}  # names of MPI's own, by handle
# Formats of arrays without a type of NumPy.
_FORMATS = {"d8": "f8", "f4": "f4", "i4": "i4", "l8": "i8", "q8": "i8", "L8": "u8", "Q8": "u8", "I4": "u4"}


_details: dict[Any, str] = {}  # of calls on whole arrays, which repeat


def detail_of(comm: Any, name: str, words: Sequence[Any], named: dict[str, Any]) -> str:
    """What all ranks must mean alike: `root 1, op SUM, bytes 800, element f8`; no size where the way in which a buffer is given tells none."""
    shape = SHAPES[name]
    mpi: Any = sys.modules[_MODULE]
    if name == "Allgatherv":
        return _gathered(mpi, word(words, named, 1, ("recvbuf",), None))
    if shape == _BARE and name not in PARTED:
        return ""
    root = None if shape.root is None else word(words, named, shape.root, ("root",), 0)
    op = None if shape.op is None else word(words, named, shape.op, ("op",), mpi.SUM)
    whole = None if shape.buffer is None else word(words, named, shape.buffer, _BUFFERS[shape.buffer], None)
    key: Any = None
    if (root is None or type(root) is int) and (op is None or type(op) is mpi.Op):
        # Of an operation of the program another may have the number once it is freed.
        handle = None if op is None else (op.handle, op.is_commutative)
        if whole is None:
            key = (name, root, handle)
        elif type(whole).__name__ == "ndarray":
            key = (name, root, handle, whole.nbytes, whole.dtype)
    found = None if key is None else _details.get(key)
    if found is None:
        parts = [] if shape.root is None else [f"root {root}"]
        parts += [] if shape.op is None else [f"op {_operation(mpi, op)}"]
        size = None if shape.buffer is None else size_of(comm, shape, words, named)
        parts += [] if size is None else [f"bytes {size[0]}", f"element {size[1]}"]
        found = ", ".join(parts)
        if key is not None and len(_details) < _MOST_DETAILS:
            _details[key] = found
    if name in PARTED and (sent := _sent(mpi, name, word(words, named, 0, _BUFFERS[0], None))):
        found = f"{found}, {sent}" if found else sent
    if name == "Reduce_scatter":
        found += f", {_parts(word(words, named, 2, ('recvcounts',), None))}"
    return found


def _sent(mpi: Any, name: str, spec: Any) -> str:
    """The bytes that this rank gives, to each rank where these differ; nothing where that cannot be told."""
    try:
        if spec is None or _is_in_place(mpi, spec):
            return ""
        if name == "Gatherv":
            return f"{SENT}{_extent(mpi, spec)[0]}"
    except Exception:  # which the library refuses in its own words, or knows better
        return ""
    parts = _gathered(mpi, spec).removeprefix("counts ")
    return f"{SENT}{parts}" if 0 < parts.count("+") < _MOST_PARTS else ""


def bytes_taken(comm: Any, name: str, words: Sequence[Any], named: dict[str, Any]) -> dict[int, int]:
    """The bytes that this rank takes from each rank of a call in which parts differ; empty where that cannot be told."""
    mpi: Any = sys.modules[_MODULE]
    spec = word(words, named, 1, ("recvbuf",), None)
    if name == "Scatterv":
        try:
            return {word(words, named, 2, ("root",), 0): _extent(mpi, spec)[0]}
        except Exception:  # which the library knows better
            return {}
    counts = _gathered(mpi, spec).removeprefix("counts ")
    return dict(enumerate(map(int, counts.split("+")))) if counts else {}


def _parts(counts: Any) -> str:
    """The part of each rank of a sum, which all ranks say alike: who says none gathers them first, and waits for all others to do so."""
    if counts is None:
        return "parts as received"
    try:
        return f"parts {'+'.join(str(int(each)) for each in counts)}"
    except (TypeError, ValueError):  # which the library refuses in its own words
        return "parts of another kind"


def _gathered(mpi: Any, spec: Any) -> str:
    """The bytes from each rank, as the buffer that receives them says, alike on all ranks; nothing where it leaves that to the library."""
    try:
        data, counts, *rest = spec
        if isinstance(counts, (list, tuple)) and counts and not isinstance(counts[0], int):
            counts = counts[0]  # of a pair of counts and places
        datatype = next((each for each in rest if isinstance(each, (str, mpi.Datatype))), None)
        if datatype is None:
            size = memoryview(data).itemsize
        else:
            size = (mpi.Datatype.fromcode(datatype) if isinstance(datatype, str) else datatype).Get_size()
        return f"counts {'+'.join(str(int(each) * size) for each in counts)}"
    except Exception:  # which the library refuses in its own words, or knows better
        return ""


def size_of(comm: Any, shape: Shape, words: Sequence[Any], named: dict[str, Any]) -> tuple[int, str] | None:
    """Bytes of the buffer that is as large on all ranks, and what an element is: 800, `f8`. None where the way in which it is given does not tell."""
    mpi: Any = sys.modules[_MODULE]
    parts = 1
    try:
        spec = word(words, named, shape.buffer or 0, _BUFFERS[shape.buffer or 0], None)
        if _is_in_place(mpi, spec) and shape.instead is not None:
            spec = word(words, named, shape.instead, _BUFFERS[shape.instead], None)
            parts = comm.Get_size() if shape.cut else 1
        size, element = _extent(mpi, spec)
    except Exception:  # which the library refuses in its own words, or knows better
        return None
    return size // parts, element


def word(words: Sequence[Any], named: dict[str, Any], place: int, names: Sequence[str], usual: Any) -> Any:
    """A word of a call, given by its place or by one of its names."""
    if place < len(words):
        return words[place]
    for name in names:
        if name in named:
            return named[name]
    return usual


def _is_in_place(mpi: Any, spec: Any) -> bool:
    return type(spec) is type(mpi.IN_PLACE) and spec == mpi.IN_PLACE


def _operation(mpi: Any, op: Any) -> str:
    if not isinstance(op, mpi.Op):
        return "of the program"
    if not _operations:
        named = {name: value for name, value in vars(mpi).items() if name.isupper()}
        _operations.update({value.handle: name for name, value in named.items() if isinstance(value, mpi.Op)})
    of_program = "of the program, commutative" if op.is_commutative else "of the program"
    return _operations.get(op.handle, of_program)


def _extent(mpi: Any, spec: Any) -> tuple[int, str]:
    """Bytes of a buffer's data, and what one element is: `f8`; one-byte elements count as bytes. Raises where that cannot be told."""
    data, *rest = spec if isinstance(spec, (list, tuple)) else (spec,)
    view = memoryview(data)
    counts = [each for each in rest if isinstance(each, int)]
    if (
        not all(each is None or isinstance(each, (int, str, mpi.Datatype)) for each in rest)
        or len(counts) > 1
    ):
        raise ValueError("counts and places for each rank")
    datatype = next((each for each in rest if isinstance(each, (str, mpi.Datatype))), None)
    if datatype is None:
        element = data.dtype.str[1:] if hasattr(data, "dtype") else f"{view.format}{view.itemsize}"
        return (counts[0] * view.itemsize if counts else view.nbytes), _element(element)
    if isinstance(datatype, str):
        datatype = mpi.Datatype.fromcode(datatype)
    count = counts[0] if counts else view.nbytes // max(1, datatype.Get_extent()[1])
    size = count * datatype.Get_size()
    while not datatype.is_predefined:
        datatype = datatype.decode()[0]
    return size, _element(datatype.typestr)


def _element(typestr: str) -> str:
    return ONE_BYTE if typestr[1:] == "1" else _FORMATS.get(typestr, typestr)
