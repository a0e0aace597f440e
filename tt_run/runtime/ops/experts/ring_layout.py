"""Where each tile of an expert's weights lies in the tensors that `ttnn.experimental.moe_compute` reads. Source: reference library 0.81.1.

A packed tensor is rows of four tiles; a map gives each of its places the number of a tile of the weights, or -1 for zeros. Cores of a ring
read it in blocks of two transactions: four tiles wide, or two wide and twice as high where a core has a column left over.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ops.experts.expert_layouts import W2_TILES_PER_A2A_ITER_W, shard_tiles, w2_shard_tiles
from tt_run.runtime.tile import TILE_SIZE

Array = npt.NDArray[Any]
WIDE = W2_TILES_PER_A2A_ITER_W
"""Tiles of a row of a packed tensor."""
_USUAL, _LARGE = 14, 20  # tiles of a transaction; the large one suits one shape alone
_LARGE_SHAPE = (80, 20, 8, False)
_NOTHING = -1


class Ring(NamedTuple):
    """Sizes in tiles of an expert's weights on a ring of cores; a bias is one more row of tiles below each matrix."""

    hidden: int
    intermediate: int
    cores: int
    bias: bool = False

    @property
    def height(self) -> int:
        """Rows of tiles of a block that is four tiles wide."""
        return tiles_per_transaction(self) // 2

    @property
    def groups(self) -> int:
        """Groups of four columns of the second product on each core."""
        return _up(_up(self.hidden, self.cores), WIDE)

    def half_group(self, height: int) -> bool:
        """Whether the last of these groups is stored two tiles wide, which blocks of the usual height never are."""
        left = _up(self.hidden, self.cores) % WIDE
        return height != _USUAL // 2 and 0 < left <= WIDE // 2


class Packing(NamedTuple):
    """A packed tensor: its map (rows, 4) for one layer and expert, the banks that it is cut into, and the shape of a bank's piece in rows."""

    places: Array
    banks: int
    piece: tuple[int, int]


def tiles_per_transaction(ring: Ring) -> int:
    """Tiles that a core reads at once."""
    return _LARGE if tuple(ring) == _LARGE_SHAPE else _USUAL


