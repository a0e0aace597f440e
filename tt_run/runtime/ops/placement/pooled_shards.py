"""Where pools leave their results: on the cores of a sharded operand, or on those of the scheme that a call names or that takes the least room.

Source: memory configurations of results of reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.placement.pool_room import Pooling, room
from tt_run.runtime.ops.placement.sharded_results import on_first_cores
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG, MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE, tiles

_HEIGHT, _WIDTH, _BLOCK = (
    TensorMemoryLayout.HEIGHT_SHARDED,
    TensorMemoryLayout.WIDTH_SHARDED,
    TensorMemoryLayout.BLOCK_SHARDED,
)
_FACE = TILE_SIZE // 2
"""Channels that a core's share is a multiple of: the width of a face of a tile."""


def of_pool(
    tensor: Tensor,
    rows: int,
    channels: int,
    layout: Layout,
    scheme: TensorMemoryLayout | None,
    pooling: Pooling,
    dtype: DataType,
) -> MemoryConfig | None:
    """The place of `rows` x `channels` pooled out of `tensor`; None for its own. Raises RuntimeError for blocks column by column."""
    step = TILE_SIZE if layout is Layout.TILE else 1
    memory = tensor.memory_config()
    if pooling.whole and scheme is None:
        return None if memory.shard_spec is None else L1_MEMORY_CONFIG
    if memory.shard_spec is not None:
        return _on_same_cores(memory, rows, step)
    if not rows or not channels:
        return None
    device = tensor.device()
    assert device is not None
    grid = device.compute_with_storage_grid_size()
    wide = TILE_SIZE if Layout.TILE in (tensor.layout, layout) else _FACE
    shares = -(-channels // wide)

    def cut(kind: TensorMemoryLayout) -> tuple[int, int, int]:
        """Rows of a core, and how many cores there are down and across."""
        down = {_HEIGHT: grid.x * grid.y, _WIDTH: 1}.get(kind, grid.y)
        # Blocks that no call asks for are cut by whole tiles of channels.
        common = shares if scheme is not None else math.gcd(shares, tiles(channels))
        across = {_HEIGHT: 1, _WIDTH: _divisor(shares, grid.x * grid.y)}.get(kind, _divisor(common, grid.x))
        high = _up(-(-rows // down), step)
        return high, -(-rows // high), across

    def taken(kind: TensorMemoryLayout) -> int:
        _, down, across = cut(kind)
        return room(pooling, rows, channels, down, across, layout, dtype)

    kinds = (_HEIGHT, _WIDTH, _BLOCK) if pooling.indices else (_WIDTH, _HEIGHT, _BLOCK)
    kind = scheme or min(kinds, key=taken)
    high, down, across = cut(kind)
    shard = (high, _up(-(-channels // across), wide if across > 1 else max(step, _FACE)))
    if kind is not _BLOCK:
        return on_first_cores(device, down * across, kind, shard)
    cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(across - 1, down - 1))])
    return MemoryConfig(_BLOCK, BufferType.L1, ShardSpec(cores, shard, ShardOrientation.ROW_MAJOR))


def of_fold(tensor: Tensor, rows: int, columns: int, channels: int) -> MemoryConfig | None:
    """Rows of images folded out of rows on cores: whole ones on each core, on the device's first; None for any other cut."""
    memory, device = tensor.memory_config(), tensor.device()
    spec = memory.shard_spec
    if spec is None or device is None or memory.memory_layout is not _HEIGHT or not rows:
        return None
    each = -(-rows // spec.grid.num_cores())
    return on_first_cores(device, -(-rows // each), _HEIGHT, (each * columns, channels))


def _on_same_cores(memory: MemoryConfig, rows: int, step: int) -> MemoryConfig:
    spec = memory.shard_spec
    assert spec is not None
    if memory.memory_layout is _BLOCK and spec.orientation is not ShardOrientation.ROW_MAJOR:
        raise fatal(
            "Only row major orientation is supported.", hint="orientation=ttnn.ShardOrientation.ROW_MAJOR"
        )
    box = spec.grid.bounding_box()
    pieces = {_HEIGHT: spec.grid.num_cores(), _WIDTH: 1}.get(
        memory.memory_layout, box.end.y - box.start.y + 1
    )
    shard = (_up(-(-rows // pieces), step), _up(spec.shape[1], max(step, _FACE)))
    return MemoryConfig(
        memory.memory_layout, memory.buffer_type, ShardSpec(spec.grid, shard, spec.orientation)
    )


def _divisor(count: int, most: int) -> int:
    """The largest divisor of `count` that is at most `most`."""
    return next(n for n in range(min(count, most), 0, -1) if count % n == 0)


def _up(value: int, step: int) -> int:
    return math.ceil(value / step) * step


def of_enlargement(tensor: Tensor, factors: Sequence[float], smooth: bool) -> MemoryConfig | None:
    """The cores of an image, each with the pixels that its own became. None for one that is not cut, or not by whole factors.

    A `smooth` enlargement looks at neighbours, and cuts an image for that which is not.
    """
    memory, device = tensor.memory_config(), tensor.device()
    spec, times = memory.shard_spec, math.prod(factors)
    if device is None or times != int(times):
        return None
    if spec is None and smooth:
        grid, pixels = device.compute_with_storage_grid_size(), math.prod(tensor.shape[:-1])
        cores = min(pixels, grid.x * grid.y)
        return on_first_cores(device, cores, _HEIGHT, (-(-pixels * int(times) // cores), tensor.shape[-1]))
    if spec is None:
        return None
    piece = ShardSpec(spec.grid, [spec.shape[0] * int(times), spec.shape[1]], spec.orientation)
    return MemoryConfig(memory.memory_layout, memory.buffer_type, piece)
