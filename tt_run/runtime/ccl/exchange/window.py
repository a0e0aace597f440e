"""Memory that the ranks of one host share for their collectives: a slot per rank for what is small, blocks for what is large.

Ranks write where the others read, and meet in between; a meeting costs a word per rank. A slot may be written while a rank still reads
the one before it, hence there are two of each: between two uses of a slot lies a meeting at which everybody had done with it. Results
in blocks are read-only, since all ranks look at the same bytes; a block is given out again once the last rank has dropped its arrays.
Only on x86, where writes become visible in program order; elsewhere, between hosts and without room the ranks exchange messages.
"""

from __future__ import annotations

import math
import mmap
import os
import platform
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tt_run.granted import usable_cpus
from tt_run.runtime import guard
from tt_run.runtime.comm.bell import BYTES, Bell, bell_at
from tt_run.runtime.comm.shared_memory import SharedBlock
from tt_run.runtime.comm.world import Group
from tt_run.runtime.values.recycled_arrays import IN_PAGE, PAGE, room_for

Array = npt.NDArray[Any]

HEADER, BODY = 4096, 32768  # bytes of a slot: the table of rows, and the rows
PIECE = 1 << 20  # bytes of input that a rank shows the others at a time while they reduce, at most
LIMIT = 256 << 20  # bytes of results that the ranks of a window keep together
BLOCKS = 64  # how many results

_LINE = 64  # each rank's word has a cache line of its own
_PATH = 256
_NUMBER, _NBYTES, _NEW, _CROWDED, _TEXT = 0, 1, 2, 3, 32  # of the offer: words, then the path of a new block
_SPINS = 1000


class Slots(NamedTuple):
    """One of the two slots of every rank, seen as a table (ranks, width) and rows (ranks, width, *shape)."""

    heads: npt.NDArray[np.int32]
    head: npt.NDArray[np.int32]
    bodies: Array
    body: Array
    rows: list[Array]


class Result(NamedTuple):
    """A shared block: `writable` while its ranks fill it, `array` for the tensor that keeps it."""

    writable: Array
    array: Array


class _Lease:
    """This rank's hold on a shared block while arrays over it exist, also after the window's end. What a forked child drops is still the parent's."""

    __slots__ = ("__array_interface__", "_block", "_flags", "_pid", "_place")

    def __init__(self, block: Array, flags: memoryview, place: int) -> None:
        self._block, self._flags, self._place, self._pid = block, flags, place, os.getpid()
        known = block.__array_interface__
        self.__array_interface__ = {**known, "data": (known["data"][0], True)}

    def __del__(self, pid: Callable[[], int] = os.getpid) -> None:
        if pid() == self._pid:
            self._flags[self._place] = 0


