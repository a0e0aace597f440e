"""Arrays for results, out of memory that was used before.

A fresh array of some MiB costs one page fault per 4 KiB, more time than the copy into it. Blocks of freed results are kept and given
out again; an array's block comes back when the last view of it is gone. What is kept fills up to the most that arrays have taken at once,
and `SPARE` bytes beyond: memory that a program has needed before, so that its peak stays what its arrays take.
"""

from __future__ import annotations

import itertools
import math
import threading
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

LIMIT = 256 << 20
"""Bytes that are kept at most."""
SPARE = 8 << 20
# Smaller arrays: the allocator of the C library recycles those well enough.
SMALLEST = 256 << 10
# Where large results begin in their page. The C library places large arrays 16 bytes into one; a processor copies up to twelve times
# slower to an address that lies a few bytes further into its page than the source does (measured on Zen 3, 4 KiB to 512 KiB).
IN_PAGE = 2048
PAGE = 4096

_free: dict[int, list[Block]] = {}
_kept = 0
_used = 0
_most = 0
"""The largest `_used` so far."""
_last: dict[int, int] = {}
"""When a block of each size came back last."""
_clock = itertools.count()
# A block may come back in the middle of anything, on the thread that holds the lock too.
_lock = threading.RLock()


class Block(np.ndarray[Any, Any]):
    """The bytes of a block. A type of its own, since NumPy gives an array that is made of a view the view's base for its own if that is an array."""

    __slots__ = ()


class _Lease(np.ndarray[Any, Any]):
    """A view of a block, and the base of the arrays over it as long as one of them exists. A part that is cut out of it gives nothing back."""

    __slots__ = ("block",)
    block: Block

    def __del__(self) -> None:
        if hasattr(self, "block"):
            _give_back(self.block)


def empty(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An uninitialised C-contiguous array."""
    kind = dtype if isinstance(dtype, np.dtype) else np.dtype(dtype)
    nbytes = kind.itemsize * math.prod(shape)
    if nbytes < SMALLEST:
        return np.empty(shape, kind)
    block = _take(nbytes)
    lease: Any = block.view(_Lease)
    lease.block = block
    return np.ndarray(shape, kind, lease)


def contiguous(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array itself if it lies row by row, else a copy that does."""
    if array.flags.c_contiguous:
        return array
    copy = empty(array.shape, array.dtype)
    np.copyto(copy, array)
    return copy


@lru_cache(maxsize=1024)
def room_for(nbytes: int) -> int:
    """Blocks come in sizes of one eighth of a power of two, so that nearly equal results share them."""
    step = 1 << max(nbytes.bit_length() - 4, 12)
    return -(-nbytes // step) * step


def _take(nbytes: int) -> Block:
    global _kept, _used, _most
    room = room_for(nbytes)
    with _lock:
        _used += room
        _most = max(_most, _used)
        blocks = _free.get(room)
        if blocks:
            _kept -= room
            return blocks.pop()
        _shrink(_room_left())
    block = np.empty(room + PAGE, np.uint8)
    start = (IN_PAGE - block.__array_interface__["data"][0]) % PAGE
    found: Any = block[start : start + room].view(Block)
    return found


def _give_back(block: Block) -> None:
    global _kept, _used
    with _lock:
        _used -= block.size
        _kept += block.size
        _free.setdefault(block.size, []).append(block)
        _last[block.size] = next(_clock)
        _shrink(_room_left())


def _room_left() -> int:
    """Bytes that may be kept now."""
    return min(LIMIT, _most - _used + SPARE)


def _shrink(limit: int) -> None:
    """Let go of blocks until no more than so many bytes are kept, those of the size that came back longest ago first."""
    global _kept
    while _kept > limit:
        size = min((size for size, blocks in _free.items() if blocks), key=_last.__getitem__, default=0)
        if not size:
            return
        _free[size].pop()
        _kept -= size
