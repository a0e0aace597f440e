"""What a call's sharded memory configuration becomes that names no cores, or pieces of another shape: operation by operation.

Source: memory configurations of results of reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tt_run.runtime.enums import Layout, cpp
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.declaration.places import like_operand
from tt_run.runtime.ops.placement import (
    fitted_shards,
    reordered_shards,
    row_widths,
    scaled_shards,
    viewed_shards,
)
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, NdShardSpec
from tt_run.runtime.tensor.spec.tensor_spec import padded_shape
from tt_run.runtime.tensor.tensor import Tensor


def anew(tensor: Tensor, memory_config: MemoryConfig | None) -> MemoryConfig | None:
    """The configuration whose cores a result is to be cut over anew, whatever pieces it names; its operand's for one that names no cores.

    None for what is not cut, or by pieces of any rank.
    """
    asked = like_operand(tensor, memory_config)
    if asked is None or asked.shard_spec is None or asked.created_with_nd_shard_spec:
        return None
    return asked


def refitted(
    tensor: Tensor, memory_config: MemoryConfig, shape: Sequence[int], layout: Layout
) -> MemoryConfig | None:
    """As `anew`, but None where the pieces fit a result of `shape`."""
    asked = anew(tensor, memory_config)
    if asked is None:
        return None
    if asked is not memory_config:
        return asked
    try:
        sharding.settled(
            asked, padded_shape(tuple(shape), layout, tensor.tile).dims, layout, tensor.tile.edges
        )
    except RuntimeError:
        return asked
    return None


def of_reshape(
    tensor: Tensor, memory_config: MemoryConfig | None, shape: Sequence[int], stays: bool
) -> MemoryConfig | None:
    """Where `reshape` puts its result, None for the operand's place; `stays`: nothing is moved, and rows with padding are a view.

    Raises RuntimeError for shards without cores of an operand that has none.
    """
    held = tensor.memory_config()
    pieces = held.nd_shard_spec if held.shard_spec is None else None
    if memory_config is None and pieces is not None and tensor.device() is not None and 0 not in shape:
        row = [1] * ((2 if tensor.layout is Layout.TILE else 1) - len(shape)) + list(shape)
        return _as_many(tensor, pieces, row)
    if memory_config is None and not len(shape) and tensor.is_sharded() and tensor.layout is Layout.TILE:
        return viewed_shards.of_view(tensor, shape)
    if memory_config is None and stays:
        wider = tensor.layout is not Layout.TILE and tensor.padded_shape != tensor.shape
        return viewed_shards.of_view(tensor, shape) if wider and tensor.is_sharded() else None
    if memory_config is None:
        return fitted_shards.of_reshape(tensor, shape)
    if not memory_config.is_sharded() or tensor.device() is None:
        joined = tensor.is_sharded() and not held.created_with_nd_shard_spec and tensor.shape != tuple(shape)
        if joined and tensor.layout is Layout.ROW_MAJOR:
            row_widths.check_joined(tensor)
        return memory_config
    if memory_config.nameless and not tensor.is_sharded():
        raise fatal(
            f"ttnn.reshape: sharded output memory_config (layout={cpp(memory_config.memory_layout)}) was supplied without a shard_spec, and no "
            "input_shard_spec is available (input is likely interleaved). Either provide a shard_spec on memory_config or omit memory_config "
            "to inherit it from the input tensor.",
            hint="ttnn.create_sharded_memory_config gives one",
        )
    asked = refitted(tensor, memory_config, shape, tensor.layout)
    return memory_config if asked is None else fitted_shards.of_reshape(tensor, shape, asked)


def of_part(
    tensor: Tensor, memory_config: MemoryConfig | None, shape: Sequence[int], stepped: bool = False
) -> MemoryConfig | None:
    """Where `slice` puts its result, None for the place of an operand that is not sharded. `stepped`: it leaves some out between."""
    held = tensor.memory_config()
    pieces = held.nd_shard_spec
    if (
        memory_config is None
        and held.created_with_nd_shard_spec
        and (held.shard_spec is None or len(shape) == 2)
        and pieces is not None
        and 2 <= len(pieces.shard_shape) <= len(shape)
        and 0 not in shape
    ):
        return _as_many(tensor, pieces, shape, stepped, len(pieces.shard_shape))
    if memory_config is None:
        return fitted_shards.of_part(tensor, shape)
    if not memory_config.nameless or tensor.device() is None or not math.prod(shape):
        return memory_config
    before, after = (scaled_shards.matrix(tensor, dims) for dims in (tuple(tensor.shape), shape))
    if any(old % new for old, new in zip(before, after, strict=True)):
        return scaled_shards.spread_in_tiles(tensor, memory_config, shape)
    return reordered_shards.of_size(tensor, tensor.memory_config(), memory_config, before, shape)


def of_half(tensor: Tensor, shape: Sequence[int]) -> MemoryConfig | None:
    """As `of_part` for halves that go through tiles: raises RuntimeError for pieces of rows that are no whole ones."""
    place = of_part(tensor, None, shape)
    if place is not None and place.shard_spec is not None:
        sharding.check_alignment(place.shard_spec, Layout.TILE, tensor.tile.edges)
    return place


def _as_many(
    tensor: Tensor, pieces: NdShardSpec, shape: Sequence[int], stepped: bool = False, rank: int | None = None
) -> MemoryConfig:
    """As many pieces along each dimension as the operand has, of tiles whole ones, in so many dimensions as the result has or `rank`.

    Raises RuntimeError where they are no whole tiles, of a part with steps.
    """
    tiled, last = tensor.layout is Layout.TILE, rank or len(shape)
    both = (tuple(tensor.padded_shape if tiled else tensor.shape), tuple(pieces.shard_shape))
    lengths, own = (_of_rank(dims[-last:] if rank else dims, last) for dims in both)
    piece = [-(-new // -(-old // of)) for new, old, of in zip(shape[-last:], lengths, own, strict=True)]
    if tiled and not stepped:
        piece[-2:] = [
            -(-length // edge) * edge for length, edge in zip(piece[-2:], tensor.tile.edges, strict=True)
        ]
    spec = NdShardSpec(piece, pieces.grid, pieces.orientation, pieces.shard_distribution_strategy)
    place = MemoryConfig(buffer_type=tensor.memory_config().buffer_type, nd_shard_spec=spec)
    padded = padded_shape(tuple(shape), tensor.layout, tensor.tile)
    return sharding.settled(place, padded.dims, tensor.layout, tensor.tile.edges)


def _of_rank(lengths: tuple[int, ...], rank: int) -> tuple[int, ...]:
    """So many dimensions: the ones in front as one, or ones in front of them."""
    over = len(lengths) - rank + 1
    return (math.prod(lengths[:over]), *lengths[over:]) if over > 1 else (1,) * (1 - over) + lengths
