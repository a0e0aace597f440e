"""The line of a file that a finding is about, with a caret below the place; read when a finding is printed, not before."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping

from mgd.diagnostics import Position

WIDTH = 100
"""Columns of a line that are shown; longer ones are cut around the place."""
_LARGEST = 16 << 20
_TOKEN = r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|[\w.+-]+|.'


class Excerpts:
    """Lines of files by position, cut to the columns of the terminal where they are known. Files are read once; `texts` are those that
    are no files, such as standard input."""

    def __init__(self, texts: Mapping[str, str | bytes] | None = None, columns: int = 0) -> None:
        self._columns = columns
        self._lines: dict[str, list[str]] = {}
        for name, text in (texts or {}).items():
            self._lines[name] = _split(text if isinstance(text, bytes) else text.encode("utf-8", "replace"))

    def at(self, position: Position) -> Iterator[str]:
        """The line and the caret below it, each after a gutter; nothing where there is no such line or no column."""
        if not position.line or not position.column:
            return
        lines = self._of(position.file)
        if position.line > len(lines) or position.column > len(lines[position.line - 1]) + 1:
            return
        line, column = lines[position.line - 1], position.column - 1
        gutter = " " * len(str(position.line))
        # Left of the line are two blanks, the gutter and its bar; on both sides may stand an ellipsis.
        width = min(WIDTH, max(self._columns - len(gutter) - 7, 20)) if self._columns else WIDTH
        start = max(0, min(column - width // 2, len(line) - width))
        shown = line[start : start + width]
        token = re.compile(_TOKEN).match(shown, column - start)
        length = max(len(token[0].rstrip()) if token else 1, 1)
        before = ("…" if start else "") + shown[: column - start]
        rest = shown[column - start :] + ("…" if start + width < len(line) else "")
        carets = "^" * max(_width(shown[column - start : column - start + length]), 1)
        yield f"{position.line} | {before}{rest}"
        yield f"{gutter} | {' ' * _width(before)}{carets}"

    def _of(self, file: str) -> list[str]:
        if file not in self._lines:
            self._lines[file] = _read(file)
        return self._lines[file]


def _read(file: str) -> list[str]:
    """The lines of a file; none where there is no file that could be shown."""
    try:
        with open(file, "rb", opener=_without_waiting) as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return []
            return _split(stream.read(_LARGEST))
    except (OSError, ValueError):
        return []


def _without_waiting(path: str, flags: int) -> int:
    """A pipe without a writer is no file to show, and must not be waited for."""
    return os.open(path, flags | os.O_NONBLOCK)


def _split(data: bytes) -> list[str]:
    text = data.decode("utf-8", "backslashreplace").replace("\r\n", "\n")
    return [
        "".join(c if c.isprintable() else " " if c == "\t" else "·" for c in line)
        if not line.isprintable()
        else line
        for line in text.split("\n")
    ]


def _width(text: str) -> int:
    """Columns on a terminal: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )
