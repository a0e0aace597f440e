"""A text with a name: offsets to lines and columns, and where the fields of a message stand."""

from __future__ import annotations

from array import array
from bisect import bisect_right

from mgd.diagnostics import Position
from mgd.lean import dataclass, field


@dataclass(slots=True)
class Source:
    """One file's text. Offsets count characters from 0; lines and columns count from 1, a tab is one column."""

    text: str
    file: str = ""
    _starts: array[int] = field(default_factory=lambda: array("I"), repr=False, compare=False)
    _values: dict[tuple[int, str], list[int]] = field(default_factory=dict, repr=False, compare=False)

    def position(self, offset: int) -> Position:
        """The line and column of an offset."""
        if not self._starts:
            self._starts = _line_starts(self.text)
        line = bisect_right(self._starts, offset)
        return Position(self.file, line, offset - self._starts[line - 1] + 1)

    def locate(self, at: int, name: str = "", index: int = 0) -> Position:
        """The position of the message that begins at `at`, or of a field's value in it when the field is written there.

        `at` -1 stands for the whole file.
        """
        if not name:
            return self.position(at) if at >= 0 else Position(self.file)
        values = self._values.get((at, name))
        if values is None:
            from mgd.text.fields import field_values

            values = self._values[at, name] = field_values(self.text, at, name)
        if not values:
            return self.locate(at)
        return self.position(values[min(index, len(values) - 1)])

    def line(self, number: int) -> str:
        """The text of a line, without its end."""
        self.position(0)
        start = self._starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")


def _line_starts(text: str) -> array[int]:
    starts, end = array("I", [0]), text.find("\n")
    while end >= 0:
        starts.append(end + 1)
        end = text.find("\n", end + 1)
    return starts
