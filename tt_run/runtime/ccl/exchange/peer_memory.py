"""Reading what another rank of this host has in memory, without its help: one copy, into a buffer that stays in this rank's cache.

The system may refuse it (a sandbox, a guard of the kernel against debuggers, ranks in containers of their own), so ranks try it once:
each reads a word that nobody else can know from each other one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

STRETCHES = 512  # that one call reads
ROOM = 1 << 19  # bytes, as few as stay in the cache with as many of the operand and of the result
_WORD = 4  # numbers of the word, which is not the only thing in its page


class PeerMemory:
    """What the ranks of a window, which are the processes `pids`, have in memory. What is read goes into `room`, which stays where it is."""

    def __init__(self, pids: Sequence[int]) -> None:
        import ctypes

        self._pids = tuple(pids)
        self._call = getattr(ctypes.CDLL(None), "process_vm_readv", None)
        if self._call is not None:
            pointer, count = ctypes.c_void_p, ctypes.c_ulong
            self._call.argtypes = (ctypes.c_int, pointer, count, pointer, count, count)
            self._call.restype = ctypes.c_ssize_t
        # Address and length of where it goes, and of each stretch that is read.
        here, there = np.zeros(2, np.uint64), np.zeros(2 * STRETCHES, np.uint64)
        self._lists = here.ctypes.data, there.ctypes.data
        self._here, self._there = here.data, there.data
        self._steps = np.arange(STRETCHES, dtype=np.uint64)
        self.room = np.empty(ROOM, np.uint8)
        self._room_at = self.room.ctypes.data
        self.failed = False
        """Whether anything could not be read since somebody set it to False."""

    def read(self, rank: int, address: int, stride: int, count: int, nbytes: int, at: int) -> None:
        """Put `count` stretches of a rank's memory, of `nbytes` each and `stride` bytes apart, one after the other into the room from `at`."""
        here, there = self._here, self._there
        here[0], here[1] = self._room_at + at, count * nbytes
        if count == 1:
            there[0], there[1] = address, nbytes
        else:
            each = np.frombuffer(there, np.uint64).reshape(-1, 2)[:count]
            each[:, 0] = self._steps[:count] * np.uint64(stride) + np.uint64(address)
            each[:, 1] = nbytes
        lists = self._lists
        if (
            self._call is None
            or self._call(self._pids[rank], lists[0], 1, lists[1], count, 0) != count * nbytes
        ):
            self.failed = True


def own_word() -> tuple[Array, list[int]]:
    """A word that only who reads this process's memory knows, to be kept until all have, and what the others are told: process and address."""
    word = np.frombuffer(os.urandom(8 * _WORD), np.int64).copy()
    return word, [os.getpid(), word.__array_interface__["data"][0]]


def reads(memory: PeerMemory, told: Sequence[Sequence[int]], words: Sequence[Sequence[int]], me: int) -> bool:
    """Whether the word of each other rank is what it says."""
    for rank, (_, address) in enumerate(told):
        if rank != me:
            memory.read(rank, address, 0, 1, 8 * _WORD, 0)
            if memory.failed or memory.room[: 8 * _WORD].view(np.int64).tolist() != list(words[rank]):
                return False
    return True
