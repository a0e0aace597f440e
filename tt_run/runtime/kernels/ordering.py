"""Elements of a view brought into C order: what every movement of data comes down to."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_WORTH = 1 << 16
_SIDE = 128  # of a square that fits into the first cache both ways round


def in_order(values: Array) -> Array:
    """The elements in C order, in an array of their own unless they are in that order already.

    A transposed array is copied square by square: along whole rows of one order, every element lies in another line of the cache.
    """
    if values.flags.c_contiguous or values.size < _WORTH or values.ndim < 2:
        return np.ascontiguousarray(values)
    long = [axis for axis, length in enumerate(values.shape) if length > 1]
    near = min(long, key=lambda axis: abs(values.strides[axis]))
    last = long[-1]
    if near == last:
        return np.ascontiguousarray(values)
    found = np.empty(values.shape, values.dtype)
    place = [slice(None)] * values.ndim
    for row in range(0, values.shape[near], _SIDE):
        place[near] = slice(row, row + _SIDE)
        for column in range(0, values.shape[last], _SIDE):
            place[last] = slice(column, column + _SIDE)
            found[tuple(place)] = values[tuple(place)]
    return found
