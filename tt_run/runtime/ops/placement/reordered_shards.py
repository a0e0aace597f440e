"""Where a sharded tensor lies once its dimensions are in another order.

Most orders of four dimensions are made of exchanges of two, each of which finds its own place. Source: memory configurations of results of
reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tt_run.runtime.enums import BLOCK_SHARDED, HEIGHT_SHARDED, WIDTH_SHARDED, Layout, TensorMemoryLayout
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.placement import scaled_shards
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, NdShardSpec, ShardSpec
from tt_run.runtime.tensor.spec.tensor_spec import padded_shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.dtypes import element_size

Order = tuple[int, ...]
_LAST_TWO, _INNER, _FIRST_TWO = (0, 1, 3, 2), (0, 2, 1, 3), (1, 0, 2, 3)
_RANK = 4
_EXCHANGES: dict[Order, tuple[Order, ...]] = {
    _LAST_TWO: (_LAST_TWO,),
    _INNER: (_INNER,),
    _FIRST_TWO: (_FIRST_TWO,),
    (0, 2, 3, 1): (_INNER, _LAST_TWO),
    (0, 3, 1, 2): (_LAST_TWO, _INNER),
    (0, 3, 2, 1): (_LAST_TWO, _INNER, _LAST_TWO),
}


def of_order(
    tensor: Tensor, order: Sequence[int], asked: MemoryConfig | None = None, exchanged: bool = False
) -> MemoryConfig | None:
    """What `permute` and `transpose`, for which two are `exchanged`, make of their operand's cores, or of a cut that is `asked` for without cores.

    Any other configuration is itself, and None stays None for an operand that is not sharded. In an order that is not made of exchanges pieces
    of any rank are in that order, also on other cores that are asked for in such pieces.
    """
    held = tensor.memory_config()
    named = asked is not None and not asked.nameless
    whole = not held.is_sharded() and asked is None
    if whole or tensor.device() is None or not math.prod(tensor.shape):
        return asked
    front = max(0, _RANK - len(order))
    shape = (1,) * front + tuple(tensor.shape)
    full = (*range(front), *(d + front for d in order))
    long = [d for d in full if shape[d] > 1]
    alike = long == sorted(long) and tuple(shape[d] for d in full) == shape
    exchanges = _EXCHANGES.get(full, (full,))
    ordered = not exchanges_of(full, first_two=exchanged)
    cores = held if asked is None else asked
    if ordered and not alike and held.created_with_nd_shard_spec and cores.created_with_nd_shard_spec:
        return in_order(held, cores, full)
    if named:
        return asked
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
    tensor: Tensor,
    held: MemoryConfig,
    asked: MemoryConfig,
    before: tuple[int, int],
    shape: Sequence[int],
    layout: Layout | None = None,
) -> MemoryConfig:
    """The cores of a cut that is `asked` for without: the operand's that is `held` alike and comes out in whole tiles, else tiles over the device."""
    if held.shard_spec is not None and held.memory_layout is asked.memory_layout:
        kept = MemoryConfig(held.memory_layout, asked.buffer_type, held.shard_spec)
        whole = scaled_shards.matrix(tensor, shape, layout)
        fitted = scaled_shards.scaled(tensor, kept, before, whole, layout)
        if fitted is not None:
            return fitted
    return scaled_shards.spread_in_tiles(tensor, asked, shape, layout)


def exchanges_of(order: Sequence[int], first_two: bool = False) -> tuple[Order, ...]:
    """The exchanges of two dimensions that an order of four is made of on cores, none where it is made at once; those of the `first_two` too."""
    alone = tuple(order) == _FIRST_TWO and not first_two
    return () if alone else _EXCHANGES.get(tuple(order), ())


