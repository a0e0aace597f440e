"""The side of a tile: what devices compute on, and pad shapes to."""

from __future__ import annotations

TILE_SIZE = 32


def tiles(length: int) -> int:
    """How many tiles cover a length."""
    return -(-length // TILE_SIZE)


def whole_tiles(length: int) -> int:
    """A length rounded up to whole tiles."""
    return tiles(length) * TILE_SIZE
