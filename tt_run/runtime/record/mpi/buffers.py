"""The memory that an argument of an MPI call means, and digests of what a call sends."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.record.arrays import digest
from tt_run.runtime.record.mpi.calls import base_name, is_read
from tt_run.runtime.record.pickles import pickled

Bytes = npt.NDArray[np.uint8]
_NOTHING = ("InPlaceType", "BottomType")
_ROOTS = ("bcast", "scatter", "scatterv")
"""Calls to which only the root gives something."""
_RECEIVES = ("recv", "precv", "probe", "mprobe", "barrier")


_EXTENDED = 63  # bits of a fraction that lies in ten bytes, whatever room it takes


class Unseen(Exception):
    """Memory that cannot be looked at from here."""


def memory_of(buffer: Any) -> Bytes | None:
    """The bytes of a buffer argument: an array or tensor, or a list that begins with one; None where there is none. Raises Unseen."""
    first = buffer[0] if isinstance(buffer, (list, tuple)) and buffer else buffer
    if first is None or type(first).__name__ in _NOTHING:
        return None
    try:
        view = memoryview(first)
    except TypeError:
        return _of_tensor(first)
    if not view.c_contiguous:
        if not view.f_contiguous:
            raise Unseen("memory with holes")
        view = memoryview(np.asarray(first).T)
    return np.frombuffer(view.cast("B"), np.uint8) if view.nbytes else np.empty(0, np.uint8)


def _of_tensor(tensor: Any) -> Bytes:
    """What is no buffer of Python, as a tensor of PyTorch, but has its memory here."""
    try:
        if type(tensor).__module__.partition(".")[0] == "torch" and tensor.is_contiguous():
            import torch

            found: Bytes = tensor.detach().reshape(-1).view(torch.uint8).numpy()
            return found
        return np.from_dlpack(tensor).reshape(-1).view(np.uint8)
    except (AttributeError, TypeError, ValueError, RuntimeError, BufferError) as error:
        raise Unseen(f"a {type(tensor).__name__}") from error


def sent_digest(name: str, given: dict[str, Any], rank: int) -> bytes:
    """The digest of what this rank gives to a call; empty where it gives nothing, or what only this process can name."""
    base = base_name(name)
    if name.startswith("File."):
        return b"" if is_read(name) else _buffer_digest(given.get("buf"))
    if base in _RECEIVES or (base in _ROOTS and given.get("root", 0) != rank):
        return b""
    value = next((given[word] for word in ("sendobj", "obj", "sendbuf", "buf") if word in given), None)
    if type(value).__name__ == "InPlaceType":
        value = given.get("recvbuf")
    if name[0].isupper():
        return _buffer_digest(value)
    return _object_digest(value)


def _buffer_digest(value: Any) -> bytes:
    """Of as much of the memory as is sent; what a datatype with holes picks out of it is not looked at."""
    try:
        memory = memory_of(value)
    except Unseen:
        return b""
    if memory is None:
        return b""
    first = value
    if isinstance(value, (list, tuple)):
        first, taken = value[0], _taken(value, memory)
        if taken is None:
            return b""
        memory = memory[:taken]
    return digest(_without_padding(first, memory))


def _without_padding(first: Any, memory: Bytes) -> Bytes:
    """What an array's elements say: bytes between their parts are any."""
    kind = getattr(first, "dtype", None)
    used = _used(kind) if isinstance(kind, np.dtype) else None
    if used is None or len(memory) % len(used):
        return memory
    return memory.reshape(-1, len(used))[:, used].reshape(-1)


@lru_cache(64)
def _used(kind: np.dtype[Any]) -> npt.NDArray[np.bool_] | None:
    """Which bytes of an element say something; None for all."""
    if kind.fields is None and kind.subdtype is None and kind.char not in "gG":
        return None
    found = np.zeros(kind.itemsize, np.bool_)
    _mark(found, kind, 0)
    return None if found.all() else found


def _mark(found: npt.NDArray[np.bool_], kind: np.dtype[Any], at: int) -> None:
    if kind.fields is not None:
        for part, offset, *_ in kind.fields.values():
            _mark(found, part, at + offset)
    elif kind.subdtype is not None:
        part = kind.base
        for start in range(at, at + kind.itemsize, part.itemsize):
            _mark(found, part, start)
    elif kind.char in "gG" and np.finfo(np.longdouble).nmant == _EXTENDED:
        for start in range(at, at + kind.itemsize, np.dtype("g").itemsize):
            found[start : start + 10] = True
    else:
        found[at : at + kind.itemsize] = True


def _taken(value: list[Any] | tuple[Any, ...], memory: Bytes) -> int | None:
    """How many bytes a list of memory, count and datatype means; None where they are not the first ones."""
    size = memoryview(value[0]).itemsize if not hasattr(value[0], "element_size") else value[0].element_size()
    count: Any = None
    for word in value[1:]:
        if isinstance(word, (int, np.integer)):
            count = int(word)
        elif hasattr(word, "Get_size"):
            if not getattr(word, "is_named", True):
                return None
            size = int(word.Get_size())
        elif isinstance(word, str):
            size = np.dtype(word).itemsize
        else:
            return None  # counts and displacements
    return len(memory) if count is None else min(count * size, len(memory))


def _object_digest(value: Any) -> bytes:
    if value is None:
        return b""
    try:
        return digest(np.frombuffer(pickled(value), np.uint8))
    except Exception:  # what only this process can name
        return b""