def in_order(held: MemoryConfig, cores: MemoryConfig, order: Order) -> MemoryConfig:
    """Pieces of any rank in another order, on the cores of others. Raises RuntimeError for pieces of fewer dimensions than the tensor has."""
    assert held.nd_shard_spec is not None and cores.nd_shard_spec is not None
    piece, on = list(held.nd_shard_spec.shard_shape), cores.nd_shard_spec
    beyond = next((d for d in order if d >= len(piece)), None)
    if beyond is not None:
        raise fatal(
            f"ShapeBase[] index out of range. {beyond} not in [-{max(_RANK, len(piece))}, {len(piece)})",
            hint=f"give the pieces of the tensor {len(order)} dimensions, or memory_config=ttnn.L1_MEMORY_CONFIG",
        )
    spec = NdShardSpec([piece[d] for d in order], on.grid, on.orientation, on.shard_distribution_strategy)
    return MemoryConfig(buffer_type=cores.buffer_type, nd_shard_spec=spec)


def _pieces_exchanged(
    tensor: Tensor, held: MemoryConfig, pieces: NdShardSpec, shape: Order, order: Order
) -> MemoryConfig:
    """Pieces of any rank with the same two dimensions exchanged; where they have one of them, or would be no whole tiles, blocks over the device."""
    front = len(order) - len(pieces.shard_shape)
    moved = [d for d, old in enumerate(order) if d != old]
    piece = list(pieces.shard_shape)
    if all(d >= front for d in moved):
        piece = [
            piece[order[d] - front] if d in moved else piece[d - front] for d in range(front, len(order))
        ]
    elif any(d >= front for d in moved):
        piece = []
    whole = all(length % edge == 0 for length, edge in zip(piece[-2:], tensor.tile.edges, strict=False))
    if piece and (whole or tensor.layout is not Layout.TILE):
        spec = NdShardSpec(piece, pieces.grid, pieces.orientation, pieces.shard_distribution_strategy)
        return _settled(tensor, MemoryConfig(buffer_type=held.buffer_type, nd_shard_spec=spec), shape, order)
    blocks = MemoryConfig(BLOCK_SHARDED, held.buffer_type)
    after = [shape[d] for d in order]
    return sharding.in_pieces(scaled_shards.spread_in_tiles(tensor, blocks, after))


def _settled(tensor: Tensor, place: MemoryConfig, shape: Order, order: Order) -> MemoryConfig:
    padded = padded_shape(tuple(shape[d] for d in order), tensor.layout, tensor.tile).dims
    return sharding.settled(place, padded, tensor.layout, tensor.tile.edges)


def _exchanged(tensor: Tensor, held: MemoryConfig, shape: Order, order: Order) -> MemoryConfig:
    """Where dimensions in this order lie of a tensor of this shape that is held so."""
    spec, kind, pieces = held.shard_spec, held.memory_layout, held.nd_shard_spec
    rows = tensor.layout is not Layout.TILE
    if held.created_with_nd_shard_spec and pieces is not None:
        if order == _FIRST_TWO and spec is not None:
            return held
        if spec is None or order == _FIRST_TWO or (order == _INNER and rows):
            return _pieces_exchanged(tensor, held, pieces, shape, order)
    if spec is None:
        return held
    after = tuple(shape[d] for d in order)
    before, whole = scaled_shards.matrix(tensor, shape), scaled_shards.matrix(tensor, after)
    tiled = tensor.layout is Layout.TILE
    by_rows = kind is HEIGHT_SHARDED and before[0] % spec.shape[0] == 0  # cores may be left over
    even = by_rows or scaled_shards.fills(held, before)
    if order == _LAST_TWO and kind is HEIGHT_SHARDED and math.prod(shape[:-2]) == 1 and even:
        piece = [whole[0], spec.shape[0]]
        aligned = not piece[1] * element_size(tensor.dtype) % scaled_shards.ALIGNMENT
        if tiled or (aligned and not spec.shape[0] % TILE_SIZE):
            return MemoryConfig(
                WIDTH_SHARDED, held.buffer_type, ShardSpec(spec.grid, piece, spec.orientation)
            )
    fitted = scaled_shards.scaled(tensor, held, before, whole)
    if fitted is not None:
        return fitted
    if even and order in _EXCHANGES and not (tiled and kind is BLOCK_SHARDED):
        return MemoryConfig(TensorMemoryLayout.INTERLEAVED, held.buffer_type)
    return scaled_shards.spread_in_tiles(tensor, held, after)
