"""Pieces that grow and shrink with their tensor on the cores that they have, and rows and columns spread anew over the device.

Source: memory configurations of results of reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet, num_cores_to_corerangeset
from tt_run.runtime.enums import Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tensor.spec.tensor_spec import padded_shape
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.dtypes import element_size

ALIGNMENT = 16
"""Bytes of L1 that rows of a piece without tiles are whole multiples of."""


def matrix(tensor: Tensor, shape: Sequence[int], layout: Layout | None = None) -> tuple[int, int]:
    """Rows and columns, with their padding, of a tensor like this one that has another shape."""
    padded = padded_shape(tuple(shape), layout or tensor.layout, tensor.tile).dims
    return math.prod(padded[:-1]), padded[-1]


def fills(memory: MemoryConfig, whole: tuple[int, int]) -> bool:
    """Whether the pieces of a tensor of so many rows and columns are as many as there are cores, and all of them full."""
    spec = memory.shard_spec
    assert spec is not None
    box = spec.grid.bounding_box().grid_size()
    by_row = spec.orientation is ShardOrientation.ROW_MAJOR
    count = spec.grid.num_cores()
    down, across = {
        TensorMemoryLayout.HEIGHT_SHARDED: (count, 1),
        TensorMemoryLayout.WIDTH_SHARDED: (1, count),
    }.get(memory.memory_layout, (box.y, box.x) if by_row else (box.x, box.y))
    return whole == (spec.shape[0] * down, spec.shape[1] * across)


def scaled(
    tensor: Tensor,
    memory: MemoryConfig,
    before: tuple[int, int],
    after: tuple[int, int],
    layout: Layout | None = None,
) -> MemoryConfig | None:
    """The same cores with pieces larger or smaller by as much as the tensor is; None where they would be no whole tiles or rows."""
    spec = memory.shard_spec
    assert spec is not None
    steps = tensor.tile.edges if (layout or tensor.layout) is Layout.TILE else (1, 1)
    piece = []
    for length, old, new, step in zip(spec.shape, before, after, steps, strict=True):
        if not old or not new or length * new % (old * step):
            return None
        piece.append(length * new // old)
    return MemoryConfig(
        memory.memory_layout, memory.buffer_type, ShardSpec(spec.grid, piece, spec.orientation)
    )


def spread_in_tiles(
    tensor: Tensor, asked: MemoryConfig, shape: Sequence[int], layout: Layout | None = None
) -> MemoryConfig:
    """A result cut as `asked` over as many cores of the device as it has tiles for: whole tiles even of rows without."""
    high, wide = matrix(tensor, shape, layout)
    rounded = -(-high // TILE_SIZE) * TILE_SIZE, -(-wide // TILE_SIZE) * TILE_SIZE
    return _spread(tensor, asked, rounded, (TILE_SIZE, TILE_SIZE))


def spread(tensor: Tensor, asked: MemoryConfig, shape: Sequence[int]) -> MemoryConfig:
    """A result cut as `asked` over as much of the device as it has tiles for, or rows, or as many columns as L1's alignment."""
    whole = matrix(tensor, shape)
    if tensor.layout is Layout.TILE:
        return _spread(tensor, asked, whole, tensor.tile.edges)
    columns = max(1, ALIGNMENT // element_size(tensor.dtype))
    if asked.memory_layout is TensorMemoryLayout.BLOCK_SHARDED:
        device = tensor.device()
        assert device is not None
        each = -(-whole[1] // device.compute_with_storage_grid_size().x)
        columns = whole[1] if each % columns else columns
    return _spread(tensor, asked, whole, (1, columns))


def _spread(
    tensor: Tensor, asked: MemoryConfig, whole: tuple[int, int], steps: tuple[int, int]
) -> MemoryConfig:
    """As few steps to a core as the device allows, in the order of the operand's cores."""
    device, held, kind = tensor.device(), tensor.memory_config().shard_spec, asked.memory_layout
    assert device is not None
    orientation = ShardOrientation.ROW_MAJOR if held is None else held.orientation
    grid, (high, wide) = device.compute_with_storage_grid_size(), whole
    by_row = orientation is ShardOrientation.ROW_MAJOR
    if kind in (TensorMemoryLayout.BLOCK_SHARDED, TensorMemoryLayout.ND_SHARDED):
        across, down = (grid.x, grid.y) if by_row else (grid.y, grid.x)
        (rows, height), (columns, width) = _cut(high, steps[0], down), _cut(wide, steps[1], across)
        end = CoreCoord(columns - 1, rows - 1) if by_row else CoreCoord(rows - 1, columns - 1)
        cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), end)])
    elif kind is TensorMemoryLayout.HEIGHT_SHARDED:
        (count, height), width = _cut(high, steps[0], grid.x * grid.y), wide
        cores = num_cores_to_corerangeset(count, grid, row_wise=by_row)
    else:
        (count, width), height = _cut(wide, steps[1], grid.x * grid.y), high
        cores = num_cores_to_corerangeset(count, grid, row_wise=by_row)
    return MemoryConfig(kind, asked.buffer_type, ShardSpec(cores, [height, width], orientation))


def _cut(length: int, step: int, cores: int) -> tuple[int, int]:
    """How many cores share a length, and how much each has."""
    units = max(1, -(-length // step))
    each = -(-units // cores)
    return -(-units // each), each * step
