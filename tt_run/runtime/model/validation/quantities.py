"""Numbers with units as tables of measurements write them: `92-105`, `~1,370`, `ttft 70 ms; 18.5 t/s/u; 592.0 t/s`.

A row is answered in its own unit, so each kind of row has one unit that the model computes in, and what others are worth in it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NUMBER = r"\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?"
TIMES = {
    "ns": 1e-3,
    "us": 1.0,
    "µs": 1.0,
    "μs": 1.0,
    "usec": 1.0,
    "ms": 1e3,
    "msec": 1e3,
    "s": 1e6,
    "sec": 1e6,
}
"""Unit of a duration -> microseconds."""
RATES = {
    "B/ns": 1.0,
    "B/us": 1e-3,
    "MB/s": 1e-3,
    "GB/s": 1.0,
    "TB/s": 1e3,
    "MiB/s": 2**20 / 1e9,
    "GiB/s": 2**30 / 1e9,
    "Mb/s": 1e-3 / 8,
    "Gb/s": 1 / 8,
    "Gbps": 1 / 8,
    "Gbit/s": 1 / 8,
}
"""Unit of a rate of bytes -> GB/s."""
# What whole models are measured in, the most telling first: name of the figure, how it is written, the unit told.
FIGURES = (
    ("per user", r"(?:t|tok|toks|tokens?)/s(?:ec)?/u(?:ser)?", "t/s/u"),
    ("step", r"(?:ms|s|sec)/(?:step|it(?:er\w*)?)", ""),
    ("steps", r"(?:steps?|it(?:er\w*)?)/s(?:ec)?", ""),
    ("per second", r"(?:fps|(?:images?|imgs?|samples?|sen(?:tence)?s?|inf(?:erence)?s?)/s(?:ec)?)", ""),
    ("each", r"(?:ms|s|sec|seconds)(?:/| per )(?:image|img|sample|inference|frame)", ""),
    ("total", r"(?:t|tok|toks|tokens?)/s(?:ec)?", "t/s"),
    ("each token", r"ms/tok(?:en)?", ""),
)


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a row: which figure it is (empty for a plain one) and its unit."""

    number: float
    name: str
    unit: str


def number(text: str) -> float | None:
    """The number that a text begins with: of a band its middle, thousands may be apart by commas; None without one."""
    band = re.fullmatch(rf"\s*({NUMBER})\s*(?:-|–|\.\.)\s*({NUMBER})\s*", text)
    if band:
        return (_plain(band[1]) + _plain(band[2])) / 2
    found = re.match(rf"\s*[~<≤≈]?\s*({NUMBER})", text)
    return _plain(found[1]) if found else None


def _plain(text: str) -> float:
    return float(text.replace(",", ""))


def telling_figure(value: str, unit: str) -> Figure | None:
    """The most telling figure of a whole model in `18.5 t/s/u; 592.0 t/s`, or `fps 5100`; None where there is none."""
    text = f"{value} {unit}" if number(value) is not None else value
    for name, words, told in FIGURES:
        found = re.search(rf"({NUMBER})\*?\s*({words})(?![\w/])", text, re.IGNORECASE) or re.search(
            rf"(?<![\w/])(?P<words>{words})[ :=]+(?P<number>{NUMBER})", text, re.IGNORECASE
        )
        if found:
            named = found.groupdict()
            said, digits = (named["words"], named["number"]) if named else (found[2], found[1])
            return Figure(_plain(digits), name, told or said)
    return first_token(text)


def first_token(text: str) -> Figure | None:
    """The time to the first token in `ttft 70 ms; 18.5 t/s/u`, `TTFT: 0.1 s`; None where there is none."""
    found = re.search(rf"(?:ttft|first token)\s*[:=]?\s*({NUMBER})\*?\s*(ms|s|us)\b", text, re.IGNORECASE)
    return Figure(_plain(found[1]), "first token", found[2].lower()) if found else None


def first_word(unit: str) -> str:
    """`us` of `us kernel (op-to-op 759 ns)`, `ns` of `ns/hop`; rates keep what they are per."""
    word = unit.split()[0] if unit.split() else ""
    return word if word in RATES or word.endswith("FLOP/s") else word.split("/")[0]
