"""What pages take from docstrings."""

from __future__ import annotations

import inspect
import re
from typing import Any


def first_sentence(thing: Any) -> str:
    """The first sentence of a docstring, as a cell of a Markdown table has it."""
    text = (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")
    sentence = re.split(r"(?<=\.) (?=[A-Z`])", text)[0]
    parts = re.split(r"(`[^`]*`)", sentence)  # what stands in backquotes is shown as it is
    parts[::2] = [re.sub(r"([*_\[\]<])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts).replace("|", "\\|")


def shown_value(found: Any) -> str:
    """A value as it prints, or of which class it is where that is long or differs from run to run."""
    shown = str(found)
    is_short = len(shown) < 60 and not re.search(r"\n| at 0x|/", shown)
    return f"`{shown}`" if is_short else f"a `{type(found).__name__}`"
