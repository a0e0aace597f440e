"""A text with a name: offsets to lines and columns, and where the fields of a message stand."""

from __future__ import annotations

from mgd.diagnostics import Position
from mgd.lean import dataclass, field

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from collections.abc import Sequence

SMALL = 4000
"""Characters of a text whose line ends are counted each time: what keeps those of a large one takes longer to import."""


@dataclass(slots=True)
class Source:
    """One file's text. Offsets count characters from 0; lines and columns count from 1, a tab is one column."""

    text: str
    file: str = ""
    _starts: Sequence[int] = field(default=(), repr=False, compare=False)
    _values: dict[tuple[int, str], list[int]] = field(default_factory=dict, repr=False, compare=False)

    def position(self, offset: int) -> Position:
        """The line and column of an offset."""
        if len(self.text) < SMALL:
            line = self.text.count("\n", 0, offset) + 1
            return Position(self.file, line, offset - self.text.rfind("\n", 0, offset))
        from bisect import bisect_right

        starts = self._line_starts()
        line = bisect_right(starts, offset)
        return Position(self.file, line, offset - starts[line - 1] + 1)

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
        start = self._line_starts()[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")

    def _line_starts(self) -> Sequence[int]:
        if not self._starts:
            from array import array

            starts, end = array("I", [0]), self.text.find("\n")
            while end >= 0:
                starts.append(end + 1)
                end = self.text.find("\n", end + 1)
            self._starts = starts
        return self._starts
