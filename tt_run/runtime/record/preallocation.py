"""Room for a file that grows: on the disk taken ahead, in larger and larger pieces, and in memory given back.

A write into room that is there takes a third less time, a small one half; one into memory that the file itself has just given back less than half
of one into memory that nobody has used yet, and the program keeps its own files there.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache

_KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE of Linux: the file is no longer for it
_LEAST, _MOST, _PART = 1 << 18, 1 << 25, 4  # bytes at a time, and how much of what is written is taken ahead

_AT_ONCE, _KEPT = 1 << 24, 1 << 25  # bytes that go to the disk together, and what is left in memory at least


class Room:
    """What is reserved behind the end of a file. Where the file system has no such thing, nothing is."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._begun = self._left = 0
        self.end: float = 0
        """The place up to which there is room."""
        self.full: float = _KEPT + _AT_ONCE if hasattr(os, "posix_fadvise") else float("inf")
        """The size from which on memory is to be given back."""

    def grow(self, size: int, limit: int) -> None:
        """Take more, for a file that is about to have `size` bytes and at most `limit`."""
        more = min(max(_LEAST, min(size // _PART, _MOST)), max(limit - size, 0))
        reserve = _system_call()
        if reserve is not None and reserve(self._descriptor, _KEEP_SIZE, 0, size + more) == 0:
            self.end = size + more
        else:  # the next write says itself what is wrong, if anything is
            self.end = float("inf")

    def forget(self, size: int) -> None:
        """Begin to write down what of a file of `size` bytes lies in memory longest, and keep no copy of what that was begun for before."""
        begun, upto = self._begun, size - _KEPT
        try:
            os.posix_fadvise(self._descriptor, self._left, begun - self._left, os.POSIX_FADV_DONTNEED)
            os.posix_fadvise(self._descriptor, begun, upto - begun, os.POSIX_FADV_DONTNEED)
        except OSError:  # then it stays there
            self.full = float("inf")
            return
        self._left, self._begun = max(self._left, begun - _KEPT), upto
        self.full = size + _AT_ONCE

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
