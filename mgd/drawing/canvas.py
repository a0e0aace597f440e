"""A grid of characters with a style each, which becomes text with or without colour."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

RESET = "\x1b[0m"
STYLES = {
    "": "",
    "title": "\x1b[1m",
    "dim": "\x1b[2m",
    "link": "\x1b[2m",
    "wrap": "\x1b[36m",
    "exit": "\x1b[1;35m",
    "broken": "\x1b[1;31m",
    "host0": "\x1b[32m",
    "host1": "\x1b[34m",
    "host2": "\x1b[33m",
    "host3": "\x1b[35m",
    "host4": "\x1b[36m",
    "host5": "\x1b[31m",
}


def host_style(rank: int) -> str:
    """The style of a host rank: six colours in turn, so that neighbours differ."""
    return f"host{rank % 6}"


class Canvas:
    """Characters at (x, y), written in any order; what is never written is blank."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], tuple[str, str]] = {}
        self.width = 0
        self.height = 0

    def put(self, x: int, y: int, text: str, style: str = "") -> None:
        """Write `text` to the right from (x, y), over what was there."""
        for offset, character in enumerate(text):
            self._cells[x + offset, y] = (character, style)
        self.width = max(self.width, x + len(text))
        self.height = max(self.height, y + 1)

    def vertical(self, x: int, top: int, bottom: int, style: str = "") -> None:
        """A line from row `top` to row `bottom`, both included."""
        for y in range(top, bottom + 1):
            self.put(x, y, "│", style)

    def paste(self, other: Canvas, x: int, y: int) -> None:
        """Copy another canvas with its corner at (x, y)."""
        for (column, row), (character, style) in other._cells.items():
            self.put(x + column, y + row, character, style)

    def lines(self, colour: bool) -> Iterator[str]:
        """The rows from the top, without blanks at their ends."""
        for y in range(self.height):
            cells = [self._cells.get((x, y), (" ", "")) for x in range(self.width)]
            while cells and cells[-1][0] == " ":
                cells.pop()
            yield _coloured(cells) if colour else "".join(character for character, _ in cells)


def paint(text: str, style: str, colour: bool) -> str:
    """One styled run of text."""
    return f"{STYLES[style]}{text}{RESET}" if colour and style else text


def _coloured(cells: Iterable[tuple[str, str]]) -> str:
    pieces: list[str] = []
    current = ""
    for character, style in cells:
        if style != current:
            pieces.append((RESET if current else "") + STYLES[style])
            current = style
        pieces.append(character)
    return "".join(pieces) + (RESET if current else "")
