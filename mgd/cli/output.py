"""How the verbs print: colour or none, width of the page, tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO


def say(text: str = "", *, end: str = "\n", err: bool = False) -> None:
    """Print as it is; colour has been decided before."""
    (sys.stderr if err else sys.stdout).write(text + end)


def wants_colour(stream: TextIO) -> bool:
    """True on a terminal unless NO_COLOR or TERM=dumb says otherwise; FORCE_COLOR says yes to a pipe."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def page_width(stream: TextIO, plain: int) -> int:
    """Columns of the terminal, `plain` when the output goes elsewhere, so that files do not depend on a window."""
    if not stream.isatty() and "COLUMNS" not in os.environ:
        return plain
    import shutil

    return max(40, shutil.get_terminal_size((plain, 24)).columns)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Aligned columns, two blanks apart, without blanks at line ends."""
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def own_version() -> str:
    """The version of the installed distribution."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("tt-run")
    except PackageNotFoundError:
        return "0 (not installed)"
