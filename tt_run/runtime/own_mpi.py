"""The collectives that a program makes with mpi4py itself: agreed on like those of `ttnn`, before anything moves.

`MPI.COMM_WORLD`, as a program that has imported `ttnn` finds it, and its duplicates meet first. Another call, root, operation, size or
type on one rank is then an error that names both lines, where MPI would hang, or go on with what nobody has received. Blocking calls of
the main thread take part once the ranks have met; parts of the world go to the library as they are. A recorded rank has a book for them instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

from tt_run import contract
from tt_run.runtime.imports import Finder

_MODULE = "mpi4py.MPI"


class _Shape(NamedTuple):
    """Where the words of a call stand: its root and its operation, and the buffer whose size all ranks share.

    Where that buffer is MPI.IN_PLACE, `instead` stands for it, with a part for each rank in it if it is `cut`.
    """

    root: int | None = None
    op: int | None = None
    buffer: int | None = None
    instead: int | None = None
    cut: bool = False


_OBJECTS = {
    "barrier": _Shape(),
    "bcast": _Shape(root=1),
    "gather": _Shape(root=1),
    "scatter": _Shape(root=1),
    "allgather": _Shape(),
    "alltoall": _Shape(),
    "reduce": _Shape(op=1, root=2),
    "allreduce": _Shape(op=1),
    "scan": _Shape(op=1),
    "exscan": _Shape(op=1),
}
_BUFFERS = {
    "Barrier": _Shape(),
    "Bcast": _Shape(root=1, buffer=0),
    "Gather": _Shape(root=2, buffer=0, instead=1, cut=True),
    "Gatherv": _Shape(root=2),
    "Scatter": _Shape(root=2, buffer=1, instead=0, cut=True),
    "Scatterv": _Shape(root=2),
    "Allgather": _Shape(buffer=0, instead=1, cut=True),
    "Allgatherv": _Shape(),
    "Alltoall": _Shape(buffer=0, instead=1),
    "Alltoallv": _Shape(),
    "Alltoallw": _Shape(),
    "Reduce": _Shape(op=2, root=3, buffer=0, instead=1),
    "Allreduce": _Shape(op=2, buffer=0, instead=1),
    "Reduce_scatter_block": _Shape(op=2, buffer=0, instead=1),
    "Reduce_scatter": _Shape(op=3, buffer=0, instead=1),
    "Scan": _Shape(op=2, buffer=0, instead=1),
    "Exscan": _Shape(op=2, buffer=0, instead=1),
}
# Formats of arrays without a type of NumPy.
_FORMATS = {"d8": "f8", "f4": "f4", "i4": "i4", "l8": "i8", "q8": "i8", "L8": "u8", "Q8": "u8", "I4": "u4"}


def await_own_mpi() -> None:
    """Let this program's mpi4py be watched: now where it is loaded, else once it is, which may be after a fork that makes this process a rank."""
    if not any(os.environ.get(name) for name in ("OMPI_COMM_WORLD_SIZE", contract.RUN_DIR)):
        return
    if _MODULE in sys.modules:
        _watch(sys.modules[_MODULE])
    else:
        sys.meta_path.insert(0, Finder({_MODULE: _watch}))


def _watch(module: ModuleType) -> None:
    """Put a communicator that meets first in the place of MPI.COMM_WORLD. Nothing in a lone process, or where a book has the calls."""
    mpi: Any = module
    is_recorded = os.environ.get(contract.RECORD) or os.environ.get(contract.REPLAY)
    is_alone = os.environ.get("OMPI_COMM_WORLD_SIZE", "1") == "1"
    if is_alone or is_recorded or getattr(mpi, "_tt_run_raw", None) is not None:
        return
    names: dict[str, Any] = {
        name: _meeting(name, shape, getattr(mpi.Intracomm, name))
        for name, shape in {**_OBJECTS, **_BUFFERS}.items()
        if hasattr(mpi.Intracomm, name)
    }
    names["__module__"] = mpi.Intracomm.__module__
    watched = type("Intracomm", (mpi.Intracomm,), names)
    mpi._tt_run_raw = {"COMM_WORLD": mpi.COMM_WORLD}
    mpi.COMM_WORLD = watched(mpi.COMM_WORLD)


