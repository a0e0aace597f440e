"""Elements of a view brought into C order: what every movement of data comes down to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.values.recycled_arrays import empty

Array = npt.NDArray[Any]

_WORTH = 1 << 16
_SHORT = 16  # rows too short to be worth turning
_SIDE = 128  # of a square that fits into the first cache both ways round
_PITCH = (
    1024  # bytes; elements multiples of it apart share so few places of a cache that they displace each other
)
_LINE = 64  # bytes
_ROWS, _COLUMNS, _FIT = 64, 1024, 1 << 16  # elements of a piece that is turned in the second cache


def in_order(values: Array) -> Array:
    """The elements in C order, in an array of their own unless they are in that order already.

    A transposed array is copied piece by piece: along whole rows of one order, every element lies in another line of the cache.
    """
    if values.flags.c_contiguous or values.size < _WORTH or values.ndim < 2:
        return np.ascontiguousarray(values)
    long = [axis for axis, length in enumerate(values.shape) if length > 1]
    near = min(long, key=lambda axis: abs(values.strides[axis]))
    last = long[-1]
    if near == last or min(values.shape[near], values.shape[last]) < _SHORT:
        return np.ascontiguousarray(values)
    found: Array = empty(values.shape, values.dtype)
    if values.strides[last] % _PITCH:
        limits = {near: _SIDE, last: _SIDE}
        for place in _places(values.shape, limits, values.size):
            found[place] = values[place]
        return found
    others = [axis for axis in range(values.ndim) if axis not in (near, last)]
    order = (*others, last, near)
    source, target = values.transpose(order), found.transpose(order)
    limits = {len(others): _ROWS, len(others) + 1: _COLUMNS}
    for place in _places(source.shape, limits, _FIT):
        _turn(source[place], target[place])
    return found


def _turn(source: Array, target: Array) -> None:
    """Copy by way of rows that lie a line further apart than a power of two."""
    *lengths, width = source.shape
    rows = np.empty((*lengths, width + _LINE // source.itemsize), source.dtype)[..., :width]
    np.copyto(rows, source)
    np.copyto(target, rows)


def _places(shape: Sequence[int], limits: dict[int, int], most: int) -> Iterator[tuple[slice, ...]]:
    """Pieces of at most `limits` along some axes, and of about `most` elements."""
    steps = list(shape)
    for axis, limit in limits.items():
        steps[axis] = min(limit, shape[axis])
        most //= steps[axis]
    for axis in sorted(set(range(len(shape))) - set(limits), reverse=True):
        steps[axis] = max(1, min(most, shape[axis]))
        most //= steps[axis]
    starts = (range(0, length, step) for length, step in zip(shape, steps, strict=True))
    for corner in itertools.product(*starts):
        yield tuple(slice(start, start + step) for start, step in zip(corner, steps, strict=True))
