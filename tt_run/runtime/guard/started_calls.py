"""Collectives that ranks of a host have started, each on the communicator it is made on: compared without waiting for anybody.

What a rank does not wait for at once (a started broadcast), and what it does in another thread, has no place in the one order of calls that
a channel compares. It is noted on the board instead: the how-manieth collective of which communicator it is, and what it means.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tt_run.runtime.guard.board import NOTES, STARTED, BoardRow

_HEAD = struct.Struct("<QII")
_KEPT = 4096  # notes of others that nobody has asked for


class Note(NamedTuple):
    """What a rank means by a collective: a code to compare, and the words `MPI Ibcast(root 1) at a.py:3`."""

    code: int
    text: str


class Started:
    """This rank's notes, and what it has read of the others'."""

    def __init__(self, rows: Mapping[int, BoardRow], rank: int) -> None:
        self._rows = rows
        self._mine = rows[rank]
        self._read = dict.fromkeys(rows, 0)
        self._found: dict[tuple[int, int, int], Note] = {}
        self._lock = threading.Lock()

    def sees(self, ranks: Sequence[int]) -> bool:
        """Whether all of them are on this host."""
        return all(rank in self._rows for rank in ranks)

    def tell(self, key: int, number: int, note: Note) -> None:
        """Note the `number`-th collective on the communicator `key`."""
        with self._lock:
            self._mine.write_note(
                _HEAD.pack(key, number & 0xFFFFFFFF, note.code) + note.text.encode(errors="surrogateescape")
            )

    def seen(self, ranks: Sequence[int], key: int, number: int) -> dict[int, Note]:
        """What those of the ranks mean by this collective that have come to it."""
        with self._lock:
            for rank in ranks:
                if self._rows[rank].words[STARTED] != self._read[rank]:
                    self._take_in(rank)
            found = ((rank, self._found.get((rank, key, number & 0xFFFFFFFF))) for rank in ranks)
            return {rank: note for rank, note in found if note is not None}

    def forget(self, ranks: Sequence[int], key: int, number: int) -> None:
        """All of them have come to this collective, and mean the same."""
        with self._lock:
            for rank in ranks:
                self._found.pop((rank, key, number & 0xFFFFFFFF), None)

    def _take_in(self, rank: int) -> None:
        row = self._rows[rank]
        count = int(row.words[STARTED])
        for number in range(max(self._read[rank], count - NOTES), count):
            data = row.note(number)
            if len(data) >= _HEAD.size:
                key, which, code = _HEAD.unpack_from(data)
                self._found[rank, key, which] = Note(code, data[_HEAD.size :].decode(errors="replace"))
        self._read[rank] = count
        while len(self._found) > _KEPT * len(self._rows):
            del self._found[next(iter(self._found))]
