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

Array = npt.NDArray[Any]

_NARROWEST, _WIDEST = 256, 4096
"""Widths that `einsum` adds."""


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
