"""Blocks of paged caches seen otherwise than they were allocated: with other heads and block sizes, or as a ring of positions.

Layers that share a cache see the tiles of a block, in their order, as heads, rows and columns of their own. Source: reference library
0.81.1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE

Array = npt.NDArray[Any]


class Blocks(NamedTuple):
    """Heads, positions and columns that a block of a paged cache holds."""

    heads: int
    size: int
    depth: int

    def seen(self, cache: Array) -> Array:
        """The blocks of a cache (blocks, heads, size, depth) as these; the cache itself where it is so anyway."""
        return cache if cache.shape[1:] == self else _tiled(cache, self)


def _tiled(cache: Array, blocks: Blocks) -> Array:
    count, heads, size, depth = cache.shape
    tiles = cache.reshape(count, heads, size // TILE_SIZE, TILE_SIZE, depth // TILE_SIZE, TILE_SIZE)
    ordered = tiles.transpose(0, 1, 2, 4, 3, 5)
    high, wide = blocks.size // TILE_SIZE, blocks.depth // TILE_SIZE
    turned = ordered.reshape(count, blocks.heads, high, wide, TILE_SIZE, TILE_SIZE).transpose(
        0, 1, 2, 4, 3, 5
    )
    return np.ascontiguousarray(turned).reshape(count, *blocks)


def blocks_of(cache: Tensor, depth: int, heads: int | None = None, size: int | None = None) -> Blocks:
    """The blocks as a call sees them: 0 or None leaves what the cache has, and `depth` counts where something is given.

    Raises RuntimeError when they hold other numbers of elements, or are not made of whole tiles.
    """
    held = Blocks(*cache.shape[1:])
    if not heads and not size:
        return held
    seen = Blocks(heads or held.heads, size or held.size, depth)
    if np.prod(seen) != np.prod(held):
        raise fatal(
            f"geometry mismatch: num_kv_heads * block_size * head_dim must stay {np.prod(held)} as in the cache {cache.shape}, got "
            f"{seen.heads} * {seen.size} * {seen.depth}",
            hint=f"block_size={np.prod(held) // max(seen.heads * seen.depth, 1)} holds as much",
        )
    if any(n % TILE_SIZE for n in (held.size, held.depth, seen.size, seen.depth)):
        raise fatal(
            f"blocks of {tuple(held[1:])} seen as {tuple(seen[1:])} need whole tiles of {TILE_SIZE}",
            hint=f"block_size and head_dim are multiples of {TILE_SIZE}: ttnn.pad(tensor, …) fills them up",
        )
    return seen


def check_ring(modulo: int | None, pages: Tensor | None, size: int) -> None:
    """Raise RuntimeError for a ring of positions without pages, or that is not made of whole blocks of the page table."""
    if modulo is None:
        return
    if pages is None:
        raise fatal(
            "cache_position_modulo is only supported in paged mode (when page_table is provided)",
            hint="give page_table=…, or leave cache_position_modulo out",
        )
    if modulo <= 0 or modulo % size:
        raise fatal(
            f"cache_position_modulo ({modulo}) must be a positive multiple of effective block_size ({size}); otherwise a wrapped position "
            "would split across blocks and the kernel can't address it.",
            "cache_position_modulo > 0 && cache_position_modulo % effective_block_size == 0",
            hint=f"cache_position_modulo={max(modulo // size, 1) * size}",
        )
    if modulo > pages.shape[-1] * size:
        raise fatal(
            f"cache_position_modulo ({modulo}) must fit in max_num_blocks_per_seq ({pages.shape[-1]}) * block_size ({size})",
            hint=f"cache_position_modulo={pages.shape[-1] * size} is the whole page table",
        )
