"""Where pools leave their results: on the cores of a sharded operand, on those of the scheme that a call names, or of the leanest one.

Source: memory configurations of results of reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet, num_cores_to_corerangeset
from tt_run.runtime.enums import (
    BLOCK_SHARDED,
    HEIGHT_SHARDED,
    WIDTH_SHARDED,
    BufferType,
    DataType,
    Layout,
    ShardOrientation,
    TensorMemoryLayout,
)
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.placement.row_widths import whole_rows
from tt_run.runtime.ops.placement.sharded_results import on_first_cores, on_first_of
from tt_run.runtime.ops.placement.walked_cores import check_walk
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG, MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE

_FACE = TILE_SIZE // 2
"""Channels that a core's share is a multiple of: the width of a face of a tile."""


_UNIT = 8
"""Channels of bfloat16 in the least piece of L1."""


class Pooling(NamedTuple):
    """What a pool holds while it runs, beside its result: windows of `area` pixels."""

    area: int
    mean: bool = False
    indices: bool = False
    size: int = 2
    """Bytes of an element: blocks of elements are pooled in bfloat16."""

    def window(self, channels: int) -> int:
        """Bytes of the windows that a core gathers of its channels: two readers, two windows each, in whole tiles."""
        most = 1 if self.indices else 4 if self.mean and self.area > TILE_SIZE else 8
        wide = most if self.indices else min(-(-channels // TILE_SIZE), most)
        high = self.area if self.area <= _FACE and not self.indices else TILE_SIZE
        return 4 * self.size * _up(wide * TILE_SIZE * high, TILE_SIZE * TILE_SIZE)


class Cut(NamedTuple):
    """A scheme, over how many cores it cuts rows and channels, and the rows and channels of a piece."""

    scheme: TensorMemoryLayout
    down: int
    across: int
    piece: tuple[int, int]


def of_pool(
    tensor: Tensor,
    rows: int,
    channels: int,
    layout: Layout,
    dtype: DataType,
    scheme: TensorMemoryLayout | None,
    pooling: Pooling,
) -> MemoryConfig | None:
    """The place of `rows` x `channels` pooled out of `tensor`; None where nothing is pooled. Raises RuntimeError for cores that are not counted in rows."""
    memory = tensor.memory_config()
    if memory.shard_spec is not None:
        return _on_same_cores(memory, rows, TILE_SIZE if layout is Layout.TILE else 1)
    if not rows or not channels:
        return None
    device = tensor.device()
    assert device is not None
    grid = device.workers
    return _leanest((grid.x, grid.y), rows, channels, tensor.layout, layout, dtype, scheme, pooling)


@lru_cache(maxsize=1024)
def _leanest(
    grid: tuple[int, int],
    rows: int,
    channels: int,
    before: Layout,
    layout: Layout,
    dtype: DataType,
    scheme: TensorMemoryLayout | None,
    pooling: Pooling,
) -> MemoryConfig | None:
    """The place of a result on a grid, in the scheme that a call names or in the one that holds least on a core. `before`: the layout of the operand."""
    high = TILE_SIZE if layout is Layout.TILE else 1
    narrow = layout is Layout.ROW_MAJOR and (before is Layout.ROW_MAJOR or channels <= _FACE)
    wide = _FACE if narrow else TILE_SIZE
    if scheme is not None:
        # Rows that become tiles are cut where channels are whole units of L1, too.
        units = layout is Layout.TILE and before is Layout.ROW_MAJOR
        also = -(-channels // _UNIT) if units and scheme is BLOCK_SHARDED else 0
        cut = _cut(grid, scheme, rows, channels, high, wide, also)
    else:
        # What is left to the reference cuts blocks at tiles of channels, and less than one tile not at all.
        cuts = [_cut(grid, HEIGHT_SHARDED, rows, channels, high, wide)]
        if layout is Layout.ROW_MAJOR or channels >= TILE_SIZE:
            cuts += [
                _cut(grid, WIDTH_SHARDED, rows, channels, high, wide),
                _cut(grid, BLOCK_SHARDED, rows, channels, high, TILE_SIZE, -(-channels // wide)),
            ]
        cut = min(cuts, key=lambda one: _held(one, rows, channels, layout, dtype, pooling))
    if cut.scheme is not BLOCK_SHARDED:
        return on_first_of(CoreCoord(*grid), cut.down * cut.across, cut.scheme, cut.piece)
    cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(cut.across - 1, cut.down - 1))])
    return MemoryConfig(BLOCK_SHARDED, BufferType.L1, ShardSpec(cores, cut.piece, ShardOrientation.ROW_MAJOR))


def _cut(
    grid: tuple[int, int],
    scheme: TensorMemoryLayout,
    rows: int,
    channels: int,
    high: int,
    wide: int,
    also: int = 0,
) -> Cut:
    """A scheme's pieces, whose rows are a multiple of `high` and whose channels are one of `wide`, in a number of pieces that divides `also`."""
    x, y = grid
    shares, cores = -(-channels // wide), x * y
    most = {HEIGHT_SHARDED: (cores, 1), WIDTH_SHARDED: (1, cores)}.get(scheme, (y, x))
    if scheme is BLOCK_SHARDED and wide == _FACE and channels % _FACE:
        also = 1  # channels that do not fill faces are not cut
    across = _divisor(math.gcd(shares, also), most[1])
    each = _up(-(-rows // most[0]), high)
    share = shares // across * wide
    if across == 1 and scheme is not WIDTH_SHARDED and high == 1:
        share = _in_one(channels)
    return Cut(scheme, -(-rows // each), across, (each, share))


def _in_one(channels: int) -> int:
    """The width of a piece with all channels: they as they are if they fill faces, else in whole tiles, or in one face if they fit."""
    if channels <= _FACE:
        return _FACE
    return channels if channels % _FACE == 0 else _up(channels, TILE_SIZE)


def _held(cut: Cut, rows: int, channels: int, layout: Layout, dtype: DataType, pooling: Pooling) -> int:
    """Bytes of L1 that pieces, windows and what they are made of take on a core; rows on several cores count in whole tiles."""
    each = -(-channels // cut.across)
    high = rows if cut.scheme is WIDTH_SHARDED else _up(-(-rows // cut.down), TILE_SIZE)
    windows = pooling.window(each)
    if layout is Layout.TILE:
        wide, tile = _up(each, TILE_SIZE), TILE_SIZE * TILE_SIZE
        held = 1088 if dtype is DataType.BFLOAT8_B else tile * pooling.size
        return windows + high * wide // tile * held + wide * TILE_SIZE * pooling.size
    out = high * _up(each, _FACE) * pooling.size
    return windows + (2 * out if pooling.indices else out)


def of_fold(
    tensor: Tensor, rows: int, columns: int, channels: int, pixels: int, padded: bool
) -> MemoryConfig | None:
    """Images folded on cores: where they were if each has whole rows of blocks, else as many such rows on each of the device's first ones.

    `rows` and `columns` of blocks of `pixels`, whose channels are `channels` then; images `padded` before are cut evenly again. Raises
    RuntimeError for a cut in two ways that parts such a block.
    """
    memory, device = tensor.memory_config(), tensor.device()
    spec, kind = memory.shard_spec, memory.memory_layout
    if spec is None or device is None or not rows:
        return None
    high = spec.shape[0]
    if kind is HEIGHT_SHARDED:
        high = -(-rows * columns * pixels // spec.grid.num_cores()) if padded else high
        if high % (columns * pixels):
            grid = device.compute_with_storage_grid_size()
            cores = num_cores_to_corerangeset(_divisor(rows, grid.x * grid.y), grid, row_wise=True)
            piece = (rows // cores.num_cores() * columns, channels)
            return MemoryConfig(kind, BufferType.L1, ShardSpec(cores, piece, spec.orientation))
        return MemoryConfig(
            kind, memory.buffer_type, ShardSpec(spec.grid, (high // pixels, channels), spec.orientation)
        )
    if tensor.layout is Layout.ROW_MAJOR and not whole_rows(tensor):
        return L1_MEMORY_CONFIG  # crooked rows are folded once they have left their cores
    piece = (high // pixels, spec.shape[1] * pixels)
    if kind is WIDTH_SHARDED:
        if padded and tensor.layout is Layout.ROW_MAJOR and high != rows * columns * pixels:
            raise fatal(
                f"Shard height {high} must match physical height {rows * columns * pixels} for width sharded",
                hint="ttnn.sharded_to_interleaved(input) first",
            )
        piece = (rows * columns, piece[1])
    elif high % pixels and -(-rows * columns // piece[0]) <= _lines(memory):
        raise fatal(
            f"Fold: sharded input shard height ({high}) must be divisible by patch_size ({pixels}).",
            hint=f"pieces of {_up(high, pixels)} rows",
        )
    return MemoryConfig(kind, memory.buffer_type, ShardSpec(spec.grid, piece, spec.orientation))


def _on_same_cores(memory: MemoryConfig, rows: int, step: int) -> MemoryConfig:
    spec = memory.shard_spec
    assert spec is not None
    if spec.orientation is not ShardOrientation.ROW_MAJOR:
        raise fatal(
            "Only row major orientation is supported.", hint="orientation=ttnn.ShardOrientation.ROW_MAJOR"
        )
    check_walk(spec, memory.memory_layout)
    shard = (_up(-(-rows // _lines(memory)), step), _up(spec.shape[1], max(step, _FACE)))
    return MemoryConfig(
        memory.memory_layout, memory.buffer_type, ShardSpec(spec.grid, shard, spec.orientation)
    )


def _divisor(count: int, most: int) -> int:
    """The largest divisor of `count` that is at most `most`."""
    return next(n for n in range(min(count, most), 0, -1) if count % n == 0)


def _up(value: int, step: int) -> int:
    return math.ceil(value / step) * step


def of_enlargement(tensor: Tensor, factors: Sequence[float], smooth: bool) -> MemoryConfig | None:
    """The cores of an image, each with the pixels that its own became, or with a like share of all; smooth ones are cut by rows."""
    memory, device = tensor.memory_config(), tensor.device()
    spec, times = memory.shard_spec, math.prod(factors)
    if device is None:
        return None
    batch, height, width, channels = tensor.shape
    if spec is None:
        if not smooth or not tensor.volume():
            return None
        grid = device.compute_with_storage_grid_size()
        pixels = batch * height * width
        cores = min(pixels, grid.x * grid.y)
        return on_first_cores(device, cores, HEIGHT_SHARDED, (-(-pixels * int(times) // cores), channels))
    high = int(spec.shape[0] * times)
    if smooth or times != int(times) or any(f != int(f) for f in factors):
        rows = batch * int(height * factors[0]) * int(width * factors[1])
        high = -(-rows // _lines(memory))
    piece = ShardSpec(spec.grid, (high, spec.shape[1]), spec.orientation)
    return MemoryConfig(memory.memory_layout, memory.buffer_type, piece)


def of_enlargement_on(
    tensor: Tensor, factors: Sequence[float], asked: MemoryConfig, shape: tuple[int, ...]
) -> MemoryConfig:
    """The cores asked for of an image that is cut by pixels, each with the pixels that those of a core of the image became, whatever `asked`
    says of its pieces. Raises RuntimeError for another number of cores.
    """
    spec, cores = tensor.memory_config().shard_spec, asked.shard_spec
    assert spec is not None and cores is not None
    piece = ShardSpec(cores.grid, (int(spec.shape[0] * math.prod(factors)), spec.shape[1]), cores.orientation)
    place = MemoryConfig(asked.memory_layout, asked.buffer_type, piece)
    sharding.settled(place, shape, tensor.layout, tensor.tile.edges)
    if cores.grid.num_cores() != spec.grid.num_cores():
        raise fatal(
            f"Output tensor should have same number of cores {cores.grid.num_cores()} as input tensor {spec.grid.num_cores()}",
            hint="memory_config=images.memory_config(), or none and ttnn.reshard what comes back",
        )
    return place


def _lines(memory: MemoryConfig) -> int:
    """Over how many cores a tensor's rows are cut."""
    assert memory.shard_spec is not None
    box = memory.shard_spec.grid.bounding_box()
    lines = {HEIGHT_SHARDED: memory.shard_spec.grid.num_cores(), WIDTH_SHARDED: 1}
    return lines.get(memory.memory_layout, box.end.y - box.start.y + 1)


def of_reading(grid: Tensor, places: int, channels: int, deep: bool) -> MemoryConfig:
    """Where what is read at a grid's places lies: on the cores of a grid that is cut, else beside it."""
    memory = grid.memory_config()
    spec = memory.shard_spec
    if spec is None:
        return memory
    piece = (spec.shape[0], channels * places) if deep else (spec.shape[0] * places, channels)
    return MemoryConfig(
        memory.memory_layout, memory.buffer_type, ShardSpec(spec.grid, piece, spec.orientation)
    )
