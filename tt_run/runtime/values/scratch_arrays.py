"""Room for intermediate results of a block: one set for each thread and purpose, still in the cache from the block before.

Fresh arrays begin 16 bytes into a cache line, so that every wide load touches two lines; these begin at one.
"""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt

Float32 = npt.NDArray[np.float32]

BLOCK = 131072
"""Elements of a block: small enough for the caches, and so large that the calls for one cost little, and threads seldom ask each other for the interpreter."""
# Arrays a multiple of 4 KiB apart would hide each other's stores from the processor's loads.
_APART = 1024

_KEPT = 2 * BLOCK
"""Longer arrays are made for one use: a thread would hold them for good."""

_here = threading.local()

# The C library asks the system for memory of every array beyond 128 KiB and gives it back with it, at a page fault per 4 KiB: two thirds
# of the time of functions that make an array per step. Once it has freed one of this size it keeps twice as much for the next ones.
np.empty(16 * BLOCK * 4, np.uint8)


def scratch(purpose: str, count: int, elements: int = BLOCK) -> list[Float32]:
    """`count` arrays of `elements` float32 numbers, uninitialised; whoever asks for the same purpose on this thread gets the same ones.

    A purpose belongs to one function that does not call itself.
    """
    if elements > _KEPT:
        return [_aligned(elements, number) for number in range(count)]
    kept: dict[str, list[Float32]] = _here.__dict__
    found = kept.get(purpose)
    if found is None or len(found) < count or found[0].size < elements:
        found = kept[purpose] = [_aligned(elements, number) for number in range(count)]
    return found


def _aligned(elements: int, number: int) -> Float32:
    """An array at the start of a cache line, each number at another place of its page."""
    block = np.empty(4 * elements + 2 * 4096, np.uint8)
    start = (number * _APART - block.__array_interface__["data"][0]) % 4096
    return block[start : start + 4 * elements].view(np.float32)
