"""How much of a core's L1 a pool takes: by this the reference chooses what is cut over cores where a call does not say.

Source: memory configurations of results of reference library 0.81.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.tile import TILE_SIZE, tiles
from tt_run.runtime.values.dtypes import tile_bytes

_FACE = TILE_SIZE // 2
_ELEMENT = 2
"""Bytes of an element as pools read it; two buffers of each kind are filled in turn."""
_TWICE = 2
_AT_ONCE, _FEWER_AT_ONCE = 8, 4
"""Tiles of channels that are reduced together, fewer for means of windows of more rows than a tile has."""


@dataclass(frozen=True, slots=True)
class Pooling:
    """A pool's windows: their pixels, whether they are averaged by several counts, and whether each is a whole image."""

    pixels: int
    mean: bool = False
    counts: bool = False
    whole: bool = False
    indices: bool = False


def room(
    pooling: Pooling, rows: int, channels: int, down: int, across: int, layout: Layout, dtype: DataType
) -> int:
    """Bytes of each core for buffers and its share of `rows` x `channels`, cut `down` and `across`."""
    face = TILE_SIZE**2 * _ELEMENT
    tiled = layout is Layout.TILE
    share = -(-channels // across)
    deep = tiles(share)
    large = pooling.pixels > TILE_SIZE
    at_once = 1 if pooling.indices else _FEWER_AT_ONCE if pooling.mean and large else _AT_ONCE
    read = pooling.pixels if pooling.pixels <= _FACE else TILE_SIZE
    if pooling.indices:
        window = at_once * TILE_SIZE**2
    else:
        window = min(deep, at_once) * TILE_SIZE * read
    scalars = face * _TWICE * (2 if pooling.counts else 1)
    total = scalars + face + 2 * _TWICE * _up(window, TILE_SIZE**2) * _ELEMENT
    if pooling.indices:
        total += 6 * face  # places, and how they step
    high, wide = tiles(-(-rows // down)) * TILE_SIZE, tiles(share) * TILE_SIZE
    if tiled:
        return total + deep * face + high * wide // TILE_SIZE**2 * tile_bytes(TILE_SIZE**2, dtype)
    held = _FACE * _ELEMENT * high * -(-share // _FACE)
    return total + held * (2 if pooling.indices else 1)


def _up(value: int, step: int) -> int:
    return math.ceil(value / step) * step
