"""How the verbs print: colour or none, width of the page, tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import TextIO


def say(text: str = "", *, end: str = "\n", err: bool = False) -> None:
    """Print as it is; colour has been decided before."""
    (sys.stderr if err else sys.stdout).write(text + end)


def wants_colour(stream: TextIO) -> bool:
    """True on a terminal; NO_COLOR, CLICOLOR=0 and TERM=dumb say no there, FORCE_COLOR and CLICOLOR_FORCE yes to a pipe, NO_COLOR before all."""
    if os.environ.get("NO_COLOR"):
        return False
    if any(os.environ.get(name, "") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    if os.environ.get("CLICOLOR") == "0" or os.environ.get("FORCE_COLOR") == "0":
        return False
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def page_width(stream: TextIO, plain: int) -> int:
    """Columns of the terminal, `plain` when the output goes elsewhere, so that files do not depend on a window."""
    said = os.environ.get("COLUMNS", "")
    if said.isdecimal() and int(said):
        return max(40, int(said))
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return max(40, columns) if columns else plain  # some terminals do not know theirs


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
