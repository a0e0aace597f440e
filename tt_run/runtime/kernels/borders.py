"""Borders of images as rows of channels, one below the other: those above, below, on the left and on the right, the last two with the corners."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def without_interior(padded: Array, height: int, width: int, above: int, beside: int) -> Array:
    """The borders of a padded shard as rows of channels: [rows, C]."""
    image = padded.reshape(-1, *padded.shape[height:])
    inner = slice(beside, image.shape[2] - beside)
    bands = (
        image[:, :above, inner],
        image[:, image.shape[1] - above :, inner],
        image[:, :, :beside],
        image[:, :, image.shape[2] - beside :],
    )
    return np.concatenate([band.reshape(-1, image.shape[-1]) for band in bands])


def with_borders(rows_of_borders: Array, source: Array, above: int, beside: int, inside: bool) -> Array:
    """A shard with the borders of a compact buffer."""
    *outer, rows, columns, depth = source.shape
    if not inside:
        rows, columns = rows + 2 * above, columns + 2 * beside
    out = np.zeros((math.prod(outer), rows, columns, depth), source.dtype)
    inner = slice(beside, columns - beside)
    whole = source.reshape(-1, *source.shape[-3:])
    out[:, above : rows - above, inner] = whole[:, above : rows - above, inner] if inside else whole
    places = (
        (slice(None), slice(above), inner),
        (slice(None), slice(rows - above, None), inner),
        (slice(None), slice(None), slice(beside)),
        (slice(None), slice(None), slice(columns - beside, None)),
    )
    at = 0
    for place in places:
        shape = out[place].shape
        count = math.prod(shape[:3])
        out[place] = rows_of_borders[at : at + count].reshape(shape)
        at += count
    return out.reshape(*outer, rows, columns, depth)


def rows_around(outer: int, rows: int, columns: int, above: int, beside: int) -> int:
    """Rows of channels that the borders around so many images have."""
    return outer * 2 * (above * columns + beside * (rows + 2 * above))
