"""How many rows the packed weights of an expert have: what programs ask for that lay them out themselves. Source: reference library 0.81.1."""

from __future__ import annotations

from tt_run.runtime.ops.experts.ring_layout import Ring, first_packing
from tt_run.runtime.tile import TILE_SIZE

W0_W1_BLOCK_TILES_W = 4
W0_W1_HALF_BLOCK_TILES_W = 2
W2_HALF_A2A_ITER_TILES_W = 2
"""Tiles across a block, and a block that is half as wide and twice as high."""
W0_W1_TXNS_PER_BLOCK = 2
DEFAULT_TILES_PER_TXN = 14
ALT_TILES_PER_TXN = 20
BLOCK_TILES_H = W0_W1_TXNS_PER_BLOCK * DEFAULT_TILES_PER_TXN // W0_W1_BLOCK_TILES_W
"""Tiles down a block of the usual transactions."""


def w0_w1_bank_rows_per_expert(
    k_dram_tiles: int,
    Nt: int,
    num_cores: int,
    num_banks: int | None = None,
    tiles_per_txn: int = DEFAULT_TILES_PER_TXN,
) -> int:
    """Rows of W0 and W1 in one bank, for one layer and expert; `k_dram_tiles` has the row of a bias."""
    packing = first_packing(Ring(k_dram_tiles, Nt, num_cores), num_banks or num_cores, _height(tiles_per_txn))
    return len(packing.places) // packing.banks * TILE_SIZE


def w2_core_rows_per_expert(Ht: int, k_w2_tiles: int, num_cores: int, tiles_per_txn: int) -> int:
    """Rows of W2 on one core of the ring, for one layer and expert."""
    ring, height = Ring(Ht, k_w2_tiles, num_cores), _height(tiles_per_txn)
    narrow = ring.half_group(height)
    blocks = (ring.groups - narrow) * -(-k_w2_tiles // height) + narrow * -(-k_w2_tiles // (2 * height))
    return blocks * height * TILE_SIZE


def _height(tiles_per_txn: int) -> int:
    return W0_W1_TXNS_PER_BLOCK * tiles_per_txn // W0_W1_BLOCK_TILES_W
