"""Functions of whole rows (softmax, norms), a few rows at a time while they are in cache.

A row is a contiguous run of the normalised dimension; its result follows from its own elements, so rows may be cut anywhere and
shared among threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ccl.buffers import empty
from tt_run.runtime.enums import DataType
from tt_run.runtime.ops.elementwise import BFLOAT16, BLOCK, finish
from tt_run.runtime.ops.workers import spread, thread_count

Array = npt.NDArray[Any]
RowFunction = Callable[..., Array]

_SPREAD = 1 << 20


def along_last(function: RowFunction, dtype: DataType, stack: Array, *others: Array) -> Array:
    """`function(rows, *rows of others)` -> rows of the same width, over the last dimension of a stack; in the stored form of `dtype`.

    `others` broadcast to the stack's shape.
    """
    shape = stack.shape
    if not stack.size:
        return np.empty(shape, np.float32)
    width = shape[-1] if len(shape) > 1 else 1
    source = np.ascontiguousarray(stack, dtype=np.float32).reshape(-1, width)
    views = [np.broadcast_to(o, shape) for o in others]
    if any(not v.flags.c_contiguous for v in views):
        views = [np.ascontiguousarray(v) for v in views]
    sides = [v.reshape(-1, width) for v in views]
    out: Array = empty(source.shape, np.float32)
    step = max(1, BLOCK // max(width, 1))
    starts = range(0, len(source), step)
    pieces = thread_count() if source.size >= _SPREAD else 1
    rounded = dtype is DataType.BFLOAT16
    spread(
        [
            partial(_fill, function, source, sides, out, starts[p::pieces], step, rounded)
            for p in range(pieces)
        ]
    )
    out = out.reshape(shape)
    return out if rounded else finish(out, dtype)


def _fill(
    function: RowFunction,
    source: Array,
    sides: list[Array],
    out: Array,
    starts: range,
    step: int,
    rounded: bool,
) -> None:
    with np.errstate(all="ignore"):
        for start in starts:
            cut = slice(start, start + step)
            values = function(source[cut], *(s[cut] for s in sides))
            out[cut] = values.astype(BFLOAT16) if rounded else values


def along(axis: int, function: RowFunction, dtype: DataType, stack: Array) -> Array:
    """`along_last` over any axis of the stack (1 is the shard's first dimension)."""
    if axis == stack.ndim - 1:
        return along_last(function, dtype, stack)
    turned = np.ascontiguousarray(np.moveaxis(stack, axis, -1))
    # Block floats share exponents along the last dimension: round them only where they end up.
    values = along_last(function, DataType.FLOAT32, turned)
    return finish(np.ascontiguousarray(np.moveaxis(values, -1, axis)), dtype)
