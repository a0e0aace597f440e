"""On which cores a program configuration lays a product: its own blocks say it, not the shards that a call asks for.

Source: reference library 0.81.1.
"""

from __future__ import annotations

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet, core_of, num_cores_to_corerangeset
from tt_run.runtime.enums import (
    BLOCK_SHARDED,
    HEIGHT_SHARDED,
    WIDTH_SHARDED,
    ShardOrientation,
    TensorMemoryLayout,
)
from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.tuning.matmul import (
    MatmulMultiCoreReuseMultiCast1DProgramConfig,
    MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig,
    MatmulMultiCoreReuseMultiCastProgramConfig,
    MatmulMultiCoreReuseProgramConfig,
)

_BY_ROWS, _BY_COLUMNS = ShardOrientation.ROW_MAJOR, ShardOrientation.COL_MAJOR


def of_program(
    program: object,
    asked: MemoryConfig,
    device_cores: CoreCoord,
    high: int,
    wide: int,
    orientation: ShardOrientation | None,
    tile: tuple[int, int] = (TILE_SIZE, TILE_SIZE),
) -> MemoryConfig:
    """The memory configuration of a product of `high` by `wide` tiles of that size; `orientation`: that of an operand in shards.

    Raises RuntimeError where the reference refuses what is asked of the program.
    """
    if isinstance(program, MatmulMultiCoreReuseMultiCast1DProgramConfig):
        _check_extent(program, asked)
        if program.gather_in0:
            return _gathered(program, asked)
        line = line_of(asked)
        if line is not None:
            return MemoryConfig(line, asked.buffer_type, asked.shard_spec)
        return _in_row(program, asked, core_of(program.compute_with_storage_grid_size), high, wide, tile)
    if isinstance(program, MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig):
        return _in_row(program, asked, device_cores, high, wide, tile)
    if isinstance(program, MatmulMultiCoreReuseMultiCastProgramConfig):
        _check_extent(program, asked)
        return _rectangle(program, asked, high, wide, tile)
    if isinstance(program, MatmulMultiCoreReuseProgramConfig):
        return _one_by_one(program, asked, high, wide, orientation or _BY_COLUMNS, tile)
    return asked


def _blocks(program: object, high: int, wide: int, tile: tuple[int, int]) -> tuple[int, int, tuple[int, int]]:
    """How many blocks are below and beside one another, and the elements of one."""
    down: int = program.per_core_M  # type: ignore[attr-defined]
    across: int = program.per_core_N  # type: ignore[attr-defined]
    return -(-high // down), -(-wide // across), (down * tile[0], across * tile[1])


def _in_row(
    program: object, asked: MemoryConfig, cores: CoreCoord, high: int, wide: int, tile: tuple[int, int]
) -> MemoryConfig:
    """A block on each of the first cores, row by row."""
    rows, columns, block = _blocks(program, high, wide, tile)
    grid = num_cores_to_corerangeset(rows * columns, cores, row_wise=True)
    return MemoryConfig(asked.memory_layout, asked.buffer_type, ShardSpec(grid, block, _BY_ROWS))


def _rectangle(
    program: MatmulMultiCoreReuseMultiCastProgramConfig,
    asked: MemoryConfig,
    high: int,
    wide: int,
    tile: tuple[int, int],
) -> MemoryConfig:
    """Blocks of a matrix on cores that lie as they do, or mirrored."""
    name = type(program).__name__
    if asked.memory_layout is not BLOCK_SHARDED:
        raise fatal(
            f"{name}: Output memory layout must be BLOCK_SHARDED, got: TensorMemoryLayout::{asked.memory_layout.name}",
            "output_mem_config.memory_layout() == TensorMemoryLayout::BLOCK_SHARDED",
            hint="ask for ttnn.L1_BLOCK_SHARDED_MEMORY_CONFIG, or give MatmulMultiCoreReuseMultiCast1DProgramConfig",
        )
    rows, columns, block = _blocks(program, high, wide, tile)
    grid = core_of(program.compute_with_storage_grid_size)
    across, down = (rows, columns) if program.transpose_mcast else (columns, rows)
    for way, blocks, line, cores in (("x", across, "columns", grid.x), ("y", down, "rows", grid.y)):
        if blocks > cores:
            raise fatal(
                f"{name}: Num output blocks along {way} ({blocks}) must be smaller than or equal to the number of {line} in "
                f"compute grid ({cores})!",
                f"num_blocks_{way} <= compute_with_storage_grid_size.{way}",
                hint="give a larger per_core_M or per_core_N, or a larger compute_with_storage_grid_size",
            )
    box = CoreRangeSet({CoreRange(CoreCoord(0, 0), CoreCoord(across - 1, down - 1))})
    turned = _BY_COLUMNS if program.transpose_mcast else _BY_ROWS
    return MemoryConfig(BLOCK_SHARDED, asked.buffer_type, ShardSpec(box, block, turned))


def _one_by_one(
    program: MatmulMultiCoreReuseProgramConfig,
    asked: MemoryConfig,
    high: int,
    wide: int,
    orientation: ShardOrientation,
    tile: tuple[int, int],
) -> MemoryConfig:
    """A block on each core that the call names, or on the first ones of the program's."""
    rows, columns, block = _blocks(program, high, wide, tile)
    if asked.shard_spec is not None:
        grid = asked.shard_spec.grid
    else:
        cores = core_of(program.compute_with_storage_grid_size)
        grid = num_cores_to_corerangeset(rows * columns, cores, row_wise=orientation is _BY_ROWS)
    return MemoryConfig(asked.memory_layout, asked.buffer_type, ShardSpec(grid, block, orientation))


def line_of(asked: MemoryConfig) -> TensorMemoryLayout | None:
    """As what blocks on a single row or column of cores count, which the call names."""
    if asked.memory_layout is not BLOCK_SHARDED or asked.shard_spec is None:
        return None
    box = asked.shard_spec.grid.bounding_box()
    if box.start.x == box.end.x:
        return HEIGHT_SHARDED
    return WIDTH_SHARDED if box.start.y == box.end.y else None


def _gathered(program: MatmulMultiCoreReuseMultiCast1DProgramConfig, asked: MemoryConfig) -> MemoryConfig:
    """A ring of cores that pass the first operand on: it leaves the product where the call says."""
    if asked.shard_spec is None:
        raise fatal(
            "bad optional access", hint="gather_in0 needs a memory_config that names its cores: a ShardSpec"
        )
    if program.mcast_in0:
        raise fatal(
            f"{type(program).__name__}: Matmul1D does not support mcast_in0 and gather_in0 at the same time.",
            "!(program_config.mcast_in0 && program_config.gather_in0)",
            hint="mcast_in0=False",
        )
    return asked


def _check_extent(
    program: MatmulMultiCoreReuseMultiCastProgramConfig | MatmulMultiCoreReuseMultiCast1DProgramConfig,
    asked: MemoryConfig,
) -> None:
    """Raise RuntimeError unless the cores that the call names are among the program's."""
    if asked.shard_spec is None or getattr(program, "gather_in0", False):
        return
    extent, grid = core_of(program.compute_with_storage_grid_size), asked.shard_spec.grid
    end = grid.bounding_box().end
    if end.x >= extent.x or end.y >= extent.y:
        raise fatal(
            f"{type(program).__name__}: output shard grid {grid} must lie within extent {extent}",
            "shard_grid within extent",
            hint="name cores below compute_with_storage_grid_size, or none: ttnn.L1_WIDTH_SHARDED_MEMORY_CONFIG and its kin",
        )
