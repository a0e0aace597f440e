"""How the ranks of one group find out that all of them are in the same call.

On one host each rank writes a word (ordinal of the call, hash of its signature) into memory that all see and looks at the others'
words; across hosts the words travel in a nonblocking all-gather. The words alternate between two places: a rank can be one call
ahead of another that is still looking, never two.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from tt_run.runtime.guard.signature import Call

if TYPE_CHECKING:
    from tt_run.runtime.comm import Group, Pending

_ORDINAL = 0xFFFFFFFF
HISTORY = 24  # calls whose lines are remembered for reports


class Channel:
    """The calls of one group on this rank: how many, the last ones, and the meeting of the next."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.number = 0
        self.history: deque[tuple[int, Call]] = deque(maxlen=HISTORY)
        self.others = tuple(i for i in range(group.size) if i != group.rank)

    def announce(self, call: Call) -> int:
        """Publish that this rank is in its next call; returns the word that the others must show."""
        raise NotImplementedError

    def arrived(self, word: int) -> bool:
        """True when every rank shows its word for this call, the same or not."""
        raise NotImplementedError

    def spin(self, word: int, turns: int) -> bool:
        """Look at the others at most `turns` times in a tight loop; True when all agree, False for whatever needs a closer look."""
        return self.agrees(word)

    def agrees(self, word: int) -> bool:
        """True when every rank shows exactly this word."""
        raise NotImplementedError

    def missing(self, word: int) -> tuple[int, ...]:
        """The world ranks that are not in this call yet, as far as this rank can see."""
        raise NotImplementedError

    def differs(self, word: int) -> bool:
        """True as soon as a rank is in this call with another signature."""
        raise NotImplementedError

    def _next(self, call: Call) -> int:
        self.number += 1
        self.history.append((self.number, call))
        return (self.number & _ORDINAL) << 32 | call.code


class SharedChannel(Channel):
    """Words in shared memory: `words[parity * size + i]` is that of group rank i. Creating it is collective."""

    def __init__(self, group: Group) -> None:
        super().__init__(group)
        self._block = group.shared_block(16 * group.size)
        self.words = memoryview(self._block.memory)[: 16 * group.size].cast("Q")
        self._slots = tuple(tuple(parity * group.size + i for i in self.others) for parity in (0, 1))

    def announce(self, call: Call) -> int:
        word = self._next(call)
        self.words[(self.number & 1) * self.group.size + self.group.rank] = word
        return word

    def agrees(self, word: int) -> bool:
        words = self.words
        return all(words[slot] == word for slot in self._slots[self.number & 1])

    def spin(self, word: int, turns: int) -> bool:
        words = self.words
        for slot in self._slots[self.number & 1]:
            while (other := words[slot]) != word:
                turns -= 1
                if turns < 0 or other >> 32 == word >> 32:
                    return False
        return True

    def arrived(self, word: int) -> bool:
        return all(self.words[slot] >> 32 == word >> 32 for slot in self._slots[self.number & 1])

    def differs(self, word: int) -> bool:
        # Each word is read once: between two looks it may become the one that is waited for.
        shown = [self.words[slot] for slot in self._slots[self.number & 1]]
        return any(other != word and other >> 32 == word >> 32 for other in shown)

    def missing(self, word: int) -> tuple[int, ...]:
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
        self._complete = True

    def announce(self, call: Call) -> int:
        word = self._next(call)
        self._pending = self.group.iallgather(np.array([word], np.uint64), self._received)
        self._complete = False
        return word

    def _test(self) -> bool:
        if not self._complete:
            self._complete = self._pending is None or self._pending.test()
        return self._complete

    def agrees(self, word: int) -> bool:
        return self._test() and bool((self._received == np.uint64(word)).all())

    def arrived(self, word: int) -> bool:
        return self._test()

    def differs(self, word: int) -> bool:
        return self._test() and not self.agrees(word)

    def missing(self, word: int) -> tuple[int, ...]:
        return () if self._test() else tuple(self.group.ranks[i] for i in self.others)
