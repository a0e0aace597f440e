"""Where a sharded tensor lies once its dimensions are in another order.

Most orders of four dimensions are made of exchanges of two, each of which finds its own place. Source: memory configurations of results of
reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tt_run.runtime.enums import BLOCK_SHARDED, HEIGHT_SHARDED, WIDTH_SHARDED, Layout, TensorMemoryLayout
from tt_run.runtime.ops.placement import scaled_shards
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.dtypes import element_size

Order = tuple[int, ...]
_LAST_TWO, _INNER, _FIRST_TWO = (0, 1, 3, 2), (0, 2, 1, 3), (1, 0, 2, 3)
_EXCHANGES: dict[Order, tuple[Order, ...]] = {
    _LAST_TWO: (_LAST_TWO,),
    _INNER: (_INNER,),
    _FIRST_TWO: (_FIRST_TWO,),
    (0, 2, 3, 1): (_INNER, _LAST_TWO),
    (0, 3, 1, 2): (_LAST_TWO, _INNER),
    (0, 3, 2, 1): (_LAST_TWO, _INNER, _LAST_TWO),
}


def of_order(tensor: Tensor, order: Sequence[int], asked: MemoryConfig | None = None) -> MemoryConfig | None:
    """What `permute` and `transpose` make of their operand's cores, or of a cut that is `asked` for without cores.

    Any other configuration is itself, and None stays None for an operand that is not sharded.
    """
    held = tensor.memory_config()
    named = asked is not None and not asked.nameless
    whole = asked is None and held.shard_spec is None
    if named or whole or tensor.device() is None or not math.prod(tensor.shape):
        return asked
    front = max(0, 4 - len(order))
    shape = (1,) * front + tuple(tensor.shape)
    full = (*range(front), *(d + front for d in order))
    long = [d for d in full if shape[d] > 1]
    alike = long == sorted(long) and tuple(shape[d] for d in full) == shape
    exchanges = _EXCHANGES.get(full, (full,))
    for each in exchanges if asked is None else exchanges[:-1]:
        if asked is None and not alike and _rows_leave(tensor, held, shape):
            return MemoryConfig(TensorMemoryLayout.INTERLEAVED, held.buffer_type)
        held, shape = _exchanged(tensor, held, shape, each), tuple(shape[d] for d in each)
    if asked is None:
        return held
    after = [shape[d] for d in exchanges[-1]]
    return of_size(tensor, held, asked, scaled_shards.matrix(tensor, shape), after)


def _rows_leave(tensor: Tensor, held: MemoryConfig, shape: Sequence[int]) -> bool:
    """Whether rows without tiles leave the cores that they are held on: columns or blocks of matrices that are no whole tiles."""
    broken = any(length % step for length, step in zip(shape[-2:], tensor.tile.edges, strict=True))
    return (
        broken and tensor.layout is not Layout.TILE and held.memory_layout in (WIDTH_SHARDED, BLOCK_SHARDED)
    )


def of_size(
    tensor: Tensor, held: MemoryConfig, asked: MemoryConfig, before: tuple[int, int], shape: Sequence[int]
) -> MemoryConfig:
    """The cores of a cut that is `asked` for without: the operand's that is `held` alike and comes out in whole tiles, else tiles over the device."""
    if held.shard_spec is not None and held.memory_layout is asked.memory_layout:
        kept = MemoryConfig(held.memory_layout, asked.buffer_type, held.shard_spec)
        fitted = scaled_shards.scaled(tensor, kept, before, scaled_shards.matrix(tensor, shape))
        if fitted is not None:
            return fitted
    return scaled_shards.spread_in_tiles(tensor, asked, shape)


def _exchanged(tensor: Tensor, held: MemoryConfig, shape: Order, order: Order) -> MemoryConfig:
    """Where dimensions in this order lie of a tensor of this shape that is held so."""
    spec, kind = held.shard_spec, held.memory_layout
    if spec is None:
        return held
    after = tuple(shape[d] for d in order)
    before, whole = scaled_shards.matrix(tensor, shape), scaled_shards.matrix(tensor, after)
    even = scaled_shards.fills(held, before)
    if order == _LAST_TWO and kind is HEIGHT_SHARDED and math.prod(shape[:-2]) == 1 and even:
        piece = [whole[0], whole[1] // spec.grid.num_cores()]
        aligned = not piece[1] * element_size(tensor.dtype) % scaled_shards.ALIGNMENT
        if tensor.layout is Layout.TILE or (aligned and not spec.shape[0] % TILE_SIZE):
            return MemoryConfig(
                WIDTH_SHARDED, held.buffer_type, ShardSpec(spec.grid, piece, spec.orientation)
            )
    fitted = scaled_shards.scaled(tensor, held, before, whole)
    if fitted is not None:
        return fitted
    blocks = kind is BLOCK_SHARDED and tensor.layout is Layout.TILE
    if even and order in _EXCHANGES and not blocks:
        return MemoryConfig(TensorMemoryLayout.INTERLEAVED, held.buffer_type)
    return scaled_shards.spread_in_tiles(tensor, held, after)
