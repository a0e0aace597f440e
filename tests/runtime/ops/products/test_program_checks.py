"""Which program configurations a product refuses, in the reference library 0.81.1's words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, TILE
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.spec.memory_config import (
    L1_BLOCK_SHARDED_MEMORY_CONFIG,
    L1_HEIGHT_SHARDED_MEMORY_CONFIG,
    L1_WIDTH_SHARDED_MEMORY_CONFIG,
    CoreGrid,
    MemoryConfig,
    ShardSpec,
)
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.compute import WormholeComputeKernelConfig
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


def cut(kind: TensorMemoryLayout, end: tuple[int, int], *shard: int, turned: bool = False) -> MemoryConfig:
    way = ShardOrientation.COL_MAJOR if turned else ShardOrientation.ROW_MAJOR
    grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(*end))])
    return MemoryConfig(kind, BufferType.L1, ShardSpec(grid, shard, way))


def blocked(kind: Any, grid: tuple[int, int], blocks: tuple[int, ...], **others: Any) -> Any:
    """A configuration of blocks: in0_block_w, out_subblock_h, out_subblock_w, per_core_M, per_core_N."""
    names = ("in0_block_w", "out_subblock_h", "out_subblock_w", "per_core_M", "per_core_N")
    return kind(compute_with_storage_grid_size=grid, **dict(zip(names, blocks, strict=True)), **others)


def line(grid: tuple[int, int], *blocks: int, first: bool = True, batch: bool = True) -> Any:
    return blocked(
        MatmulMultiCoreReuseMultiCast1DProgramConfig, grid, blocks, fuse_batch=batch, mcast_in0=first
    )


def plane(grid: tuple[int, int], *blocks: int, turned: bool = False, batch: bool = True) -> Any:
    return blocked(
        MatmulMultiCoreReuseMultiCastProgramConfig, grid, blocks, transpose_mcast=turned, fuse_batch=batch
    )


def apart(grid: tuple[int, int], *blocks: int) -> Any:
    return blocked(MatmulMultiCoreReuseProgramConfig, grid, blocks)


def banks(*blocks: int) -> Any:
    inner, high, wide = blocks
    return MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(
        in0_block_w=inner, per_core_M=high, per_core_N=wide
    )


def zeros(one: MeshDevice, shape: tuple[int, ...], memory: MemoryConfig | None = None) -> Tensor:
    return from_torch(np.zeros(shape, np.float32), BF16, layout=TILE, device=one, memory_config=memory)


A, B = (256, 128), (128, 256)


@pytest.mark.parametrize(
    ("a", "b", "program", "words"),
    [
        (A, B, plane((1, 1), 4, 4, 4, 8, 8), "out_subblock_w 4 times out_subblock_h 4 needs to be at most 8 to fit in hardware"),
        (A, B, plane((99, 1), 4, 1, 4, 8, 8), "compute_with_storage_grid_size (99, 1) must fit within device grid"),
        (A, B, plane((1, 1), 3, 1, 4, 8, 8), "Kt (4) must be divisible by in0_block_w (3)"),
        (A, B, plane((1, 1), 0, 1, 4, 8, 8), "in0_block_w is 0, which is not valid"),
        (A, B, plane((1, 1), 4, 1, 0, 8, 8), "out_subblock_w is 0, which is not valid"),
        (A, B, plane((8, 8), 4, 1, 1, 9, 1), "per_core_M (9) exceeds Mt (8)"),
        (A, B, plane((8, 2), 4, 1, 1, 1, 1), "Num output blocks along y (8) must be smaller than or equal to the number of rows"),
        (A, B, plane((2, 8), 4, 1, 1, 1, 1), "Num output blocks along x (8) must be smaller than or equal to the number of columns"),
        ((2, *A), (2, *B), plane((8, 8), 4, 1, 1, 8, 8), "Matmul with fused batch requires input tensors of shapes BCMK*11KN=BCMN"),
        (A, B, apart((1, 1), 2, 1, 3, 8, 8), "per_core_N (8) must be divisible by out_subblock_w (3)"),
        (A, B, apart((1, 1), 2, 1, 1, 3, 8), "per_core_M, 3, must divide M, 8, if per_core_M < M!"),
        (A, B, apart((1, 1), 2, 1, 1, 16, 8), "input a total height, 8, must be divisible by per_core_M, 16!"),
        (A, B, apart((1, 1), 2, 1, 1, 8, 4), "N (8) must equal per_core_N (4)"),
        (A, (1, *B), apart((1, 1), 2, 1, 1, 8, 8), "Batched (non-bcast) matmul requires inputs of the same rank"),
        ((2, *A), (1, *B), apart((1, 1), 2, 1, 1, 8, 8), "Batch broadcasting is not supported for the chosen program config"),
        (A, B, line((1, 1), 2, 1, 1, 4, 4), "Number of blocks exceeds number of cores: 4 blocks > 1 cores"),
        (A, B, line((8, 1), 2, 1, 1, 4, 4), "mcast_in0 requires M (8) to fit within a single per_core_M block (4), got num_blocks_y=2"),
        (A, B, line((8, 1), 2, 1, 1, 16, 4, first=False), "mcast_in1 requires N (8) to fit within a single per_core_N block (4)"),
        (A, B, line((8, 1), 2, 1, 1, 16, 8, first=False), "per_core_M (16) exceeds Mt (8)"),
        (A, B, banks(1, 1, 1), "Input tensor A must be sharded for DRAM sharded program config"),
    ],
)  # fmt: skip
def test_blocks_that_do_not_fit(
    one: MeshDevice, a: tuple[int, ...], b: tuple[int, ...], program: object, words: str
):
    with pytest.raises(RuntimeError) as caught:
        ops.matmul(zeros(one, a), zeros(one, b), program_config=program)
    assert f"{type(program).__name__}: {words}" in str(caught.value)
    assert "help: " in str(caught.value)


COLUMNS, ROWS, BLOCKS_ = cut(WIDTH, (3, 0), 256, 32), cut(HEIGHT, (3, 0), 64, 128), cut(BLOCK, (3, 3), 64, 32)


@pytest.mark.parametrize(
    ("a", "b", "asked", "program", "words"),
    [
        (ROWS, None, None, line((8, 8), 1, 1, 1, 8, 8), "input A must be WIDTH_SHARDED when mcast_in0 or gather_in0 is set, got: TensorMemoryLayout::HEIGHT_SHARDED"),
        (BLOCKS_, None, None, line((8, 8), 1, 1, 1, 1, 8, first=False), "input A must be HEIGHT_SHARDED, got: TensorMemoryLayout::BLOCK_SHARDED"),
        (COLUMNS, None, None, line((8, 8), 1, 1, 1, 8, 8, batch=False), "fuse_batch must be enabled when input A is sharded"),
        (COLUMNS, None, None, line((8, 8), 2, 1, 1, 8, 8), "shard_shape[1] (32) / in0_tile width (32) must be divisible by in0_block_w (2)"),
        (ROWS, None, None, line((8, 8), 1, 1, 1, 1, 8, first=False), "number of M blocks ceil(M/per_core_M)=8 must not exceed input A shard grid cores (4)"),
        (None, cut(HEIGHT, (3, 0), 32, 256), None, line((8, 8), 1, 1, 1, 8, 8, first=False), "input B must be INTERLEAVED, got: TensorMemoryLayout::HEIGHT_SHARDED"),
        (None, cut(HEIGHT, (3, 0), 32, 256), None, line((8, 8), 1, 1, 1, 8, 8), "input B in L1 must be WIDTH_SHARDED, got: TensorMemoryLayout::HEIGHT_SHARDED"),
        (None, cut(WIDTH, (3, 0), 128, 64), None, line((8, 8), 1, 1, 1, 8, 4), "input B shard width in tiles (2) must equal per_core_N (4)"),
        (None, None, L1_WIDTH_SHARDED_MEMORY_CONFIG, line((8, 8), 1, 1, 1, 8, 8, first=False), "output memory layout must be HEIGHT_SHARDED or BLOCK_SHARDED on a 1-column grid"),
        (COLUMNS, None, None, plane((8, 8), 1, 1, 1, 8, 8), "Unsupported memory layout TensorMemoryLayout::WIDTH_SHARDED."),
        (BLOCKS_, None, None, plane((8, 8), 1, 1, 1, 2, 8, turned=True), "Input tensor A must have COL_MAJOR shard orientation for transpose MCAST"),
        (BLOCKS_, None, None, plane((8, 8), 1, 1, 1, 1, 8), "per_core_M (1) must equal shard_shape[0] / in0_tile.get_height() (2)"),
        (BLOCKS_, None, None, plane((8, 8), 1, 1, 1, 2, 8, batch=False), "Batch fusion is required when input A is sharded"),
        (ROWS, None, None, plane((8, 8), 4, 1, 1, 2, 8), "HEIGHT_SHARDED input A must have a single-column shard grid (got x=0 to x=3)"),
        (None, cut(BLOCK, (3, 3), 32, 64), None, plane((8, 8), 1, 1, 1, 8, 8), "Input B memory layout must be WIDTH_SHARDED, HEIGHT_SHARDED, or DRAM ND_SHARDED"),
        (None, cut(WIDTH, (3, 0), 128, 64), None, plane((8, 8), 1, 1, 1, 8, 8), "per_core_N (8) must equal input tensor B shard shape[1] / in1_tile.get_width() (2)"),
        (COLUMNS, None, None, apart((8, 8), 1, 1, 1, 2, 8), "input A memory layout must not be WIDTH_SHARDED"),
        (ROWS, None, None, apart((8, 8), 1, 1, 1, 2, 8), "in0 shard_shape[1] (128) must equal in0_block_w (1) * in0_tile width (32)"),
        (ROWS, None, None, apart((8, 8), 4, 1, 1, 1, 8), "per_core_M (1) * in0_tile height (32) must equal in0 shard_shape[0] (64)"),
        (cut(HEIGHT, (2, 0), 96, 128), None, None, apart((8, 8), 4, 1, 1, 2, 8), "num_output_blocks (4) must be evenly divisible by the number of cores in the input shard grid (3)"),
        (None, cut(HEIGHT, (3, 0), 32, 256), None, apart((8, 8), 1, 1, 1, 8, 8), "num_output_blocks (1) must be evenly divisible by the number of cores in the input shard grid (4)"),
        (COLUMNS, None, L1_WIDTH_SHARDED_MEMORY_CONFIG, banks(1, 8, 1), "currently only support in0 tensor height of tile height"),
        (COLUMNS, None, L1_WIDTH_SHARDED_MEMORY_CONFIG, banks(1, 1, 1), "M (8) must equal per_core_M (1)"),
        (COLUMNS, None, None, banks(1, 8, 1), "Output memory config must be sharded for DRAM sharded program config"),
    ],
)  # fmt: skip
def test_shards_that_do_not_fit(
    one: MeshDevice, a: MemoryConfig | None, b: MemoryConfig | None, asked: MemoryConfig | None, program: object, words: str
):  # fmt: skip
    with pytest.raises(RuntimeError) as caught:
        ops.matmul(zeros(one, A, a), zeros(one, B, b), memory_config=asked, program_config=program)
    assert f"{type(program).__name__}: {words}" in str(caught.value)


@pytest.mark.parametrize(
    ("a", "b", "memories", "asked", "program"),
    [
        (A, B, (None, None), None, plane((1, 1), 4, 2, 4, 8, 8)),
        ((1, *A), (2, *B), (None, None), None, line((8, 1), 2, 1, 1, 8, 8, first=False, batch=False)),
        (A, B, (COLUMNS, None), L1_WIDTH_SHARDED_MEMORY_CONFIG, line((8, 8), 1, 1, 1, 8, 1)),
        (A, B, (BLOCKS_, None), L1_BLOCK_SHARDED_MEMORY_CONFIG, plane((8, 8), 1, 1, 1, 2, 2)),
        (A, B, (ROWS, None), L1_HEIGHT_SHARDED_MEMORY_CONFIG, apart((8, 8), 4, 1, 1, 2, 8)),
    ],
)  # fmt: skip
def test_blocks_that_fit(
    one: MeshDevice, a: tuple[int, ...], b: tuple[int, ...], memories: Any, asked: MemoryConfig | None, program: object
):  # fmt: skip
    x, y = (zeros(one, shape, memory) for shape, memory in zip((a, b), memories, strict=True))
    found = ops.matmul(x, y, memory_config=asked, program_config=program)
    assert tuple(found.shape) == (*b[:-2], 256, 256)


def test_float32_halves_the_registers(one: MeshDevice):
    program, x, y = plane((1, 1), 4, 2, 4, 8, 8), zeros(one, A), zeros(one, B)
    words = "out_subblock_w 4 times out_subblock_h 2 needs to be at most 4"
    with pytest.raises(RuntimeError, match=words):
        ops.matmul(x, y, program_config=program, dtype=DataType.FLOAT32)
    wide = WormholeComputeKernelConfig(fp32_dest_acc_en=True)
    with pytest.raises(RuntimeError, match=words):
        ops.matmul(x, y, program_config=program, compute_kernel_config=wide)


def test_activations_that_belong_into_the_program(one: MeshDevice):
    with pytest.raises(RuntimeError, match="Sharded matmul run with UnaryOpType::RELU activation"):
        ops.linear(zeros(one, A, COLUMNS), zeros(one, B), activation="relu")
    with pytest.raises(RuntimeError, match="Cannot use activation with batched input b"):
        ops.matmul(zeros(one, (2, *A)), zeros(one, (2, *B)), activation="relu", core_grid=CoreGrid(x=3, y=1))
