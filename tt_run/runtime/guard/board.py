"""The board: a page of shared memory per rank of a host on which it says where it is, readable by the others at any moment.

The words are written on every collective; the texts only when a rank waits long, ends, or is asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tt_run.runtime.guard.signature import Labels

# Words of a row.
STATE, CALLS, LABEL, ASKED, ANSWERED, PID, STARTED = range(7)
_WORDS = 16

# States of a rank.
RUNNING, WAITING, ENDED, RAISED = range(4)

_LABEL_BYTES = 256
_SHORTENED = b" ...)"
_TEXT_BYTES = {"record": 32768, "answer": 8192, "verdict": 16384}
_LABELS_AT = _WORDS * 8
_TEXTS_AT = _LABELS_AT + Labels.CAPACITY * _LABEL_BYTES
_NOTES_AT = _TEXTS_AT + sum(_TEXT_BYTES.values())
NOTES = 128  # notes that are kept; older ones make room
NOTE_BYTES = 512
ROW_BYTES = _NOTES_AT + NOTES * NOTE_BYTES


class BoardRow:
    """One rank's part of the board. `words` is indexed with the names above."""

    __slots__ = ("_memory", "_texts", "words")

    def __init__(self, memory: memoryview) -> None:
        self._memory = memory
        self.words = memory[: _WORDS * 8].cast("Q")
        self._texts: dict[str, tuple[int, int]] = {}
        at = _TEXTS_AT
        for name, size in _TEXT_BYTES.items():
            self._texts[name] = (at, size)
            at += size

    def write_label(self, index: int, call: str, site: str) -> None:
        """Store the text of a call: where it is stays whole, of many arguments the last ones go."""
        end = f" at {site}".encode(errors="surrogateescape")
        text = call.encode(errors="surrogateescape")
        room = _LABEL_BYTES - 8 - len(end)
        if len(text) > room:
            text = text[: max(room - len(_SHORTENED), 0)] + _SHORTENED
        self._write(_LABELS_AT + index * _LABEL_BYTES, _LABEL_BYTES, text + end)

    def label(self) -> str:
        """The text of the call it is in, or was in last; empty before the first."""
        if not self.words[CALLS]:
            return ""
        return self._read(_LABELS_AT + self.words[LABEL] * _LABEL_BYTES, _LABEL_BYTES).decode(
            errors="replace"
        )

    def write(self, name: str, value: dict[str, Any]) -> None:
        """Publish a record, an answer or a verdict; what is too long loses all but the last calls of its history first."""
        at, size = self._texts[name]
        for form in _ever_shorter(value, size // 4):
            data = json.dumps(form).encode()
            if len(data) <= size - 8:
                break
        self._write(at, size, data)

    def read(self, name: str) -> dict[str, Any] | None:
        """What was published last; None when there is nothing or it is just being rewritten."""
        data = self._read(*self._texts[name])
        try:
            found = json.loads(data) if data else None
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def clear(self, name: str) -> None:
        """Withdraw what was published."""
        self._write(*self._texts[name], b"")

    def write_note(self, data: bytes) -> None:
        """Add a note, which the others may read until NOTES further ones are there."""
        count = self.words[STARTED]
        self._write(_NOTES_AT + count % NOTES * NOTE_BYTES, NOTE_BYTES, data)
        self.words[STARTED] = count + 1

    def note(self, number: int) -> bytes:
        """The note with this number, counted from 0."""
        return self._read(_NOTES_AT + number % NOTES * NOTE_BYTES, NOTE_BYTES)

    def _write(self, at: int, size: int, data: bytes) -> None:
        data = data[: size - 8]
        self._memory[at : at + 8] = (0).to_bytes(8, "little")
        self._memory[at + 8 : at + 8 + len(data)] = data
        self._memory[at : at + 8] = len(data).to_bytes(8, "little")

    def _read(self, at: int, size: int) -> bytes:
        length = int.from_bytes(self._memory[at : at + 8], "little")
        return bytes(self._memory[at + 8 : at + 8 + min(length, size - 8)])


def _ever_shorter(value: dict[str, Any], text: int) -> Iterator[dict[str, Any]]:
    """A value whole; then with so many characters of each text and the last call of each group, which may excuse a rank; then without calls."""
    yield value
    shorter = {k: v[:text] if isinstance(v, str) else v for k, v in value.items()}
    last = {group: dict(list(calls.items())[-1:]) for group, calls in value.get("histories", {}).items()}
    yield {**shorter, "histories": last}
    yield {**shorter, "histories": {}}


def rows(memory: memoryview, ranks: tuple[int, ...]) -> dict[int, BoardRow]:
    """The rows of a board of these world ranks, in this order."""
    return {rank: BoardRow(memory[i * ROW_BYTES : (i + 1) * ROW_BYTES]) for i, rank in enumerate(ranks)}
