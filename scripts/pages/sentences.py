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
