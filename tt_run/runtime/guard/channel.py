"""How the ranks of one group find out that all of them are in the same call.

On one host each rank writes a word (ordinal of the call, hash of its signature) into memory that all see and looks at the others'
words; across hosts the words travel in a nonblocking all-gather. The words alternate between two places: a rank can be one call
ahead of another that is still looking, never two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from tt_run.runtime.comm.bell import BYTES, Bell, bell_at
from tt_run.runtime.guard.signature import SignedCall

if TYPE_CHECKING:
    from tt_run.runtime.comm.world import Group, Pending

_ORDINAL = 0xFFFFFFFF
HISTORY = 24  # calls whose lines are remembered for reports


# What a look at the other ranks shows.
PENDING, AGREED, DIFFERENT = 0, 1, -1


class Channel(ABC):
    """The calls of one group on this rank: how many, the last ones, and the meeting of the next."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.number = 0
        self.bell: Bell | None = None
        self.history: deque[tuple[int, SignedCall]] = deque(maxlen=HISTORY)
        self.others = tuple(i for i in range(group.size) if i != group.rank)

    @abstractmethod
    def announce(self, call: SignedCall) -> int:
        """Publish that this rank is in its next call; returns the word that the others must show."""

    @abstractmethod
    def look(self, word: int) -> int:
        """AGREED when every rank shows this word, DIFFERENT as soon as one is in this call with another, else PENDING."""

    @abstractmethod
    def missing(self, word: int) -> tuple[int, ...]:
        """The world ranks that are not in this call yet, as far as this rank can see."""

    def spin(self, word: int, turns: int) -> bool:
        """Look at most `turns` times in a tight loop; True when all agree, False for whatever needs a closer look."""
        return self.look(word) == AGREED

    def _next(self, call: SignedCall) -> int:
        self.number += 1
        self.history.append((self.number, call))
        return (self.number & _ORDINAL) << 32 | call.code


class SharedChannel(Channel):
    """Words in shared memory: `words[parity * size + i]` is that of group rank i. Creating it is collective.

    Where ranks are `crowded`, more than there are processors, those that wait sleep until a bell.
    """

    def __init__(self, group: Group, crowded: bool = False) -> None:
        super().__init__(group)
        self._block = group.shared_block(16 * group.size + BYTES)
        self.words = memoryview(self._block.memory)[: 16 * group.size].cast("Q")
        if crowded:
            self.bell = bell_at(self._block.memory, 16 * group.size)
        self._own = (group.rank, group.size + group.rank)
        self._slots = tuple(tuple(parity * group.size + i for i in self.others) for parity in (0, 1))

    def announce(self, call: SignedCall) -> int:
        """Write this rank's word."""
        self.number = number = self.number + 1
        self.history.append((number, call))
        self.words[self._own[number & 1]] = word = (number & _ORDINAL) << 32 | call.code
        return word

    def spin(self, word: int, turns: int) -> bool:
        """The hot path: most ranks come within microseconds of each other."""
        words = self.words
        for slot in self._slots[self.number & 1]:
            while (other := words[slot]) != word:
                turns -= 1
                if turns < 0 or other >> 32 == word >> 32:
                    return False
        return True

    def look(self, word: int) -> int:
        """One pass over the words; each is read once, since between two reads it may become the one that is waited for."""
        words, found = self.words, AGREED
        for slot in self._slots[self.number & 1]:
            other = words[slot]
            if other != word:
                if other >> 32 == word >> 32:
                    return DIFFERENT
                found = PENDING
        return found

    def ahead(self, code: int) -> tuple[int, ...]:
        """The ranks that are in the call after this rank's last one, with this code."""
        number = self.number + 1
        word = (number & _ORDINAL) << 32 | code
        return tuple(
            self.group.ranks[i]
            for i, slot in zip(self.others, self._slots[number & 1], strict=True)
            if self.words[slot] == word
        )

    def missing(self, word: int) -> tuple[int, ...]:
        """The ranks whose word is of an earlier call."""
        slots = self._slots[self.number & 1]
        return tuple(
            self.group.ranks[i]
            for i, slot in zip(self.others, slots, strict=True)
            if self.words[slot] >> 32 != word >> 32
        )


class MessageChannel(Channel):
    """Words in an all-gather between hosts: all of them are there, or none."""

    def __init__(self, group: Group) -> None:
        super().__init__(group)
        group.connect()
        self._received = np.zeros((group.size, 1), np.uint64)
        self._pending: Pending | None = None

    def announce(self, call: SignedCall) -> int:
        """Start the all-gather of this call's words."""
        word = self._next(call)
        self._pending = self.group.iallgather(np.array([word], np.uint64), self._received)
        return word

    def look(self, word: int) -> int:
        """Make progress; compare once all words are there."""
        if not self._complete():
            return PENDING
        return AGREED if (self._received == np.uint64(word)).all() else DIFFERENT

    def missing(self, word: int) -> tuple[int, ...]:
        """Everybody until all are there: which words have come is not known."""
        return () if self._complete() else tuple(self.group.ranks[i] for i in self.others)

    def _complete(self) -> bool:
        if self._pending is not None and self._pending.test():
            self._pending = None
        return self._pending is None
