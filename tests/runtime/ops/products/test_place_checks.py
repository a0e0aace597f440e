"""Products without a program configuration: the places that they refuse, and where they leave results in shards.

As recorded from the reference library 0.81.1.
"""

from __future__ import annotations

from typing import Any

import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.products.test_program_checks import BLOCK, HEIGHT, WIDTH, cut, zeros
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_BLOCK_SHARDED_MEMORY_CONFIG,
    L1_HEIGHT_SHARDED_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    L1_WIDTH_SHARDED_MEMORY_CONFIG,
    CoreGrid,
    MemoryConfig,
)

ONE, TWO = (64, 64), (2, 64, 64)
ROWS, COLUMNS, BLOCKS = cut(HEIGHT, (1, 0), 32, 64), cut(WIDTH, (1, 0), 64, 32), cut(BLOCK, (1, 1), 32, 32)
LW, LH, LB = L1_WIDTH_SHARDED_MEMORY_CONFIG, L1_HEIGHT_SHARDED_MEMORY_CONFIG, L1_BLOCK_SHARDED_MEMORY_CONFIG
GRID = CoreGrid(x=2, y=2)


@pytest.mark.parametrize(
    ("a", "b", "others", "words"),
    [
        ((ONE, None), (ONE, ROWS), {}, "MatmulMultiCoreProgramConfig: Input B memory layout must be INTERLEAVED, got: TensorMemoryLayout::HEIGHT_SHARDED"),
        ((ONE, COLUMNS), (ONE, BLOCKS), {}, "Input tensor B must have INTERLEAVED memory layout, got: TensorMemoryLayout::BLOCK_SHARDED"),
        ((TWO, cut(WIDTH, (1, 0), 128, 32)), (TWO, None), {}, "Input A memory layout must not be WIDTH_SHARDED"),
        ((TWO, cut(BLOCK, (1, 3), 32, 32)), (TWO, None), {}, "MatmulMultiCoreReuseProgramConfig: num_output_blocks (4) must be evenly divisible by the number of cores in the input shard grid (8)"),
        ((TWO, cut(HEIGHT, (1, 0), 64, 64)), (TWO, cut(HEIGHT, (3, 0), 32, 64)), {}, "Input A and B shard grids must match"),
        ((TWO, cut(HEIGHT, (1, 0), 64, 64)), (TWO, cut(WIDTH, (1, 0), 128, 32)), {}, "Input A and B memory layouts must match, got A: TensorMemoryLayout::HEIGHT_SHARDED vs B: TensorMemoryLayout::WIDTH_SHARDED"),
        ((ONE, ROWS), (ONE, None), {"core_grid": GRID, "memory_config": LW}, "Input A and output memory layouts must match, got input: TensorMemoryLayout::HEIGHT_SHARDED vs output: TensorMemoryLayout::WIDTH_SHARDED"),
        ((ONE, None), (ONE, ROWS), {"core_grid": GRID}, "HEIGHT_SHARDED input B is only supported in DRAM, got: BufferType::L1"),
        ((ONE, None), (ONE, BLOCKS), {"memory_config": LB}, "Input B memory layout must be WIDTH_SHARDED, HEIGHT_SHARDED, or DRAM ND_SHARDED, got: TensorMemoryLayout::BLOCK_SHARDED"),
        ((ONE, None), (ONE, COLUMNS), {"memory_config": LH}, "MatmulMultiCoreReuseMultiCast1DProgramConfig: input B must be INTERLEAVED, got: TensorMemoryLayout::WIDTH_SHARDED"),
        ((ONE, None), (ONE, ROWS), {"memory_config": LW}, "input B in L1 must be WIDTH_SHARDED, got: TensorMemoryLayout::HEIGHT_SHARDED"),
        ((TWO, None), (TWO, None), {"memory_config": LB}, "Block-sharded output is incompatible with batch > 1 (B=2)"),
        ((TWO, None), (TWO, None), {"memory_config": cut(BLOCK, (0, 1), 64, 64)}, "BLOCK_SHARDED output on a 1D grid (single row or column of cores) is not supported when both input tensors are batched"),
        ((TWO, None), (TWO, None), {"memory_config": LB, "core_grid": GRID}, "Number of shards along height 2 must not exceed number of columns 1 for column major orientation!"),
        ((TWO, None), (ONE, None), {"transpose_a": True, "core_grid": GRID}, "transpose_a with fuse_batch is not supported when batch dimensions exist and M_per_batch > 1 (batch_size=2, M_per_batch=2"),
        ((ONE, None), (ONE, None), {"core_grid": GRID, "memory_config": LW}, "Output memory layout must be BLOCK_SHARDED"),
        (((768, 64), None), ((64, 32), cut(WIDTH, (0, 0), 64, 32)), {"core_grid": GRID}, "input B must be INTERLEAVED"),
        ((ONE, None), (ONE, COLUMNS), {"memory_config": LB}, "per_core_N (2) must equal input tensor B shard shape[1] / in1_tile.get_width() (1)"),
        ((ONE, None), (ONE, cut(WIDTH, (0, 0), 64, 64)), {"memory_config": LW}, "input B shard width in tiles (2) must equal per_core_N (1)"),
        ((ONE, None), ((64,), None), {"core_grid": GRID}, "The k dimension does not match between tensors"),
        (((64,), None), (TWO, None), {}, "When in1 rank greater than in0 rank front dimensions need to be 1"),
    ],
)  # fmt: skip
def test_places_that_are_refused(one: MeshDevice, a: Any, b: Any, others: dict[str, Any], words: str):
    with pytest.raises(RuntimeError) as caught:
        ops.matmul(zeros(one, *a), zeros(one, *b), **others)
    assert words in str(caught.value)


