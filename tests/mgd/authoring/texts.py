"""Texts that the tests of this folder share."""

from __future__ import annotations

import re
from random import Random

from hypothesis import strategies as st

from mgd.systems import System, systems
from mgd.text.lexer import find_tokens

SYSTEMS = systems()
NAMES = [system.name for system in SYSTEMS]
SMALL = [system for system in SYSTEMS if system.mesh_count <= 5]


def text_of(system: System) -> str:
    return system.path.read_text(encoding="utf-8")


@st.composite
def untidy(draw: st.DrawFn, text: str) -> str:
    """The same descriptor with other blanks, separators and brackets, and with comments of its own between any two tokens."""
    words = [found[0] for found in find_tokens(text) if found.lastgroup not in ("blank", "comment")]
    random = Random(draw(st.integers(0, 2**32)))  # one number: drawing every choice would take seconds
    pieces: list[str] = []
    for number, word in enumerate(words):
        if word == "{" and random.random() < 0.1:
            word = ": {"
        pieces.append(word)
        follows_value = (
            words[number + 1 : number + 2] not in ([":"], ["{"], [","], ["]"]) and word not in "[{:,"
        )
        if follows_value and random.random() < 0.1 and _ends_field(words, number):
            pieces.append(random.choice(",;"))
        blank = random.choice([" ", "  ", "\n", "\n\n\n", "\t", "\r\n"])
        pieces.append(f" # note {number}\n" if random.random() < 0.05 else blank)
    return "".join(pieces)


def _ends_field(words: list[str], number: int) -> bool:
    """True when a separator may stand behind the token: it closes a message, or is a scalar outside a list."""
    depth = words[: number + 1].count("[") - words[: number + 1].count("]")
    return depth == 0 and (words[number] in "}]" or words[number - 1] == ":")


def comments(text: str) -> list[str]:
    return sorted(found[0].rstrip() for found in find_tokens(text) if found.lastgroup == "comment")


def words(text: str) -> list[str]:
    """What is left of a text without blanks: for comparing what an edit touched."""
    return re.findall(r"\S+", text)