class Window:
    """One rank's view of the memory of a group. `ranks` are world ranks; `waiting(done, missing, bell)` waits for slow ones.

    `crowded`: there are more ranks than processors, so that those which wait sleep until a bell.
    """

    def __init__(
        self,
        memory: mmap.mmap,
        rank: int,
        size: int,
        waiting: Callable[[Callable[[], bool], Callable[[], tuple[int, ...]], Bell | None], None],
        crowded: bool = False,
    ) -> None:
        self.rank, self.size = rank, size
        self._waiting = waiting
        whole = memoryview(memory)
        self._words = whole[: _LINE * size].cast("Q")
        self._others = tuple(i * (_LINE // 8) for i in range(size) if i != rank)
        self._turn = 0
        at = _LINE * size
        self._offer = whole[at : at + _TEXT].cast("Q")
        self._path = whole[at + _TEXT : at + _TEXT + _PATH]
        at += _TEXT + _PATH
        self._flags = whole[at : at + BLOCKS * size]
        at = _slots_at(size)
        self._area = np.frombuffer(memory, np.uint8, 2 * size * (HEADER + BODY), at).reshape(2, size, -1)
        self._uses = 0
        self._blocks: dict[int, tuple[SharedBlock, Array]] = {}
        # A block whose name goes, and the meeting after which everybody has opened it.
        self._named: tuple[SharedBlock, int] | None = None
        self._scratch: Result | None = None
        self._shows = 0
        # Rank 0 decides for all how much is shown at a time: their processors may differ in number.
        self._crowded = crowded
        self._spins = 0 if crowded else _SPINS
        self._bell = bell_at(memory, _slots_at(size) - BYTES) if crowded else None

    # --- meeting -------------------------------------------------------------------------------------------------------

    def meet(self) -> None:
        """Return when every rank has come: all of them see what any of them wrote before."""
        words = self._words
        self._turn = turn = self._turn + 1
        words[self.rank * (_LINE // 8)] = turn
        spins = self._spins
        for place in self._others:
            while words[place] < turn:
                spins -= 1
                if spins < 0:
                    self._waiting(self._met, self._missing, self._bell)
                    break
            else:
                continue
            break
        else:
            if self._bell is not None:
                self._bell.ring()
        if self._named is not None and turn >= self._named[1]:
            self._named[0].unlinked()
            self._named = None

    def _met(self) -> bool:
        return all(self._words[place] >= self._turn for place in self._others)

    def _missing(self) -> tuple[int, ...]:
        return tuple(p // (_LINE // 8) for p in self._others if self._words[p] < self._turn)

    # --- small: slots --------------------------------------------------------------------------------------------------

    def next_slot(self) -> int:
        """Which of its two slots every rank uses in the next exchange."""
        self._uses ^= 1
        return self._uses

    def slots(self, width: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Slots, Slots]:
        """Both slots of all ranks: write to `head` and `body`, meet, read the others'."""
        return self._slots(0, width, shape, dtype), self._slots(1, width, shape, dtype)

    def _slots(self, which: int, width: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Slots:
        area = self._area[which]
        nbytes = width * dtype.itemsize * math.prod(shape)
        heads = area[:, : 4 * width].view(np.int32)
        bodies = area[:, HEADER : HEADER + nbytes].view(dtype).reshape(self.size, width, *shape)
        rows = [body.reshape(-1) for rank in bodies for body in rank]
        return Slots(heads, heads[self.rank], bodies, bodies[self.rank], rows)

    # --- large: blocks -------------------------------------------------------------------------------------------------

    def share(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Result | None:
        """An array that all ranks see, or None when there is no room for it.

        Every rank must call it, and meet once more before the next call: by then all have taken what was offered.
        """
        nbytes = dtype.itemsize * math.prod(shape)
        if self.rank == 0:
            self._choose(nbytes)
        self.meet()
        number = self._offer[_NUMBER]
        if not number:
            return None
        block = self._block(number - 1, self._offer[_NBYTES])
        lease = _Lease(block, self._flags, (number - 1) * self.size + self.rank)
        return Result(
            block[IN_PAGE : IN_PAGE + nbytes].view(dtype).reshape(shape),
            np.asarray(lease)[IN_PAGE : IN_PAGE + nbytes].view(dtype).reshape(shape),
        )

    def can_show(self) -> bool:
        """Whether there is room for what `show` needs. Every rank must call it."""
        if self._scratch is None:
            if self.rank == 0:
                self._offer[_CROWDED] = self._crowded
            self._scratch = self.share((2, self.size, PIECE), np.dtype(np.uint8))
            self._crowded = bool(self._offer[_CROWDED])
            self.meet()
        return self._scratch is not None

    def piece(self, of_whole: int) -> int:
        """Bytes to show at a time, after `can_show`: a part of PIECE that stays in the caches of both sides.

        Ranks without a processor each wait longer at a meeting than they win.
        """
        return PIECE if self._crowded else PIECE // of_whole

    def show(self, parts: Iterable[Array], dtype: np.dtype[Any]) -> Array:
        """Show parts of together at most PIECE bytes to the others, who do the same; one meeting.

        Returns what every rank shows: (ranks, elements), the parts one after the other. It stays as it is until the next but one `show`.
        """
        assert self._scratch is not None, "can_show() comes first"
        self._shows ^= 1
        shown, at = self._scratch.writable[self._shows].view(dtype), 0
        for part in parts:
            shown[self.rank, at : at + part.size].reshape(part.shape)[...] = part
            at += part.size
        self.meet()
        return shown

    def _choose(self, nbytes: int) -> None:
        """Offer a block that no rank uses, or a new one: its number from 1 and its size; number 0 for none."""
        size, room = self.size, room_for(nbytes) + PAGE
        free = [n for n in self._blocks if not any(self._flags[n * size : (n + 1) * size])]
        number = next((n for n in free if len(self._blocks[n][1]) == room), -1)
        self._offer[_NEW] = number < 0
        if number < 0:
            number = self._make(room, free)
        if number >= 0:
            self._flags[number * size : (number + 1) * size] = b"\1" * size
        self._offer[_NBYTES] = room
        self._offer[_NUMBER] = number + 1

    def _make(self, room: int, free: list[int]) -> int:
        """The number of a new block, in place of the largest free one where there are too many; -1 when there is no room."""
        used = sum(len(array) for _, array in self._blocks.values())
        number = next((n for n in range(BLOCKS) if n not in self._blocks), -1)
        if free and (number < 0 or used + room > LIMIT):
            number = max(free, key=lambda n: len(self._blocks[n][1]))
            used -= len(self._blocks[number][1])
        if number < 0 or used + room > LIMIT:
            return -1
        try:
            made = SharedBlock.create(room, in_memory=True)
        except OSError:
            return -1
        self._named = (made, self._turn + 2)
        self._blocks[number] = (made, np.frombuffer(made.memory, np.uint8))
        path = made.path.encode()
        self._path[: len(path)] = path
        self._path[len(path)] = 0
        return number

    def _block(self, number: int, room: int) -> Array:
        """A block by its number, opened if it is new."""
        if self.rank and self._offer[_NEW]:
            path = bytes(self._path).partition(b"\0")[0].decode()
            opened = SharedBlock.open(path, room)
            self._blocks[number] = (opened, np.frombuffer(opened.memory, np.uint8))
        return self._blocks[number][1]


def _slots_at(size: int) -> int:
    control = _LINE * size + _TEXT + _PATH + BLOCKS * size + BYTES
    return -(-control // 4096) * 4096


def window_bytes(size: int) -> int:
    """The shared memory that a window of so many ranks needs."""
    return _slots_at(size) + 2 * size * (HEADER + BODY)


_windows: dict[Group, Window | None] = {}


def known_window(group: Group) -> Window | None:
    """The window of a group, if it has been opened."""
    return _windows.get(group)


def open_window(group: Group) -> Window | None:
    """The window of a group; None where its ranks have to exchange messages. Every rank must call it, after agreement."""
    if group not in _windows:
        _windows[group] = _open(group)
    return _windows[group]


def _open(group: Group) -> Window | None:
    if not group.on_one_host or platform.machine().lower() not in ("x86_64", "amd64"):
        return None
    try:
        block = group.shared_block(window_bytes(group.size), in_memory=True)
    except OSError:
        return None

    def waiting(done: Callable[[], bool], missing: Callable[[], tuple[int, ...]], bell: Bell | None) -> None:
        guard.until(done, "the data of a collective", lambda: tuple(group.ranks[i] for i in missing()), bell)

    crowded = len(group.world.neighbours.ranks) > len(usable_cpus())
    return Window(block.memory, group.rank, group.size, waiting, crowded)
