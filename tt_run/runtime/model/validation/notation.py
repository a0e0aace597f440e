"""How tables write the work of a row: products, shapes, element formats, sizes, groups of devices.

`2048x2048x2048`, `m=2048 k=64 n=32`, `[1,1,32,64] x [1,1,64,32]`; `BFLOAT16 HiFi2`, `bf16 x bfp8`; `[1,1,32,2048]`, `4 MiB`.
"""

from __future__ import annotations

import math
import re

from tt_run.runtime.model.work import FIDELITIES

FORMATS = (
    ("bfloat8_b", r"bfloat8(?:_b)?\b|bfp8(?:_b)?\b|bf8\b"),
    ("bfloat4_b", r"bfloat4(?:_b)?\b|bfp4(?:_b)?\b|bf4\b"),
    ("bfloat16", r"bfloat16|bf16"),
    ("float32", r"float32|fp32"),
)
"""Element format -> how tables write it."""
SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
"""What stands before the B of a size -> bytes; messages are sized in powers of two, `KB` as much as `KiB`."""

SIDE = r"\d+(?:,\d{3})*[kK]?"
"""A side of a matrix: `2048`, `2,048`, `2k`."""
SHAPE = rf"{SIDE}(?:[x×*]{SIDE})+"

Product = tuple[int, int, int, int]


def formats(text: str) -> list[str]:
    """The element formats that a text names, in its order."""
    found = [
        (match.start(), name)
        for name, spelled in FORMATS
        for match in re.finditer(spelled, text, re.IGNORECASE)
    ]
    return [name for _, name in sorted(found)]


def fidelity(text: str, weights: str) -> str:
    """The math fidelity that a text names; without one what the library multiplies such weights with."""
    found = re.search("|".join(FIDELITIES), text, re.IGNORECASE)
    if found:
        return next(name for name in FIDELITIES if name.lower() == found[0].lower())
    return "LoFi" if weights in ("bfloat8_b", "bfloat4_b") else "HiFi2"


def shapes(text: str) -> list[list[int]]:
    """All shapes in brackets."""
    found = re.findall(r"[\[(]((?: *\d+ *,)* *\d+ *,? *)[\])]", text)
    return [[int(x) for x in one.split(",") if x.strip()] for one in found]


def product(text: str) -> Product | None:
    """`m, k, n` and the batch of a matrix product; None when the text gives none."""
    named = {key.lower(): int(x) for key, x in re.findall(r"\b([mknb]) ?[=:]? ?(\d+)", text, re.IGNORECASE)}
    if {"m", "k", "n"} <= named.keys():
        return named["m"], named["k"], named["n"], named.get("b", 1)
    beside = re.search(rf"({SHAPE}) +[x×*@] +({SHAPE})", text)
    operands = [_sides(one) for one in beside.groups()] if beside else shapes(text)
    if len(operands) > 1 and min(len(operands[0]), len(operands[1])) > 1:
        return _of_operands(operands[0], operands[1])
    found = re.search(rf"{SIDE}(?: ?[x×*] ?{SIDE})+|\d+(?= ?(?:\^ ?3\b|³))", text)
    sides = _sides(found[0]) if found else [] if not operands else operands[0]
    if not found and len(sides) != 3:  # of one tensor
        return None
    if len(sides) == 1:
        sides *= 3
    return (*sides[-3:], math.prod(sides[:-3])) if len(sides) > 2 else None  # type: ignore[return-value]


def _sides(text: str) -> list[int]:
    found = re.findall(SIDE, text)
    return [int(x.rstrip("kK").replace(",", "")) * (1024 if x[-1] in "kK" else 1) for x in found]


def _of_operands(first: list[int], second: list[int]) -> Product | None:
    """Leading dimensions that only the first operand has are rows; those of both are a batch."""
    if first[-1] != second[-2]:
        return None
    batch = math.prod(second[:-2])
    return math.prod(first[:-1]) // max(batch, 1), first[-1], second[-1], batch


def dimensions(text: str) -> list[int] | None:
    """The shape that a text gives: in brackets, else `1x1x32x2048`; None without one."""
    found = shapes(text)
    if found:
        return found[0]
    plain = re.search(r"\d+(?: ?[x×] ?\d+)+", text)
    return [int(x) for x in re.findall(r"\d+", plain[0])] if plain else None


def nbytes(text: str) -> float | None:
    """The bytes that a text names (`4096 B`, `1.5 MiB`, `64KB`); None when it names none."""
    found = re.search(r"(?<![\w.])(\d+(?:\.\d+)?) ?(?:([KMG]?)i?B|bytes)\b", text, re.IGNORECASE)
    if not found:
        return None
    return float(found[1]) * SIZES[(found[2] or "").lower()]


def links(text: str) -> int | None:
    """The links between neighbours that a text names (`links=2`, `num_links: 2`, `2 links`); None without them."""
    found = re.search(r"links?(?: ?[=:])? ?(\d+)|(\d+) links?", text, re.IGNORECASE)
    return max(int(found[1] or found[2]), 1) if found else None


def after(word: str, text: str) -> int | None:
    """The number after a word (`batch 32`, `TP=8`, `seq_len: 4096`); None without one."""
    found = re.search(rf"(?:\b|x){word} ?[=:]? ?(\d+)", text, re.IGNORECASE)
    return int(found[1]) if found else None


def before(word: str, text: str) -> int | None:
    """The number before a word (`2048 tokens`); None without one."""
    found = re.search(rf"(?<![\w.])(\d+) ?{word}\b", text, re.IGNORECASE)
    return int(found[1]) if found else None
