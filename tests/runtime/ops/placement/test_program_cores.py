"""Where a product lies that a program configuration blocks, as recorded from the reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, TILE
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_BLOCK_SHARDED_MEMORY_CONFIG,
    L1_HEIGHT_SHARDED_MEMORY_CONFIG,
    L1_WIDTH_SHARDED_MEMORY_CONFIG,
    MemoryConfig,
    ShardSpec,
)
from tt_run.runtime.tuning.matmul import (
    MatmulMultiCoreReuseMultiCast1DProgramConfig,
    MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig,
    MatmulMultiCoreReuseMultiCastProgramConfig,
    MatmulMultiCoreReuseProgramConfig,
)

HEIGHT, WIDTH, BLOCK = (
    TensorMemoryLayout.HEIGHT_SHARDED,
    TensorMemoryLayout.WIDTH_SHARDED,
    TensorMemoryLayout.BLOCK_SHARDED,
)
BY_ROWS = ShardOrientation.ROW_MAJOR
LW, LH, LB = L1_WIDTH_SHARDED_MEMORY_CONFIG, L1_HEIGHT_SHARDED_MEMORY_CONFIG, L1_BLOCK_SHARDED_MEMORY_CONFIG


def cut(
    kind: TensorMemoryLayout, cores: tuple[int, int, int, int], *shard: int, kept: BufferType = BufferType.L1
) -> MemoryConfig:
    grid = CoreRangeSet([CoreRange(CoreCoord(*cores[:2]), CoreCoord(*cores[2:]))])
    return MemoryConfig(kind, kept, ShardSpec(grid, shard, BY_ROWS))


BLOCKS = {"in0_block_w": 1, "out_subblock_h": 1, "out_subblock_w": 1}


def line(
    grid: tuple[int, int], m: int, n: int, **others: Any
) -> MatmulMultiCoreReuseMultiCast1DProgramConfig:
    words = {"mcast_in0": True, "fuse_batch": True, **BLOCKS, **others}
    return MatmulMultiCoreReuseMultiCast1DProgramConfig(
        compute_with_storage_grid_size=grid, per_core_M=m, per_core_N=n, **words
    )


def plane(grid: tuple[int, int], turned: bool = False) -> MatmulMultiCoreReuseMultiCastProgramConfig:
    return MatmulMultiCoreReuseMultiCastProgramConfig(
        compute_with_storage_grid_size=grid, per_core_M=2, per_core_N=4, transpose_mcast=turned, **BLOCKS
    )


BANKS = MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(in0_block_w=1, per_core_M=1, per_core_N=4)
EACH = MatmulMultiCoreReuseProgramConfig(
    compute_with_storage_grid_size=(4, 4), per_core_M=2, per_core_N=2, **BLOCKS
)
WHOLE = MatmulMultiCoreReuseProgramConfig(
    compute_with_storage_grid_size=(4, 4), per_core_M=2, per_core_N=2, **{**BLOCKS, "in0_block_w": 2}
)
ROW_OF_8 = cut(WIDTH, (0, 0, 7, 0), 32, 64)
SPREAD = cut(WIDTH, (0, 0, 11, 0), 512, 96, kept=BufferType.DRAM)
COLUMNS = cut(WIDTH, (0, 0, 7, 0), 512, 128)
Operand = tuple[int, int, int, MemoryConfig]
SHORT: Operand = (1, 32, 512, DRAM_MEMORY_CONFIG)
LONG: Operand = (1, 256, 512, DRAM_MEMORY_CONFIG)
THIN: Operand = (1, 256, 64, DRAM_MEMORY_CONFIG)
FOUR: Operand = (4, 64, 64, DRAM_MEMORY_CONFIG)
CUT: Operand = (1, 32, 512, ROW_OF_8)


def product(one: MeshDevice, a: Operand, b: Operand, asked: MemoryConfig, program: object) -> MemoryConfig:
    x, y = (
        from_torch(np.zeros((1, *shape), np.float32), BF16, layout=TILE, device=one, memory_config=memory)
        for *shape, memory in (a, b)
    )
    found: MemoryConfig = ops.matmul(x, y, memory_config=asked, program_config=program).memory_config()
    return found


@pytest.mark.parametrize(
    ("a", "b", "asked", "program", "wanted"),
    [
        (CUT, (1, 512, 1024, SPREAD), LW, BANKS, (WIDTH, "0-0 7-0", [32, 128], "ROW_MAJOR")),
        (CUT, (1, 512, 1024, SPREAD), ROW_OF_8, BANKS, (WIDTH, "0-0 7-0", [32, 128], "ROW_MAJOR")),
        (CUT, (1, 512, 1024, SPREAD), cut(WIDTH, (0, 0, 7, 1), 32, 64), BANKS, (WIDTH, "0-0 7-0", [32, 128], "ROW_MAJOR")),
        (SHORT, (1, 512, 1024, DRAM_MEMORY_CONFIG), LW, line((8, 4), 1, 2), (WIDTH, "0-0 7-1", [32, 64], "ROW_MAJOR")),
        (SHORT, (1, 512, 1024, DRAM_MEMORY_CONFIG), LW, line((4, 4), 1, 2), (WIDTH, "0-0 3-3", [32, 64], "ROW_MAJOR")),
        (SHORT, (1, 512, 1024, DRAM_MEMORY_CONFIG), cut(WIDTH, (2, 2, 3, 3), 32, 256), line((8, 4), 1, 2), (WIDTH, "0-0 7-1", [32, 64], "ROW_MAJOR")),
        (THIN, (1, 64, 64, DRAM_MEMORY_CONFIG), LH, line((8, 4), 2, 2, mcast_in0=False), (HEIGHT, "0-0 3-0", [64, 64], "ROW_MAJOR")),
        (SHORT, (1, 512, 256, DRAM_MEMORY_CONFIG), cut(BLOCK, (0, 0, 3, 0), 32, 64), line((8, 4), 1, 2), (WIDTH, "0-0 3-0", [32, 64], "ROW_MAJOR")),
        (THIN, (1, 64, 64, DRAM_MEMORY_CONFIG), cut(BLOCK, (0, 0, 0, 3), 64, 64), line((8, 4), 2, 2, mcast_in0=False), (HEIGHT, "0-0 0-3", [64, 64], "ROW_MAJOR")),
        (CUT, (1, 512, 1024, COLUMNS), cut(WIDTH, (0, 1, 7, 1), 32, 128), line((8, 1), 1, 4, mcast_in0=False, gather_in0=True), (WIDTH, "0-1 7-1", [32, 128], "ROW_MAJOR")),
        (LONG, (1, 512, 512, DRAM_MEMORY_CONFIG), LB, plane((4, 4)), (BLOCK, "0-0 3-3", [64, 128], "ROW_MAJOR")),
        (LONG, (1, 512, 512, DRAM_MEMORY_CONFIG), cut(BLOCK, (0, 0, 3, 3), 32, 512), plane((4, 4)), (BLOCK, "0-0 3-3", [64, 128], "ROW_MAJOR")),
        (LONG, (1, 512, 512, DRAM_MEMORY_CONFIG), LB, plane((4, 4), True), (BLOCK, "0-0 3-3", [64, 128], "COL_MAJOR")),
        (FOUR, FOUR, LH, EACH, (HEIGHT, "0-0 0-3", [64, 64], "COL_MAJOR")),
        (FOUR, FOUR, cut(HEIGHT, (1, 1, 4, 1), 64, 64), EACH, (HEIGHT, "1-1 4-1", [64, 64], "COL_MAJOR")),
        ((4, 64, 64, cut(HEIGHT, (0, 0, 3, 0), 64, 64)), FOUR, LH, WHOLE, (HEIGHT, "0-0 3-0", [64, 64], "ROW_MAJOR")),
        (SHORT, (1, 512, 1024, DRAM_MEMORY_CONFIG), cut(WIDTH, (1, 1, 4, 2), 32, 128), None, (WIDTH, "0-0 7-3", [32, 32], "ROW_MAJOR")),
        (CUT, (1, 512, 1024, DRAM_MEMORY_CONFIG), ROW_OF_8, None, (WIDTH, "0-0 7-0", [32, 128], "ROW_MAJOR")),
        (LONG, (1, 512, 512, DRAM_MEMORY_CONFIG), cut(BLOCK, (0, 0, 3, 3), 64, 128), None, (BLOCK, "0-0 0-0", [256, 512], "ROW_MAJOR")),
    ],
)  # fmt: skip
def test_the_program_says_which_cores(
    one: MeshDevice, a: Operand, b: Operand, asked: MemoryConfig, program: object, wanted: tuple[Any, ...]
):
    found = product(one, a, b, asked, program)
    spec = found.shard_spec
    assert spec is not None
    ranges = ", ".join(f"{r.start.x}-{r.start.y} {r.end.x}-{r.end.y}" for r in spec.grid.ranges())
    assert (found.memory_layout, ranges, list(spec.shape), spec.orientation.name) == wanted


@pytest.mark.parametrize(
    ("a", "b", "asked", "program", "words"),
    [
        (CUT, (1, 512, 1024, COLUMNS), LW, line((8, 1), 1, 4, mcast_in0=False, gather_in0=True), "bad optional access"),
        (CUT, (1, 512, 1024, COLUMNS), cut(WIDTH, (0, 0, 7, 0), 32, 128), line((8, 1), 1, 4, gather_in0=True), "Matmul1D does not support mcast_in0 and gather_in0 at the same time."),
        (SHORT, (1, 512, 1024, DRAM_MEMORY_CONFIG), LW, line((4, 4), 1, 1), "Target number of cores 32 is greater than total number of available cores 16"),
        (THIN, (1, 64, 64, DRAM_MEMORY_CONFIG), cut(HEIGHT, (0, 1, 0, 4), 64, 64), line((8, 4), 2, 2, mcast_in0=False), "output shard grid {[0-1 - 0-4]} must lie within extent 8-4"),
        (LONG, (1, 512, 512, DRAM_MEMORY_CONFIG), LB, plane((2, 4)), "Num output blocks along x (4) must be smaller than or equal to the number of columns in compute grid (2)!"),
        (LONG, (1, 512, 512, DRAM_MEMORY_CONFIG), LH, plane((4, 4)), "Output memory layout must be BLOCK_SHARDED, got: TensorMemoryLayout::HEIGHT_SHARDED"),
    ],
)  # fmt: skip
def test_what_a_program_refuses(
    one: MeshDevice, a: Operand, b: Operand, asked: MemoryConfig, program: object, words: str
):
    with pytest.raises(RuntimeError) as caught:
        product(one, a, b, asked, program)
    assert words in str(caught.value)