@lru_cache(maxsize=64)
def first_packing(ring: Ring, banks: int, height: int, shares: tuple[int, ...] = ()) -> Packing:
    """W0 and W1 side by side, column by column; tiles are numbered over (matrix, row, column).

    `height` is that of a block, which differs from the ring's own where a caller says so; `shares` are the cores' columns where those do.
    """
    depth, columns = ring.hidden + ring.bias, ring.intermediate
    numbers = np.arange(2 * depth * columns).reshape(2, depth, columns)
    shares = shares or first_columns(ring)
    largest = max(shares)
    stride = max(largest + largest % 2, WIDE)
    compact = largest < stride
    full, half = _up(depth, height) * height, _up(depth, 2 * height) * 2 * height
    deep = np.full((2, max(full, half), columns + 1), _NOTHING)  # the last column holds nothing
    deep[:, :depth, :columns] = numbers
    streams, begin, stored = [], 0, set()
    for own in shares:
        chosen = [*range(begin, begin + own), *([] if compact else [columns] * (stride - own))]
        begin += own
        stored.add(len(chosen))
        for left, right in zip(chosen[::2], chosen[1::2], strict=False):
            sides = (deep[0, :full, left], deep[1, :full, left], deep[0, :full, right], deep[1, :full, right])
            streams.append(np.stack(sides, axis=1))
        if len(chosen) % 2:
            streams.append(
                np.stack((deep[0, :half, chosen[-1]], deep[1, :half, chosen[-1]]), axis=1).reshape(-1, WIDE)
            )
    stream = np.concatenate(streams)
    blocks = _up(len(stream) // height, banks)
    places = np.full((banks * blocks * height, WIDE), _NOTHING)
    places[: len(stream)] = stream
    plain = height == _USUAL // 2 and len(stored) == 1 and not max(stored) % 2 and banks == ring.cores
    return Packing(places, banks, (max(stored) // 2, full) if plain else (blocks, height))


@lru_cache(maxsize=64)
def second_packing(ring: Ring, columns: tuple[int, ...], rows: tuple[int, ...], height: int) -> Packing:
    """W2, each core its own `columns`, its rows in the order in which the ring brings them: the core's own share of `rows`, then that of the one before it.

    The row of a bias is last on every core.
    """
    numbers = np.full((ring.intermediate + ring.bias, ring.hidden + 1), _NOTHING)
    numbers[:, :-1] = np.arange((ring.intermediate + ring.bias) * ring.hidden).reshape(-1, ring.hidden)
    ends = np.cumsum(rows)
    shares = [np.arange(end - many, end) for end, many in zip(ends, rows, strict=True)]
    last = np.arange(ring.intermediate, ring.intermediate + ring.bias)
    depth = int(ends[-1]) + ring.bias
    full, half = _up(depth, height) * height, _up(depth, 2 * height) * 2 * height
    whole = ring.groups - ring.half_group(height)
    streams, begin = [], 0
    for core, own in enumerate(columns):
        order = np.concatenate([*(shares[core - step] for step in range(ring.cores)), last])
        chosen = np.full(ring.groups * WIDE, ring.hidden)
        chosen[:own] = np.arange(begin, begin + own)
        begin += own
        table = np.full((max(full, half), len(chosen)), _NOTHING)
        table[:depth] = numbers[np.ix_(order, chosen)]
        streams += [table[:full, group * WIDE : (group + 1) * WIDE] for group in range(whole)]
        if whole < ring.groups:
            streams.append(table[:half, whole * WIDE : whole * WIDE + WIDE // 2].reshape(-1, WIDE))
    places = np.concatenate(streams)
    piece = (len(places) // ring.cores // height, height) if whole < ring.groups else (ring.groups, full)
    return Packing(places, ring.cores, piece)


def ring_packings(ring: Ring, banks: int | None = None) -> tuple[Packing, Packing]:
    """The packings of both tensors as the operation reads them."""
    return first_packing(ring, banks or ring.cores, ring.height), second_packing(
        ring, second_columns(ring), first_columns(ring), ring.height
    )


def first_columns(ring: Ring) -> tuple[int, ...]:
    """Columns of the first product of each core, in tiles."""
    return tuple(shard_tiles(ring.intermediate, core, ring.cores) for core in range(ring.cores))


def second_columns(ring: Ring) -> tuple[int, ...]:
    """Columns of the second product of each core, in tiles."""
    return tuple(
        w2_shard_tiles(ring.hidden, core, ring.intermediate, ring.cores) for core in range(ring.cores)
    )


def pack(matrices: Sequence[Array], packing: Packing) -> Array:
    """Weights [layers, experts, rows, columns], one matrix or two, as (banks, layers, experts, …, 4 tiles)."""
    layers, experts = matrices[0].shape[:2]
    tiles = np.concatenate([_tiles(matrix) for matrix in matrices], axis=2)
    tiles = np.concatenate([tiles, np.zeros_like(tiles[:, :, :1])], axis=2)  # what -1 takes
    wide = tiles[:, :, packing.places].swapaxes(3, 4)  # (L, E, rows, 32, 4, 32)
    wide = wide.reshape(layers, experts, packing.banks, -1, WIDE * TILE_SIZE)
    groups, rows = packing.piece
    shape = (packing.banks, layers, experts, groups, rows * TILE_SIZE, WIDE * TILE_SIZE)
    return np.ascontiguousarray(wide.transpose(2, 0, 1, 3, 4)).reshape(shape)


def unpack(packed: Array, packing: Packing, rows: int, columns: int, layer: int) -> Array:
    """The tiles of one layer back in their matrices: [experts, matrices, rows, columns], sizes in tiles."""
    one = packed[:, layer]  # (banks, E, …)
    experts = one.shape[1]
    tiles = (
        one.swapaxes(0, 1).reshape(experts, len(packing.places), TILE_SIZE, WIDE, TILE_SIZE).swapaxes(2, 3)
    )
    flat = tiles.reshape(experts, -1, TILE_SIZE, TILE_SIZE)[:, _inverse(packing)]
    found = flat.reshape(experts, -1, rows, columns, TILE_SIZE, TILE_SIZE).swapaxes(3, 4)
    return found.reshape(experts, -1, rows * TILE_SIZE, columns * TILE_SIZE)


def _inverse(packing: Packing) -> Array:
    places = packing.places.reshape(-1)
    stored = np.flatnonzero(places >= 0)
    inverse = np.empty(len(stored), np.int64)
    inverse[places[stored]] = stored
    return inverse


def _tiles(matrix: Array) -> Array:
    layers, experts, rows, columns = matrix.shape
    cut = matrix.reshape(layers, experts, rows // TILE_SIZE, TILE_SIZE, columns // TILE_SIZE, TILE_SIZE)
    return cut.swapaxes(3, 4).reshape(layers, experts, -1, TILE_SIZE, TILE_SIZE)


def _up(number: int, by: int) -> int:
    return -(-number // by)
