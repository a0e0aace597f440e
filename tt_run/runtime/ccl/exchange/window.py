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
from tt_run.runtime.ccl.exchange.peer_memory import PeerMemory, own_word, reads
from tt_run.runtime.comm.bell import BYTES, Bell, bell_at
from tt_run.runtime.comm.shared_memory import SharedBlock
from tt_run.runtime.comm.world import Group
from tt_run.runtime.values.recycled_arrays import IN_PAGE, PAGE, Block, room_for

Array = npt.NDArray[Any]

HEADER, BODY = 4096, 32768  # bytes of a slot: the table of rows, and the rows
PIECE = 1 << 20  # bytes of input that a rank shows the others at a time while they reduce, at most
LIMIT = 256 << 20  # bytes of results that the ranks of a window keep together
BLOCKS = 64  # how many results

_LINE = 64  # each rank's word has a cache line of its own
_PATH = 256
_NUMBER, _NBYTES, _NEW, _CROWDED, _EARLY, _ASKED = range(6)  # words of the offer
_TEXT = 48  # where the path of a new block begins, behind them
_SPINS = 1000


class Slots(NamedTuple):
    """One of the two slots of every rank, seen as a table (ranks, width) and rows (ranks, width, *shape)."""

    heads: npt.NDArray[np.int32]
    head: npt.NDArray[np.int32]
    bodies: Array
    body: Array
    rows: list[Array]


class Result(NamedTuple):
    """A shared block: `writable` while its ranks fill it, `array` for the tensor that keeps it; `meet` once they have."""

    writable: Array
    array: Array
    meet: Callable[[], None]


class _Lease(np.ndarray[Any, Any]):
    """This rank's hold on a shared block while arrays over it exist, also after the window's end: a view of the block, and the base of those
    arrays. What a forked child drops is still the parent's."""

    __slots__ = ("flags_of_blocks", "forks", "place")
    flags_of_blocks: memoryview
    place: int
    forks: int

    def __del__(self) -> None:
        if getattr(self, "forks", -1) == _forks:
            self.flags_of_blocks[self.place] = 0


_forks = 0  # how often this process is a child: it keeps the number with which a lease was made


def _forked() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_forked)


