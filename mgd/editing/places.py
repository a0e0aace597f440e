"""Between the two ways to count in a line: editors count UTF-16 units from 0, findings count characters from 1."""

from __future__ import annotations

from typing import Any


def units(text: str) -> int:
    """The length of a text in UTF-16 units."""
    return len(text) + sum(character > "\uffff" for character in text)


class Lines:
    """A text by lines, asked in both ways."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")

    def range_at(self, line: int, column: int, length: int = 1) -> dict[str, Any]:
        """The range of so many characters from a finding's place; the start of the file for line 0."""
        row = min(max(line - 1, 0), len(self.lines) - 1)
        content = self.lines[row].rstrip("\r")
        start = min(max(column - 1, 0), len(content))
        before, through = units(content[:start]), units(content[: start + length])
        return {
            "start": {"line": row, "character": before},
            "end": {"line": row, "character": max(through, before)},
        }

    def offset(self, position: dict[str, int]) -> int:
        """The offset in characters of an editor's position."""
        row = min(position["line"], len(self.lines) - 1)
        taken = within = 0
        for character in self.lines[row]:
            if taken >= position["character"]:
                break
            taken += 2 if character > "\uffff" else 1
            within += 1
        return sum(len(line) + 1 for line in self.lines[:row]) + within

    def row(self, offset: int) -> int:
        """The number of an offset's line, from 1."""
        return self.text.count("\n", 0, offset) + 1

    def span(self, start: int, end: int) -> dict[str, Any]:
        """The range between two offsets."""
        return {"start": self._position(start), "end": self._position(end)}

    def _position(self, offset: int) -> dict[str, int]:
        begin = self.text.rfind("\n", 0, offset) + 1
        return {"line": self.row(offset) - 1, "character": units(self.text[begin:offset])}

    def whole(self) -> dict[str, Any]:
        """The range of all of it."""
        last = {"line": len(self.lines) - 1, "character": units(self.lines[-1])}
        return {"start": {"line": 0, "character": 0}, "end": last}
