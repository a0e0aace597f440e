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

from mgd.lean import dataclass
from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels.elementwise import BLOCK, Buffers, finish
from tt_run.runtime.kernels.ordering import in_order
from tt_run.runtime.kernels.workers import pieces_of, run_tasks
from tt_run.runtime.values.bfloat16 import BFLOAT16, narrow, round_blocks
from tt_run.runtime.values.float_warnings import restore, silence
from tt_run.runtime.values.recycled_arrays import empty
from tt_run.runtime.values.scratch_arrays import scratch
from tt_run.runtime.values.torch_rounding import is_ready

Array = npt.NDArray[Any]
RowFunction = Callable[..., object]
"""Writes rows to `out`; may return True where it has seen to it that there is no NaN among them."""


@dataclass(frozen=True)
class _Part:
    """Rows that are worked through together: source, operands beside it (as many rows, or one for all), result."""

    source: Array
    sides: list[Array]
    out: Array


def along_last(
    function: RowFunction, dtype: DataType, stack: Array, *others: Array, either: bool = False
) -> Array:
    """`function(out, rows, *rows of others)` over the last dimension of a stack, in the stored form of `dtype`.

    It writes rows of the same width to `out`, and leaves the others as they are. `others` broadcast to the stack's shape; one that has a
    single row is handed over as that row. `either`: the stack may be of bfloat16 elements, and so may the result, where PyTorch makes them.
    """
    shape = stack.shape
    if not stack.size:
        return np.empty(shape, np.float32)
    width = shape[-1] if len(shape) > 1 else 1
    rounded = dtype is DataType.BFLOAT16
    halves = either and rounded and stack.size > BLOCK and is_ready()
    source = np.ascontiguousarray(stack, dtype=BFLOAT16 if halves and stack.dtype == BFLOAT16 else np.float32)
    if others:
        others = tuple([np.asarray(other, dtype=np.float32) for other in others])
    out: Array = empty(shape, BFLOAT16 if halves else np.float32)
    parts = _parts(source, others, out, width)
    step = max(1, 2 * BLOCK // width)
    places = [(part, start) for part in parts for start in range(0, len(part.source), step)]
    pieces = pieces_of(out.size)
    shares = [share for p in range(pieces) if (share := places[p::pieces])]
    run_tasks([partial(_fill, function, share, step, rounded) for share in shares])
    return out if rounded else finish(out, dtype)


def _parts(source: Array, others: tuple[Array, ...], out: Array, width: int) -> list[_Part]:
    """All rows at once where the other operands allow it, else one part for each shard."""
    if all(o.size == width or o.shape == source.shape for o in others):
        return [
            _Part(source.reshape(-1, width), [o.reshape(-1, width) for o in others], out.reshape(-1, width))
        ]
    parts = []
    for i, shard in enumerate(source):
        sides = []
        for other in others:
            own = other[i if len(other) > 1 else 0]
            if own.size != width:
                own = np.broadcast_to(own, shard.shape)
            sides.append(np.ascontiguousarray(own).reshape(-1, width))
        parts.append(_Part(shard.reshape(-1, width), sides, out[i].reshape(-1, width)))
    return parts


def _fill(function: RowFunction, places: list[tuple[_Part, int]], step: int, rounded: bool) -> None:
    before = silence()
    try:
        with Buffers(buffer_of(places[0][0].source.shape[1])):
            for part, start in places:
                cut = slice(start, start + step)
                source, out = part.source[cut], part.out[cut]
                if source.dtype == BFLOAT16:
                    wide = scratch("rows read", 1, max(source.size, BLOCK))[0][: source.size].reshape(
                        source.shape
                    )
                    np.copyto(wide, source)
                    source = wide
                sides = [s if len(s) == 1 else s[cut] for s in part.sides]
                if not rounded:
                    function(out, source, *sides)
                    continue
                room = scratch("rows", 1, max(source.size, BLOCK))[0][: source.size]
                said = function(room.reshape(source.shape), source, *sides)
                if out.dtype == BFLOAT16:
                    narrow(room, out.reshape(-1), all_numbers=said is True)
                else:
                    round_blocks(room, out.reshape(-1))
    finally:
        restore(before)


def buffer_of(width: int) -> int:
    """Elements of NumPy's buffer for rows: one row, or as many as it has anyway."""
    return min(-(-width // 16) * 16, np.getbufsize())


def along_axis(
    axis: int, function: RowFunction, dtype: DataType, stack: Array, *, either: bool = False
) -> Array:
    """`along_last` over any axis of the stack (1 is the shard's first dimension)."""
    if axis == stack.ndim - 1:
        return along_last(function, dtype, stack, either=either)
    stack = stack.astype(np.float32, copy=False)
    turned = in_order(np.moveaxis(stack, axis, -1))
    # Block floats share exponents along the last dimension: round them only where they end up.
    values = along_last(function, DataType.FLOAT32, turned)
    return finish(in_order(np.moveaxis(values, -1, axis)), dtype)
