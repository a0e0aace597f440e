"""Where results lie that an operation cuts over cores by itself, as recorded from the reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, TILE
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet, num_cores_to_corerangeset
from tt_run.runtime.enums import BufferType, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_BLOCK_SHARDED_MEMORY_CONFIG,
    L1_HEIGHT_SHARDED_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    L1_WIDTH_SHARDED_MEMORY_CONFIG,
    CoreGrid,
    MemoryConfig,
    ShardSpec,
)
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.matmul import MatmulMultiCoreReuseMultiCastProgramConfig


def op(name: str) -> Any:
    return ops.registry[f"ttnn.{name}"]


HEIGHT = TensorMemoryLayout.HEIGHT_SHARDED
GRID = CoreCoord(8, 8)


def by_rows(cores: int, *shard: int) -> MemoryConfig:
    grid = num_cores_to_corerangeset(cores, GRID, row_wise=True)
    return MemoryConfig(HEIGHT, BufferType.L1, ShardSpec(grid, shard, ShardOrientation.ROW_MAJOR))


def cut(kind: TensorMemoryLayout, last: tuple[int, int], *shard: int) -> MemoryConfig:
    grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(*last))])
    return MemoryConfig(kind, BufferType.L1, ShardSpec(grid, shard, ShardOrientation.ROW_MAJOR))


WIDTH, BLOCK = TensorMemoryLayout.WIDTH_SHARDED, TensorMemoryLayout.BLOCK_SHARDED
WIDE, SQUARES = cut(WIDTH, (1, 0), 64, 64), cut(BLOCK, (1, 1), 32, 32)
TWO = by_rows(2, 32, 64)
BLOCKS_OF_4 = MatmulMultiCoreReuseMultiCastProgramConfig(
    compute_with_storage_grid_size=(4, 4), in0_block_w=1, out_subblock_h=1, out_subblock_w=1, per_core_M=2, per_core_N=4,
    transpose_mcast=False, fused_activation=None,
)  # fmt: skip


@pytest.fixture
def make(one: MeshDevice) -> Callable[..., Tensor]:
    def made(*shape: int, memory: MemoryConfig = DRAM_MEMORY_CONFIG) -> Tensor:
        return from_torch(np.zeros(shape, np.float32), BF16, layout=TILE, device=one, memory_config=memory)

    return made


@pytest.mark.parametrize(
    ("call", "cores", "shard"),
    [
        (lambda t: op("experimental.nlp_create_qkv_heads_decode")(t(1, 1, 16, 384), num_heads=4, num_kv_heads=1)[0], "0-0 7-1", [32, 64]),
        (lambda t: op("experimental.nlp_create_qkv_heads_decode")(t(1, 1, 8, 2560), num_heads=36, num_kv_heads=2)[0], "0-0 7-0", [64, 64]),
        (lambda t: op("experimental.nlp_create_qkv_heads_decode")(t(1, 1, 8, 384), num_heads=4, num_kv_heads=1, memory_config=L1_MEMORY_CONFIG)[2], "0-0 7-0", [32, 64]),
        (lambda t: op("experimental.nlp_concat_heads_decode")(t(1, 8, 4, 64, memory=by_rows(8, 32, 64)), num_heads=4, memory_config=L1_MEMORY_CONFIG), "0-0 3-0", [32, 64]),
        (lambda t: op("experimental.nlp_concat_heads_decode")(t(1, 8, 10, 64, memory=by_rows(8, 32, 64)), num_heads=10), "0-0 7-0, 0-1 1-1", [32, 64]),
        (lambda t: ops.matmul(t(1, 1, 32, 128), t(1, 1, 128, 2048), memory_config=L1_WIDTH_SHARDED_MEMORY_CONFIG, core_grid=CoreGrid(y=4, x=8)), "0-0 7-3", [32, 64]),
        (lambda t: ops.matmul(t(1, 1, 64, 128), t(1, 1, 128, 128), memory_config=L1_BLOCK_SHARDED_MEMORY_CONFIG, core_grid=CoreGrid(y=2, x=4)), "0-0 3-1", [32, 32]),
        (lambda t: ops.linear(t(1, 1, 256, 256), t(256, 512), memory_config=L1_BLOCK_SHARDED_MEMORY_CONFIG), "0-0 0-0", [256, 512]),
        (lambda t: ops.linear(t(1, 1, 256, 256), t(256, 512), memory_config=L1_BLOCK_SHARDED_MEMORY_CONFIG, program_config=BLOCKS_OF_4), "0-0 3-3", [64, 128]),
        (lambda t: ops.linear(t(1, 1, 256, 256), t(256, 512), memory_config=L1_HEIGHT_SHARDED_MEMORY_CONFIG), "0-0 7-0", [32, 512]),
        (lambda t: ops.add(t(1, 1, 64, 64), t(1, 1, 64, 64, memory=TWO)), "0-0 1-0", [32, 64]),
        (lambda t: ops.add(t(1, 1, 1, 64), t(1, 1, 64, 64, memory=TWO)), "0-0 1-0", [32, 64]),
        (lambda t: ops.add(t(2, 3, 64, 96), t(1, 1, 64, 96, memory=WIDE)), "0-0 1-0", [384, 64]),
        (lambda t: ops.add(t(1, 1, 64, 64, memory=TWO), t(2, 3, 64, 64)), "0-0 1-0", [192, 64]),
        (lambda t: ops.mul(t(1, 1, 64, 64, memory=SQUARES), t(2, 1, 64, 64)), "0-0 1-1", [64, 32]),
        (lambda t: ops.where(t(2, 1, 64, 96), t(1, 1, 64, 96, memory=WIDE), 0.0), "0-0 1-0", [128, 64]),
        (lambda t: ops.relu(t(1, 1, 32, 64), memory_config=L1_HEIGHT_SHARDED_MEMORY_CONFIG), "0-0 0-0", [32, 64]),
        (lambda t: ops.add(t(2, 3, 64, 96), 2.0, memory_config=L1_HEIGHT_SHARDED_MEMORY_CONFIG), "0-0 7-0, 0-1 3-1", [32, 96]),
        (lambda t: ops.relu(t(1, 1, 64, 2048), memory_config=L1_BLOCK_SHARDED_MEMORY_CONFIG), "0-0 7-1", [32, 256]),
        (lambda t: ops.matmul(t(1, 1, 64, 96, memory=WIDE), t(1, 1, 96, 96), memory_config=L1_WIDTH_SHARDED_MEMORY_CONFIG), "0-0 1-0", [64, 64]),
        (lambda t: ops.matmul(t(2, 1, 64, 64, memory=by_rows(2, 64, 64)), t(1, 1, 64, 32), memory_config=L1_HEIGHT_SHARDED_MEMORY_CONFIG), "0-0 1-0", [64, 32]),
        (lambda t: ops.matmul(t(1, 1, 64, 64, memory=SQUARES), t(1, 1, 64, 32), memory_config=L1_BLOCK_SHARDED_MEMORY_CONFIG), "0-0 0-1", [32, 32]),
        (lambda t: op("split")(t(1, 1, 32, 64, memory=cut(HEIGHT, (1, 0), 32, 64)), 32, -1)[0], "0-0 1-0", [32, 32]),
        (lambda t: op("split")(t(2, 3, 64, 96, memory=cut(WIDTH, (1, 0), 384, 64)), 32, -2)[1], "0-0 1-0", [192, 64]),
        (lambda t: op("chunk")(t(1, 1, 32, 64, memory=cut(WIDTH, (1, 0), 32, 32)), 2, -1)[1], "0-0 1-0", [32, 32]),
        (lambda t: ops.matmul(t(64), t(64, 32), memory_config=L1_WIDTH_SHARDED_MEMORY_CONFIG), "0-0 0-0", [32, 32]),
        (lambda t: ops.where(t(1, 1, 64, 64), t(1, 1, 64, 64, memory=TWO), t(1, 1, 64, 64)), "0-0 1-0", [32, 64]),
    ],
)  # fmt: skip
def test_pieces(make: Callable[..., Tensor], call: Any, cores: str, shard: list[int]):
    spec = call(make).memory_config().shard_spec
    found = [(r.start, r.end) for r in spec.grid.ranges()]
    assert ", ".join(f"{a.x}-{a.y} {b.x}-{b.y}" for a, b in found) == cores
    assert list(spec.shape) == shard


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda t: ops.mul(t(1, 1, 64, 64, memory=L1_MEMORY_CONFIG), t(1, 1, 64, 64, memory=TWO)), L1_MEMORY_CONFIG),
        (lambda t: ops.concat([t(1, 1, 64, 64, memory=TWO)] * 2, 3), DRAM_MEMORY_CONFIG),
        (lambda t: ops.concat([t(1, 1, 64, 64, memory=L1_MEMORY_CONFIG)] * 2, 3), DRAM_MEMORY_CONFIG),
        (lambda t: op("nonzero")(t(1, 1, 64, 64, memory=TWO))[1], DRAM_MEMORY_CONFIG),
        (lambda t: op("split")(t(1, 1, 32, 64, memory=cut(WIDTH, (1, 0), 32, 32)), 32, -1)[0], DRAM_MEMORY_CONFIG),
        (lambda t: op("split")(t(2, 3, 64, 96, memory=cut(HEIGHT, (1, 0), 192, 96)), 48, -1)[0], DRAM_MEMORY_CONFIG),
        (lambda t: op("transformer.scaled_dot_product_attention")(t(1, 4, 64, 64, memory=L1_MEMORY_CONFIG), t(1, 1, 64, 64), t(1, 1, 64, 64)), DRAM_MEMORY_CONFIG),
        (lambda t: op("transformer.scaled_dot_product_attention_decode")(t(1, 8, 4, 64, memory=by_rows(8, 32, 64)), t(8, 1, 128, 64), t(8, 1, 128, 64), cur_pos=[3] * 8), DRAM_MEMORY_CONFIG),
    ],
)  # fmt: skip
def test_whole_results(make: Callable[..., Tensor], call: Any, wanted: MemoryConfig):
    assert call(make).memory_config() == wanted
