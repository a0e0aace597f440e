"""Where results lie that an operation cuts over cores by itself (recorded from the reference library 0.81.1)."""

from __future__ import annotations

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet, num_cores_to_corerangeset
from tt_run.runtime.enums import (
    BLOCK_SHARDED,
    HEIGHT_SHARDED,
    WIDTH_SHARDED,
    BufferType,
    ShardOrientation,
    TensorMemoryLayout,
)
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.placement.program_cores import line_of, of_program
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, CoreGrid, MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE


def on_first_cores(
    device: MeshDevice, count: int, layout: TensorMemoryLayout, shard: tuple[int, int], behind: int = 0
) -> MemoryConfig | None:
    """One piece on each of the first `count` cores `behind` so many, row by row; None where the device has fewer."""
    return on_first_of(device.compute_with_storage_grid_size(), count, layout, shard, behind)


def on_first_of(
    grid: CoreCoord, count: int, layout: TensorMemoryLayout, shard: tuple[int, int], behind: int = 0
) -> MemoryConfig | None:
    """`on_first_cores` of a grid."""
    if behind + count > grid.x * grid.y:
        return None
    cores = num_cores_to_corerangeset(behind + count, grid, row_wise=True)
    if behind:
        cores = cores.subtract(num_cores_to_corerangeset(behind, grid, row_wise=True))
    return MemoryConfig(layout, BufferType.L1, ShardSpec(cores, shard, ShardOrientation.ROW_MAJOR))


def in_dram(like: Tensor) -> MemoryConfig | None:
    """The device's DRAM, for results that never follow an operand; None where that is in it anyway."""
    return None if like.memory_config() is DRAM_MEMORY_CONFIG else DRAM_MEMORY_CONFIG


def of_product(
    first: Tensor,
    memory_config: MemoryConfig | None,
    core_grid: CoreGrid | None,
    program_config: object,
    matrices: int,
    rows: int,
    columns: int,
    second: Tensor | None = None,
    tile: tuple[int, int] = (TILE_SIZE, TILE_SIZE),
) -> MemoryConfig | None:
    """A product's memory configuration with the cores that compute it, where it asks for shards; which it asks for does not count.

    `rows` and `columns` are those of one of its matrices in elements, which has tiles of the size `tile`. A program says how they are cut; a first operand that is cut in
    the same way does where no grid and no program do. Else blocks without a grid are one to a matrix; rows and columns without one are
    cut as for one matrix alone, which more of them do not fit.
    """
    device = first.device()
    assert device is not None
    if memory_config is None or memory_config.created_with_nd_shard_spec:
        return memory_config
    one, wide = -(-rows // tile[0]), -(-columns // tile[1])
    high = matrices * one
    layout = memory_config.memory_layout
    held = first.memory_config()
    if program_config is not None:
        high = high if getattr(program_config, "fuse_batch", True) else one
        specs = (t.memory_config().shard_spec for t in (first, second) if t is not None)
        turned = next((s.orientation for s in specs if s is not None), None)
        cores = device.compute_with_storage_grid_size()
        return of_program(program_config, memory_config, cores, high, wide, turned, tile)
    if core_grid is None and not held.is_sharded() and (line := line_of(memory_config)) is not None:
        return _along(line, memory_config, high, wide, tile)
    orientation = ShardOrientation.ROW_MAJOR
    if core_grid is None and held.memory_layout is layout and held.shard_spec is not None:
        kept, down = held.shard_spec.grid, -(-held.shard_spec.shape[0] // tile[0])
        by_column = layout is BLOCK_SHARDED and held.shard_spec.orientation is ShardOrientation.COL_MAJOR
        across = wide if layout is HEIGHT_SHARDED else -(-wide // _columns(kept, layout, by_column))
        down = high if layout is WIDTH_SHARDED else down
        spread = -(-high // down) * -(-wide // across)
        if layout is BLOCK_SHARDED:
            orientation = held.shard_spec.orientation
            sides = (-(-wide // across), -(-high // down))
            grid = _rectangle(*(reversed(sides) if by_column else sides))
        elif spread == kept.num_cores():
            grid = kept
        else:
            grid = num_cores_to_corerangeset(spread, device.compute_with_storage_grid_size(), row_wise=True)
    elif layout is BLOCK_SHARDED:
        if core_grid is not None:
            down, across = -(-high // core_grid.y), -(-wide // core_grid.x)
        else:
            down, across = one, wide
        grid = _rectangle(-(-wide // across), -(-high // down))
    elif core_grid is not None and layout is not HEIGHT_SHARDED:
        down, across = high, -(-wide // (core_grid.x * core_grid.y))
        grid = _cut(core_grid, -(-wide // across))
    elif core_grid is None and layout is HEIGHT_SHARDED:
        return on_first_cores(device, one, layout, (tile[0], wide * tile[1])) or memory_config
    elif core_grid is None:
        cores = device.compute_with_storage_grid_size()
        each = -(-wide // (cores.x * cores.y))
        piece = (one * tile[0], each * tile[1])
        return on_first_cores(device, -(-wide // each), layout, piece) or memory_config
    else:
        return memory_config
    spec = ShardSpec(grid, (down * tile[0], across * tile[1]), orientation)
    return MemoryConfig(layout, memory_config.buffer_type, spec)


def _along(
    line: TensorMemoryLayout, asked: MemoryConfig, high: int, wide: int, tile: tuple[int, int]
) -> MemoryConfig:
    """Blocks on a single row or column of cores: pieces of rows or columns, on the cores that the call names."""
    assert asked.shard_spec is not None
    grid = asked.shard_spec.grid
    down, across = (
        (-(-high // grid.num_cores()), wide)
        if line is HEIGHT_SHARDED
        else (high, -(-wide // grid.num_cores()))
    )
    piece = (down * tile[0], across * tile[1])
    return MemoryConfig(line, asked.buffer_type, ShardSpec(grid, piece, ShardOrientation.ROW_MAJOR))


def _columns(cores: CoreRangeSet, layout: TensorMemoryLayout, turned: bool) -> int:
    """Over how many cores a row of a tensor is cut that lies on these."""
    box = cores.bounding_box()
    if layout is WIDTH_SHARDED:
        return cores.num_cores()
    return box.end.y - box.start.y + 1 if turned else box.end.x - box.start.x + 1


def _rectangle(columns: int, rows: int) -> CoreRangeSet:
    return CoreRangeSet({CoreRange(CoreCoord(0, 0), CoreCoord(columns - 1, rows - 1))})


def _cut(grid: CoreGrid, cores: int) -> CoreRangeSet:
    return num_cores_to_corerangeset(cores, CoreCoord(grid.x, grid.y), row_wise=True)