class _Block(NamedTuple):
    """A shared block: its memory, and that as bytes to write and as bytes to read."""

    shared: SharedBlock
    writable: Array
    readable: Block


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
        self._blocks: dict[int, _Block] = {}
        self._shares = 0
        self._foreseen = -1  # the block that is kept for the next `share`, on rank 0
        # A block whose name goes, and the meeting after which everybody has opened it.
        self._named: tuple[SharedBlock, int] | None = None
        self._scratch: Result | None = None
        self._shows = 0
        self._peers: PeerMemory | None = None
        self._can_read: bool | None = None
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
        # Views also where a row is one number, whose element of `bodies` would be a copy.
        rows = [body for rank in bodies.reshape(self.size, width, math.prod(shape)) for body in rank]
        return Slots(heads, heads[self.rank], bodies, bodies[self.rank], rows)

    # --- large: blocks -------------------------------------------------------------------------------------------------

    def share(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Result | None:
        """An array that all ranks see, or None when there is no room for it.

        Every rank must call it, and meet once more before the next call: by then all have taken what was offered.
        """
        nbytes, offer = dtype.itemsize * math.prod(shape), self._offer
        self._shares += 1
        if offer[_EARLY] != self._shares or offer[_ASKED] != nbytes:
            if self.rank == 0:
                offer[_EARLY] = 0
                self._choose(nbytes)
            self.meet()
        self._foreseen = -1
        number = offer[_NUMBER]
        if not number:
            return None
        block = self._block(number - 1, offer[_NBYTES])
        lease: Any = block.readable.view(_Lease)
        lease.flags_of_blocks, lease.place = self._flags, (number - 1) * self.size + self.rank
        lease.forks = _forks
        return Result(
            np.ndarray(shape, dtype, block.writable, IN_PAGE),
            np.ndarray(shape, dtype, lease, IN_PAGE),
            self.meet,
        )

    def foresee(self, nbytes: int) -> None:
        """Choose, on rank 0, what the next `share` will ask for: it need not meet then. Only where the ranks meet otherwise before it."""
        self._release()
        room = room_for(nbytes) + PAGE
        number = next((n for n in self._blocks if self._is_free(n, room)), -1)
        if number >= 0:
            self._give(number, room, is_new=False)
            self._foreseen = number
            self._offer[_ASKED] = nbytes
            self._offer[_EARLY] = self._shares + 1

    def _release(self) -> None:
        """Give up a block that was chosen early for what did not come to pass."""
        if self._foreseen >= 0:
            self._flags[self._foreseen * self.size : (self._foreseen + 1) * self.size] = bytes(self.size)
            self._foreseen = -1

    def _is_free(self, number: int, room: int) -> bool:
        """Whether a block has this size and nobody uses it."""
        at = number * self.size
        return len(self._blocks[number].writable) == room and not any(self._flags[at : at + self.size])

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

    def peers(self) -> PeerMemory | None:
        """The memory of the other ranks, where every rank can read it. Every rank must call it, after `can_show`."""
        if self._can_read is None:
            self._can_read = self._try_to_read()
        return self._peers if self._can_read else None

    def _try_to_read(self) -> bool:
        word, told = own_word()
        all_told = self._tell(told)
        # A word is only shown once its place is known to all: whoever finds it there has read it there.
        words = self._tell(word.tolist())
        self._peers = PeerMemory([pid for pid, _ in all_told])
        answers = self._tell([reads(self._peers, all_told, words, self.rank)])
        return all(yes for (yes,) in answers)

    def _tell(self, numbers: list[int]) -> list[list[int]]:
        """What every rank tells, each as many numbers; one meeting."""
        shown = self.show((np.array(numbers, np.int64),), np.dtype(np.int64))
        return [row[: len(numbers)].tolist() for row in shown]

    def places(self, arrays: list[Array], most: int) -> list[list[int]]:
        """The addresses of the arrays of each rank, of at most so many; one meeting. They are read until the next one."""
        own = [array.__array_interface__["data"][0] for array in arrays]
        return self._tell([*own, *[0] * (most - len(own))])

    def all_have_read(self) -> bool:
        """Meet when done with the memory of others; whether everybody could read it. If not, nobody tries any more: a rank may have become
        another user, or closed itself."""
        words, step = self._words, _LINE // 8
        words[self.rank * step + 1] = self._peers is None or self._peers.failed
        self.meet()
        # Nobody says anything else before all have come to the next reading.
        self._can_read = not any(words[place * step + 1] for place in range(self.size))
        return self._can_read

    def _choose(self, nbytes: int) -> None:
        """Offer a block that no rank uses, or a new one: its number from 1 and its size; number 0 for none."""
        self._release()
        room = room_for(nbytes) + PAGE
        number = next((n for n in self._blocks if self._is_free(n, room)), -1)
        is_new = number < 0
        self._give(self._make(room) if is_new else number, room, is_new)

    def _give(self, number: int, room: int, is_new: bool) -> None:
        size, offer = self.size, self._offer
        if number >= 0:
            self._flags[number * size : (number + 1) * size] = b"\1" * size
        offer[_NEW] = is_new
        offer[_NBYTES] = room
        offer[_NUMBER] = number + 1

    def _make(self, room: int) -> int:
        """The number of a new block, in place of the largest free one where there are too many; -1 when there is no room."""
        sizes = {n: len(block.writable) for n, block in self._blocks.items()}
        free = [n for n, length in sizes.items() if self._is_free(n, length)]
        used = sum(sizes.values())
        number = next((n for n in range(BLOCKS) if n not in self._blocks), -1)
        if free and (number < 0 or used + room > LIMIT):
            number = max(free, key=lambda n: sizes[n])
            used -= sizes[number]
        if number < 0 or used + room > LIMIT:
            return -1
        try:
            made = SharedBlock.create(room, in_memory=True)
        except OSError:
            return -1
        self._named = (made, self._turn + 2)
        self._blocks[number] = _seen(made)
        path = made.path.encode()
        self._path[: len(path)] = path
        self._path[len(path)] = 0
        return number

    def _block(self, number: int, room: int) -> _Block:
        """A block by its number, opened if it is new."""
        if self.rank and self._offer[_NEW]:
            path = bytes(self._path).partition(b"\0")[0].decode()
            opened = SharedBlock.open(path, room)
            self._blocks[number] = _seen(opened)
        return self._blocks[number]


def _seen(shared: SharedBlock) -> _Block:
    writable = np.frombuffer(shared.memory, np.uint8)
    readable = writable.view(Block)
    readable.flags.writeable = False
    return _Block(shared, writable, readable)


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
