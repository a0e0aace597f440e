"""Sums along axes in one fixed order: the bits of a reduction follow from the reduced lengths alone.

NumPy sums the last axis of C-ordered data pairwise and any other axis row after row, and which of the two it does can follow from the
other dimensions, the stack included. Here the reduced axes are always brought to the end and made one contiguous row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.kernels.ordering import in_order
from tt_run.runtime.values.scratch_arrays import scratch

Array = npt.NDArray[Any]

_NARROWEST, _WIDEST = 256, 4096
"""Widths that `einsum` adds."""
_EIGHT, _LEAF = 8, 128
"""How NumPy adds a row: sums beside each other, and the longest row that is not halved."""
_BESIDE, WORTH = 32, 4096
"""Rows side by side, and elements, from which on they are added there."""
_ACROSS, _PIECE = 1024, 1 << 17
"""Columns, and elements, that are added at a time: what is widened for it stays in the second cache."""


def rows_of(stack: Array, axes: Sequence[int]) -> Array:
    """(shards, *kept, reduced): the reduced shard axes in order as one contiguous last axis."""
    rank = stack.ndim - 1
    kept = [d + 1 for d in range(rank) if d not in axes]
    ordered = stack.transpose(0, *kept, *(d + 1 for d in axes))
    length = math.prod(stack.shape[d + 1] for d in axes)
    return in_order(ordered).reshape(len(stack), *(stack.shape[d] for d in kept), length)


def reduced_shape(shape: Sequence[int], axes: Sequence[int], keepdim: bool) -> tuple[int, ...]:
    """Shape of a shard after its axes were reduced."""
    if keepdim:
        return tuple(1 if d in axes else n for d, n in enumerate(shape))
    return tuple(n for d, n in enumerate(shape) if d not in axes)


def total(rows: Array) -> Array:
    """Sum of every row; integers are summed in 64 bits."""
    return np.add.reduce(rows, axis=-1, dtype=np.float32 if rows.dtype.kind == "f" else np.int64)


def lie_beside(shape: Sequence[int], axes: Sequence[int]) -> bool:
    """Whether rows of a shard's reduced axes lie side by side, so many and so long that they are to be added where they lie."""
    if not axes or list(axes) != list(range(axes[0], axes[0] + len(axes))):
        return False
    length, inner = math.prod(shape[d] for d in axes), math.prod(shape[axes[-1] + 1 :])
    return length >= _EIGHT and inner >= _BESIDE and length * inner >= WORTH


def total_beside(stack: Array, axes: Sequence[int]) -> Array:
    """`total` of `rows_of`, with its bits, of a contiguous stack of float32 or bfloat16 whose reduced rows lie side by side.

    Eight sums of every eighth element, and halves of what is longer than 128, are what NumPy adds in a row; here all rows do so at once.
    To bring each of them together takes five times as long.
    """
    shape, first = stack.shape[1:], axes[0]
    length, inner = math.prod(shape[d] for d in axes), math.prod(shape[axes[-1] + 1 :])
    columns = stack.reshape(-1, length, inner)
    sums: Array = np.empty((len(columns), inner), np.float32)
    height = max(1, _PIECE // (min(length, _LEAF) * min(inner, _ACROSS)))
    for top in range(0, len(columns), height):
        for left in range(0, inner, _ACROSS):
            place = slice(top, top + height), slice(left, left + _ACROSS)
            sums[place] = _in_halves(columns[place[0], :, place[1]])
    return sums.reshape(len(stack), *shape[:first], *shape[axes[-1] + 1 :])


def _in_halves(columns: Array) -> Array:
    length = columns.shape[1]
    leaves, left = divmod(length, _LEAF)
    if leaves > 1 and not left and not leaves & (leaves - 1):
        return _in_equal_halves(columns, leaves)
    if length > _LEAF:
        half = length // 2
        half -= half % _EIGHT
        upper = _in_halves(columns[:, :half])
        return np.add(upper, _in_halves(columns[:, half:]), upper)
    whole = length - length % _EIGHT
    rows = _widened(columns)
    steps = rows[:, :whole].reshape(len(rows), whole // _EIGHT, _EIGHT, rows.shape[2])
    sums = _of_eight(np.add.reduce(steps, axis=1).transpose(1, 0, 2))
    for row in range(whole, length):
        sums += rows[:, row]
    return sums


def _in_equal_halves(columns: Array, leaves: int) -> Array:
    """The same of a power of two of leaves, whose sums are brought together at once."""
    count, _, inner = columns.shape
    sums: Array = np.empty((leaves, count, _EIGHT, inner), np.float32)
    for leaf in range(leaves):
        rows = _widened(columns[:, leaf * _LEAF : (leaf + 1) * _LEAF])
        steps = rows.reshape(count, _LEAF // _EIGHT, _EIGHT, inner)
        np.add.reduce(steps, axis=1, out=sums[leaf])
    halves = _of_eight(sums.transpose(2, 0, 1, 3))
    while len(halves) > 1:
        halves = halves[0::2] + halves[1::2]
    return halves[0]


def _widened(columns: Array) -> Array:
    """Columns in float32, in memory that the next call writes again if they are not that already."""
    if columns.dtype == np.float32:
        return columns
    rows: Array = scratch("sums", 1, columns.size)[0][: columns.size].reshape(columns.shape)
    np.copyto(rows, columns)
    return rows


def _of_eight(sums: Array) -> Array:
    a, b, c, d, e, f, g, h = sums
    found: Array = ((a + b) + (c + d)) + ((e + f) + (g + h))
    return found


def of_rows(rows: Array) -> Array:
    """Sums of float32 rows (rows, width) as a column; which routine adds follows from the width alone.

    `einsum` takes half the time of a pairwise sum; it cuts rows that are wider than its buffer, and its call costs more.
    """
    if _NARROWEST <= rows.shape[-1] <= _WIDEST:
        sums: Array = np.einsum("ij->i", rows)
        return sums[:, None]
    return np.add.reduce(rows, axis=-1, keepdims=True)


def mean(rows: Array) -> Array:
    """Mean of every row, in float32."""
    real = rows if rows.dtype == np.float32 else rows.astype(np.float32)
    sums: Array = np.add.reduce(real, -1)
    return np.divide(sums, np.float32(max(rows.shape[-1], 1)))


def variance(rows: Array, correction: int = 0) -> Array:
    """Mean squared distance from the mean of every row, divided by the length less `correction`; NaN where nothing is left."""
    centred = rows.astype(np.float32, copy=False) - mean(rows)[..., None]
    np.square(centred, out=centred)
    with np.errstate(all="ignore"):
        return np.divide(total(centred), np.float32(max(rows.shape[-1] - correction, 0)))
