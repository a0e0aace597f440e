"""Rows that measured attention by itself: how much of the arithmetic it used, or how long it took on shapes that the row gives."""

from __future__ import annotations

import re
from collections.abc import Callable

from tt_run.hardware.numbers import Hardware
from tt_run.runtime.model.cost import cost
from tt_run.runtime.model.operations import Operand, work_of
from tt_run.runtime.model.validation import notation
from tt_run.runtime.model.validation.points import NotCovered, Point
from tt_run.runtime.model.validation.quantities import TIMES, first_word

Predict = Callable[[Hardware], float]


def attention(point: Point) -> tuple[Predict, str]:
    """What predicts a row, and its class. Raises NotCovered for a time without heads, length and head dimension."""
    if "%" in point.unit:
        return lambda hw: 100 * hw["attention.ring_joint_utilisation"], "other"
    unit = first_word(point.unit)
    if unit not in TIMES:
        raise NotCovered(
            f"attention in {point.unit!r}: utilisation of the arithmetic in % and times are modelled"
        )
    query, keys = _operands(point)
    said = f"{point.op} {point.shape} {point.topology}".lower()
    causal = False if re.search(r"non.?causal|joint|causal ?= ?(false|0)", said) else None
    work = work_of(
        "scaled_dot_product_attention", "attention", [query, keys, keys], [query], traced=True, causal=causal
    )
    assert work is not None
    return lambda hw: cost(hw, work).us / TIMES[unit], "other"


def _operands(point: Point) -> tuple[Operand, Operand]:
    """Queries and keys, as shapes in brackets or as `b1 nh10 nkv2 s4096 d64`; decoding has one query of each user."""
    named = notation.formats(point.dtype) or ["bfloat16"]
    shapes = notation.shapes(point.shape)
    if shapes and len(shapes[0]) == 4:
        return Operand(tuple(shapes[0]), named[0]), Operand(tuple(shapes[-1]), named[-1])
    text = f"{point.shape} {point.topology}"
    users = notation.after("b(?:atch)?(?:[ _]size)?", text) or 1
    heads, length, width = (
        notation.after(words, text)
        for words in ("(?:nh|nqh|q?_?heads|h)", "(?:sk?|seq(?:[ _]?len(?:gth)?)?|isl)", "(?:dh?|head[ _]dim)")
    )
    if not (heads and length and width):
        raise NotCovered(f"no heads, length and head dimension in {point.shape!r}, as `b1 nh8 s4096 d128`")
    kept = notation.after("(?:nkv|nkvh|kv[ _]heads)", text) or heads
    rows = 1 if "decode" in point.op.lower() else notation.after("sq", text) or length
    return Operand((users, heads, rows, width), named[0]), Operand((users, kept, length, width), named[-1])
