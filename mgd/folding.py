"""Prose over several lines at the width of a terminal; what is to be typed stays in one piece, since a line break would end the command."""

from __future__ import annotations

_WORD = r"(?:`[^`]*`|\S)+"
_TYPED = r"(?:^|\s)(?:-{1,2}\w|(?:tt-run|mgd|pip|python3?|mpirun|export|ssh)\s)|`"
NARROWEST = 24
"""Columns below which nothing is folded: words would stand alone."""


def fold(text: str, width: int, indent: str = "", first: int = 0) -> str:
    """The text in lines of at most `width` columns, where words allow it: `first` columns of the first line are taken, the others begin
    with `indent`. Without a width, and where all fits, the text as it is."""
    if width <= 0 or first + len(text) <= width or width - len(indent) < NARROWEST:
        return text
    return "\n".join(
        _line(line, width, indent, first * (not number)) for number, line in enumerate(text.split("\n"))
    )


def is_typed(text: str) -> bool:
    """Whether there is something in it that may be copied into a shell: a command, an option, words in backquotes."""
    import re  # this module is loaded by every start of a command, and seldom has something to do

    return re.search(_TYPED, text) is not None


def _line(text: str, width: int, indent: str, first: int) -> str:
    if first + len(text) <= width:
        return text
    import re

    lines, taken = [""], first
    for word in re.findall(_WORD, text):
        if lines[-1] and taken + len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
            taken = len(indent)
        lines[-1] += f" {word}" if lines[-1] else word
    return f"\n{indent}".join(lines)
