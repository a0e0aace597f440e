"""Where a sharded tensor lies once it has grown, and the call does not say: what `pad`, `repeat` and broadcasts of the reference do.

Source: memory configurations of results of reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet, num_cores_to_corerangeset
from tt_run.runtime.enums import Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig, ShardSpec
from tt_run.runtime.tensor.spec.tensor_spec import padded_shape
from tt_run.runtime.tensor.tensor import Tensor


def of_padding(tensor: Tensor, shape: Sequence[int]) -> MemoryConfig | None:
    """The same cores; pieces of whole rows are as wide as the padded rows. None for a tensor that is not sharded.

    Raises RuntimeError when the padded tensor has more pieces than there are cores.
    """
    memory = tensor.memory_config()
    spec = memory.shard_spec
    if spec is None or tensor.device() is None:
        return None
    padded = padded_shape(tuple(shape), tensor.layout, tensor.tile).dims
    if memory.memory_layout is TensorMemoryLayout.HEIGHT_SHARDED:
        spec = ShardSpec(spec.grid, [spec.shape[0], padded[-1]], spec.orientation)
    grown = MemoryConfig(memory.memory_layout, memory.buffer_type, spec)
    return sharding.settled(grown, padded, tensor.layout, tensor.tile.tile_shape)


def of_broadcast(
    tensors: Sequence[Tensor], shape: Sequence[int], layout: Layout, any_first: bool = False
) -> MemoryConfig | None:
    """Where a result of this shape lies beside sharded operands: the first one's cores, its pieces larger by as much as the result is.

    Of operands of one shape that are cut differently, one in blocks says it, else the first that is cut evenly. None where the first operand
    of all says it as it is, or none is sharded. One in L1 keeps its own place, unless `any_first`.
    """
    first = tensors[0].memory_config()
    follows = any_first or first.is_sharded() or first == DRAM_MEMORY_CONFIG
    cut = [t for t in tensors if t.memory_config().is_sharded()] if follows else []
    alike = len({t.shape for t in cut}) == 1
    held = min(cut, key=_rank if alike else lambda _: 0, default=None)
    if held is None:
        return None
    memory = held.memory_config()
    spec = memory.shard_spec
    before = padded_shape(tuple(held.shape), held.layout, held.tile).dims
    after = padded_shape(tuple(shape), layout, held.tile).dims
    few, many = (math.prod(dims[:-1]) for dims in (before, after))
    narrow, wide = before[-1], after[-1]
    if spec is None or (few, narrow) == (many, wide) or not few or not narrow:
        return None if held is tensors[0] else memory
    piece = [spec.shape[0] * many // few, spec.shape[1] * wide // narrow]
    return MemoryConfig(
        memory.memory_layout, memory.buffer_type, ShardSpec(spec.grid, piece, spec.orientation)
    )


def _rank(tensor: Tensor) -> int:
    """How late the cut of an operand is asked: blocks first, then what is even, last what is not."""
    memory = tensor.memory_config()
    spec = memory.shard_spec
    if memory.memory_layout is TensorMemoryLayout.BLOCK_SHARDED or spec is None:
        return 0
    padded = padded_shape(tuple(tensor.shape), tensor.layout, tensor.tile).dims
    down = memory.memory_layout is TensorMemoryLayout.HEIGHT_SHARDED
    length, piece = (math.prod(padded[:-1]), spec.shape[0]) if down else (padded[-1], spec.shape[1])
    return 1 if length == piece * spec.grid.num_cores() else 2


def of_repetition(tensor: Tensor, times: Sequence[int], shape: Sequence[int]) -> MemoryConfig | None:
    """Longer rows make wider pieces on the same cores, and more rows higher ones of columns; else rows are spread anew over the device.

    None for what is not sharded.
    """
    memory, device = tensor.memory_config(), tensor.device()
    spec = memory.shard_spec
    if spec is None or device is None or math.prod(times) == 1:
        return None
    if math.prod(times[:-1]) == 1:
        wider = ShardSpec(spec.grid, [spec.shape[0], spec.shape[1] * times[-1]], spec.orientation)
        return MemoryConfig(memory.memory_layout, memory.buffer_type, wider)
    padded = padded_shape(tuple(shape), tensor.layout, tensor.tile).dims
    if times[-1] == 1 and memory.memory_layout is TensorMemoryLayout.WIDTH_SHARDED:
        higher = ShardSpec(spec.grid, [math.prod(padded[:-1]), spec.shape[1]], spec.orientation)
        return MemoryConfig(memory.memory_layout, memory.buffer_type, higher)
    anew = _spread(memory, padded, tensor, device.compute_with_storage_grid_size())
    return MemoryConfig(memory.memory_layout, memory.buffer_type, anew)


def _spread(memory: MemoryConfig, padded: Sequence[int], tensor: Tensor, grid: CoreCoord) -> ShardSpec:
    """As few tiles, or rows, to a core as the device allows."""
    step = tensor.tile.tile_shape if tensor.layout is Layout.TILE else (1, 1)
    high, wide = math.prod(padded[:-1]), padded[-1]
    if memory.memory_layout is TensorMemoryLayout.BLOCK_SHARDED:
        (rows, height), (columns, width) = _cut(high, step[0], grid.y), _cut(wide, step[1], grid.x)
        cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(columns - 1, rows - 1))])
    elif memory.memory_layout is TensorMemoryLayout.HEIGHT_SHARDED:
        count, height = _cut(high, step[0], grid.x * grid.y)
        cores, width = num_cores_to_corerangeset(count, grid, row_wise=True), wide
    else:
        count, width = _cut(wide, step[1], grid.x * grid.y)
        cores, height = num_cores_to_corerangeset(count, grid, row_wise=True), high
    return ShardSpec(cores, [height, width], ShardOrientation.ROW_MAJOR)


def _cut(length: int, step: int, cores: int) -> tuple[int, int]:
    """How many cores share a length, and how much each has."""
    units = max(1, -(-length // step))
    each = -(-units // cores)
    return -(-units // each), each * step
