"""Arrays for results, out of memory that was used before.

A fresh array of some MiB costs one page fault per 4 KiB, more time than the copy into it. Blocks of freed results are kept, up to
`LIMIT` bytes, and given out again; an array's block comes back when the last view of it is gone.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

LIMIT = 256 << 20
# Smaller arrays: the allocator of the C library recycles those well enough.
SMALLEST = 256 << 10
# Where large results begin in their page. The C library places large arrays 16 bytes into one; a processor copies up to twelve times
# slower to an address that lies a few bytes further into its page than the source does (measured on Zen 3, 4 KiB to 512 KiB).
IN_PAGE = 2048
PAGE = 4096

_free: dict[int, list[Block]] = {}
_kept = 0


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
    global _kept
    room = room_for(nbytes)
    blocks = _free.get(room)
    if not blocks:
        block = np.empty(room + PAGE, np.uint8)
        start = (IN_PAGE - block.__array_interface__["data"][0]) % PAGE
        found: Any = block[start : start + room].view(Block)
        return found
    _kept -= room
    return blocks.pop()


def _give_back(block: Block) -> None:
    global _kept
    if _kept + block.size <= LIMIT:
        _kept += block.size
        _free.setdefault(block.size, []).append(block)