def _meeting(name: str, shape: _Shape, library: Any) -> Any:
    def call(self: Any, *words: Any, **named: Any) -> Any:
        _agree(self, name, shape, words, named)
        return library(self, *words, **named)

    call.__name__ = name
    return call


def _agree(comm: Any, name: str, shape: _Shape, words: Sequence[Any], named: dict[str, Any]) -> None:
    """Return when all ranks are in this call. Raises GuardError when they are not, or mean another one."""
    import threading

    from tt_run.runtime import guard
    from tt_run.runtime.comm.world import world

    if not guard.watches() or threading.current_thread() is not threading.main_thread():
        return
    operation, detail = "MPI Barrier" if name == "barrier" else f"MPI {name}", _detail(shape, words, named)
    everyone = world().everyone
    guard.collective(everyone, guard.Signature(operation, detail=detail), depth=2)
    if shape.buffer is None:
        return
    # All are here. A buffer may be given in ways that tell no size: those ranks have no say.
    told = everyone.allgather_bytes(_size(comm, shape, words, named).encode())
    known = [each.decode() for each in told if each]
    if _differ(set(known)):
        own = told[everyone.rank].decode() or known[0]
        detail = f"{detail}, {own}" if detail else own
        guard.collective(everyone, guard.Signature(operation, detail=detail), depth=2)


def _detail(shape: _Shape, words: Sequence[Any], named: dict[str, Any]) -> str:
    """What all ranks must mean alike, whatever they move: `root 1, op SUM`."""
    mpi: Any = sys.modules[_MODULE]
    parts = []
    if shape.root is not None:
        parts.append(f"root {_word(words, named, shape.root, ('root',), 0)}")
    if shape.op is not None:
        parts.append(f"op {_operation(mpi, _word(words, named, shape.op, ('op',), mpi.SUM))}")
    return ", ".join(parts)


def _size(comm: Any, shape: _Shape, words: Sequence[Any], named: dict[str, Any]) -> str:
    """`bytes 800, element f8` of the buffer that is as large on all ranks; empty where the way in which it is given does not tell."""
    mpi: Any = sys.modules[_MODULE]
    names = (("sendbuf", "buf"), ("recvbuf",))
    parts = 1
    try:
        spec = _word(words, named, shape.buffer or 0, names[shape.buffer or 0], None)
        if _is_in_place(mpi, spec) and shape.instead is not None:
            spec = _word(words, named, shape.instead, names[shape.instead], None)
            parts = comm.Get_size() if shape.cut else 1
        size, element = _extent(mpi, spec)
    except Exception:  # which the library refuses in its own words, or knows better
        return ""
    return f"bytes {size // parts}, element {element}"


def _differ(sizes: set[str]) -> bool:
    """Whether sizes contradict each other. Whoever moves bytes leaves open what they are, which every MPI lets pass."""
    plain = {size.replace(", element byte", "") for size in sizes}
    return (
        len({size.partition(",")[0] for size in plain}) > 1
        or len({size for size in plain if "," in size}) > 1
    )


def _word(words: Sequence[Any], named: dict[str, Any], place: int, names: Sequence[str], usual: Any) -> Any:
    if place < len(words):
        return words[place]
    return next((named[name] for name in names if name in named), usual)


def _is_in_place(mpi: Any, spec: Any) -> bool:
    return type(spec) is type(mpi.IN_PLACE) and spec == mpi.IN_PLACE


def _operation(mpi: Any, op: Any) -> str:
    if not isinstance(op, mpi.Op):
        return "of the program"
    names = (name for name, value in vars(mpi).items() if name.isupper() and isinstance(value, mpi.Op))
    return next((name for name in names if getattr(mpi, name) == op), "of the program")


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
    return "byte" if typestr[1:] == "1" else _FORMATS.get(typestr, typestr)
