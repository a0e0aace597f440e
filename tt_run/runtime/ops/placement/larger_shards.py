"""Where a sharded tensor lies once it has grown, and the call does not say: what `pad`, `repeat` and pairs of the reference do.

Source: memory configurations of results of reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tt_run.runtime.enums import Layout, TensorMemoryLayout
from tt_run.runtime.ops.declaration.places import like_operand
from tt_run.runtime.ops.placement import scaled_shards
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig, NdShardSpec, ShardSpec
from tt_run.runtime.tensor.spec.tensor_spec import padded_shape
from tt_run.runtime.tensor.tensor import Tensor


def of_padding(tensor: Tensor, shape: Sequence[int]) -> MemoryConfig | None:
    """The same cores; pieces of whole rows are as wide as the padded rows, and shared anew where those are wider. None for a tensor that is
    not sharded.

    Raises RuntimeError when the padded tensor has more pieces than there are cores, and for pieces that are no whole tiles then.
    """
    memory = tensor.memory_config()
    spec = memory.shard_spec
    if spec is None or tensor.device() is None:
        return None
    padded = padded_shape(tuple(shape), tensor.layout, tensor.tile).dims
    grows = padded != tuple(tensor.padded_shape)
    if memory.memory_layout is TensorMemoryLayout.HEIGHT_SHARDED and grows:
        rows = spec.shape[0]
        if padded[-1] != tensor.shape[-1]:
            cores = spec.grid.num_cores()
            rows = -(-math.prod(padded[:-1]) // cores)
            before = -(-math.prod(tensor.shape[:-1]) // cores)
            if tensor.layout is Layout.TILE and before % tensor.tile.edges[0]:
                rows = before  # what is no tile is refused before anything is added
        spec = ShardSpec(spec.grid, [rows, padded[-1]], spec.orientation)
    grown = MemoryConfig(memory.memory_layout, memory.buffer_type, spec)
    return sharding.settled(grown, padded, tensor.layout, tensor.tile.edges)


def of_pair(
    tensors: Sequence[Tensor],
    shape: Sequence[int],
    layout: Layout,
    asked: MemoryConfig | None,
    output: Tensor | None,
) -> MemoryConfig | None:
    """Where a result of this shape of one or two tensors lies, None for where the first one does; what is `asked` for without cores counts by
    one tensor only. Rows on cores leave the padding of pieces that are wider, or higher, than they are.
    """
    first, last = tensors[0], tensors[-1]
    free, alike = asked is None and output is None, first.shape == last.shape
    padded = layout is Layout.ROW_MAJOR and first.padded_shape != first.shape
    if free and alike and padded and first.is_sharded():
        place = of_broadcast(tensors, shape, layout) or first.memory_config()
        *outer, columns = first.shape
        return sharding.reaching(place, math.prod(outer), columns)
    if len(tensors) == 1 or (free and first.spec is last.spec):
        return like_operand(first, asked)
    if asked is not None and asked.nameless and (first.is_sharded() or last.is_sharded()):
        if output is None:
            held = first if first.is_sharded() else last
            return _scaled(held, shape, layout) or held.memory_config()
        asked = None if alike else asked
    if asked is not None or output is not None:
        return asked
    if alike and first.memory_config() is last.memory_config():
        return like_operand(first, None)
    return of_broadcast(tensors, shape, layout) or like_operand(first, None)


def of_broadcast(
    tensors: Sequence[Tensor], shape: Sequence[int], layout: Layout, any_first: bool = False
) -> MemoryConfig | None:
    """Where a result of this shape lies beside sharded operands: the first one's cores, its pieces larger by as much as the result is.

    Of operands of one shape the one that is cut over the most cores says it, the first of several such. None where the first operand
    of all says it as it is, or none is sharded. One in L1 keeps its own place, unless `any_first`, where the cores count for all shapes.
    """
    first = tensors[0].memory_config()
    follows = any_first or first.is_sharded() or first == DRAM_MEMORY_CONFIG
    cut = [t for t in tensors if t.memory_config().is_sharded()] if follows else []
    alike = len({t.shape for t in cut}) == 1
    if not cut:
        return None
    held = on_most_cores(cut) if alike or any_first else cut[0]
    return _scaled(held, shape, layout) or (
        None if held is tensors[0] else sharding.of_matrix(held.memory_config())
    )


def _scaled(held: Tensor, shape: Sequence[int], layout: Layout) -> MemoryConfig | None:
    """The cores of an operand with pieces as much larger as the result is; None where it is no larger."""
    memory = held.memory_config()
    spec = memory.shard_spec
    before, after = held.padded_shape.dims, padded_shape(tuple(shape), layout, held.tile).dims
    few, many = (math.prod(dims[:-1]) for dims in (before, after))
    narrow, wide = before[-1], after[-1]
    if math.prod(held.shape.dims[:-1]) == math.prod(shape[:-1]):
        many = few
    if held.shape[-1] == shape[-1]:
        wide = narrow
    if spec is None or (few, narrow) == (many, wide) or not few or not narrow:
        return None
    piece = [spec.shape[0] * many // few, spec.shape[1] * wide // narrow]
    return MemoryConfig(
        memory.memory_layout, memory.buffer_type, ShardSpec(spec.grid, piece, spec.orientation)
    )


def on_most_cores(tensors: Sequence[Tensor]) -> Tensor:
    """Of tensors on cores the one on the most of them, the first of several such."""

    def cores(tensor: Tensor) -> int:
        spec = tensor.memory_config().shard_spec
        return 0 if spec is None else spec.grid.num_cores()

    return max(tensors, key=cores)


def of_repetition(
    tensor: Tensor, times: Sequence[int], shape: Sequence[int], asked: MemoryConfig | None = None
) -> MemoryConfig | None:
    """Pieces as much larger on the same cores where each holds all that is repeated, or columns of it, and none has padding; else it is
    spread anew over the device.

    `asked` for without cores is the operand's own cut, or another that is spread over the device; with cores it is itself. None for what is
    not sharded.
    """
    memory, device = tensor.memory_config(), tensor.device()
    spec = memory.shard_spec
    if asked is not None and (not asked.nameless or device is None):
        return asked
    if asked is not None and asked.memory_layout is TensorMemoryLayout.ND_SHARDED:
        return MemoryConfig(TensorMemoryLayout.INTERLEAVED, asked.buffer_type)
    if asked is not None and (spec is None or asked.memory_layout is not memory.memory_layout):
        return scaled_shards.spread(tensor, asked, shape)
    if device is None or math.prod(times) == 1:
        return asked
    if spec is None:
        whole = MemoryConfig(TensorMemoryLayout.INTERLEAVED, memory.buffer_type)
        return whole if memory.is_sharded() else asked
    before, kind = scaled_shards.matrix(tensor, tuple(tensor.shape)), memory.memory_layout
    placed = MemoryConfig(kind, memory.buffer_type if asked is None else asked.buffer_type, spec)
    filled = tensor.layout is Layout.ROW_MAJOR or tensor.padded_shape == tensor.shape
    if filled and scaled_shards.fills(memory, before) and _within(tensor, kind, times):
        fitted = scaled_shards.scaled(tensor, placed, before, scaled_shards.matrix(tensor, shape))
        if fitted is not None:
            return fitted
    return scaled_shards.spread(tensor, placed, shape)


def of_slices(tensor: Tensor, times: int, axis: int) -> MemoryConfig | None:
    """Rows on the same cores, where each slice of them along an axis of four is repeated: larger pieces; of other tensors they go to DRAM.

    Columns of a matrix whose rows are cut are repeated turned, and cut themselves then. None for what is not sharded.
    """
    memory = tensor.memory_config()
    spec, pieces = memory.shard_spec, memory.nd_shard_spec
    if not tensor.is_sharded() or tensor.device() is None:
        return None
    if len(tensor.shape) != 4:
        return DRAM_MEMORY_CONFIG
    if memory.created_with_nd_shard_spec and pieces is not None:
        return _pieces_of_slices(tensor, pieces, times, axis)
    assert spec is not None
    kind, (high, wide) = memory.memory_layout, spec.shape
    if axis < len(tensor.shape) - 1:
        high *= times
    elif kind is TensorMemoryLayout.HEIGHT_SHARDED and math.prod(tensor.shape[:-2]) == 1:
        cores = spec.grid.num_cores()
        kind, high, wide = TensorMemoryLayout.WIDTH_SHARDED, tensor.shape[-2], -(-wide * times // cores)
    else:
        wide *= times
    return MemoryConfig(kind, memory.buffer_type, ShardSpec(spec.grid, [high, wide], spec.orientation))


def _pieces_of_slices(tensor: Tensor, pieces: NdShardSpec, times: int, axis: int) -> MemoryConfig | None:
    """Larger pieces of rows, which stay as they are where the first dimension is repeated."""
    if not axis:
        return None
    piece = list(pieces.shard_shape)
    piece[axis - 4] *= times
    spec = NdShardSpec(piece, pieces.grid, pieces.orientation, pieces.shard_distribution_strategy)
    return MemoryConfig(buffer_type=tensor.memory_config().buffer_type, nd_shard_spec=spec)


def _within(tensor: Tensor, kind: TensorMemoryLayout, times: Sequence[int]) -> bool:
    """Whether no piece needs more than it holds to be repeated; tiles side by side are copied from piece to piece."""
    spec = tensor.memory_config().shard_spec
    assert spec is not None
    rows = [axis for axis, count in enumerate(times[:-1]) if count > 1]
    if not rows:
        return tensor.layout is Layout.TILE or kind is TensorMemoryLayout.HEIGHT_SHARDED
    if times[-1] > 1 or len(rows) > 1:
        return False
    padded = padded_shape(tuple(tensor.shape), tensor.layout, tensor.tile).dims
    full = (1,) * (len(times) - len(padded)) + tuple(padded)
    return kind is TensorMemoryLayout.WIDTH_SHARDED or spec.shape[0] % math.prod(full[rows[0] : -1]) == 0