ALL, PART = CoreGrid(x=8, y=8), CoreGrid(x=4, y=4)
CHOSEN = [
    ((128, 96), cut(BLOCK, (2, 1), 64, 32), 128, LB, (BLOCK, "0-0 1-1", [64, 64]), (None, ALL, PART)),
    ((96, 128), cut(BLOCK, (3, 0), 96, 32), 192, LB, (BLOCK, "0-0 5-0", [96, 32]), (None, ALL)),
    ((96, 128), cut(BLOCK, (3, 2), 32, 32), 192, LB, (BLOCK, "0-0 2-2", [32, 64]), (None, ALL, PART)),
    ((128, 96), cut(WIDTH, (2, 0), 128, 32), 128, LW, (WIDTH, "0-0 1-0", [128, 64]), (None, ALL, PART)),
    ((128, 96), cut(HEIGHT, (1, 0), 64, 96), 128, LH, (HEIGHT, "0-0 1-0", [64, 128]), (None, ALL, PART)),
    ((256, 256), None, 256, LB, (BLOCK, "0-0 3-3", [64, 64]), (PART,)),
    ((768, 64), None, 32, LH, (HEIGHT, "0-0 3-2", [64, 32]), (PART,)),
]


@pytest.mark.parametrize(("shape", "memory", "wide", "asked", "wanted", "grids"), CHOSEN)
def test_cores_that_a_device_chooses(
    one: MeshDevice, shape: tuple[int, ...], memory: MemoryConfig | None, wide: int, asked: MemoryConfig, wanted: Any, grids: Any
):  # fmt: skip
    """Those that hold the first operand say it where there are some, else those that the call names."""
    a, b = zeros(one, shape, memory), zeros(one, (shape[1], wide))
    for grid in grids:
        found = ops.matmul(a, b, memory_config=asked, core_grid=grid).memory_config()
        spec = found.shard_spec
        assert spec is not None
        ranges = ", ".join(f"{r.start.x}-{r.start.y} {r.end.x}-{r.end.y}" for r in spec.grid.ranges())
        assert (found.memory_layout, ranges, list(spec.shape)) == wanted


@pytest.mark.parametrize(
    ("shape", "memory", "asked", "wanted"),
    [
        ((128, 64), None, cut(BLOCK, (0, 1), 64, 64), (HEIGHT, "0-0 0-1", [64, 64], "ROW_MAJOR")),
        ((128, 64), None, cut(BLOCK, (1, 0), 128, 32), (WIDTH, "0-0 1-0", [128, 32], "ROW_MAJOR")),
        ((64, 64), cut(BLOCK, (1, 1), 32, 32, turned=True), LB, (BLOCK, "0-0 1-1", [32, 32], "COL_MAJOR")),
        ((40, 64), cut(BLOCK, (0, 1), 64, 32, turned=True), LB, (BLOCK, "0-0 0-1", [64, 32], "COL_MAJOR")),
    ],
)  # fmt: skip
def test_blocks_on_a_line_and_turned_ones(
    one: MeshDevice, shape: tuple[int, ...], memory: MemoryConfig | None, asked: MemoryConfig, wanted: tuple[Any, ...]
):  # fmt: skip
    found = ops.matmul(zeros(one, shape, memory), zeros(one, ONE), memory_config=asked).memory_config()
    spec = found.shard_spec
    assert spec is not None
    ranges = ", ".join(f"{r.start.x}-{r.start.y} {r.end.x}-{r.end.y}" for r in spec.grid.ranges())
    assert (found.memory_layout, ranges, list(spec.shape), spec.orientation.name) == wanted


def test_addmm_lies_in_dram_unless_it_is_asked(one: MeshDevice):
    x = zeros(one, ONE, L1_MEMORY_CONFIG)
    assert ops.addmm(x, x, x).memory_config() == DRAM_MEMORY_CONFIG
    assert ops.addmm(x, x, x, memory_config=L1_MEMORY_CONFIG).memory_config() == L1_MEMORY_CONFIG
    with pytest.raises(RuntimeError, match="MatmulMultiCoreProgramConfig: Input B memory layout must be"):
        ops.addmm(x, x, zeros(one, ONE, ROWS))
