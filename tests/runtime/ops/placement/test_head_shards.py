"""Results that stay on the cores of their operand, as reference library 0.81.1 answers on a grid of 8 x 8 cores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, BFP8, TILE, held, put
from tt_run.runtime import catalog
from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.enums import ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import (
    L1_BLOCK_SHARDED_MEMORY_CONFIG,
    L1_HEIGHT_SHARDED_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    L1_WIDTH_SHARDED_MEMORY_CONFIG,
    CoreGrid,
    ShardStrategy,
    create_sharded_memory_config,
)


def cut(one: MeshDevice, shape: tuple[int, ...], grid: tuple[int, int], kind: ShardStrategy) -> Any:
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 251
    memory = create_sharded_memory_config(shape, CoreGrid(x=grid[0], y=grid[1]), kind)
    return ops.to_memory_config(put(one, values, BF16, TILE), memory)


def place(tensor: Any) -> tuple[list[int], str]:
    spec = tensor.memory_config().shard_spec
    return list(spec.shape), str(spec.grid)


@pytest.mark.parametrize(
    ("batch", "grid", "piece", "joined", "cores"),
    [
        (8, (6, 8), [64, 64], [64, 64], "{[0-0 - 5-7]}"),
        (2, (3, 2), [128, 64], [64, 128], "{[0-0 - 2-1]}"),
        (4, (2, 4), [192, 64], [64, 192], "{[0-0 - 1-3]}"),
    ],
)
def test_heads_split_and_join_on_the_same_cores(
    one: MeshDevice, batch: int, grid: tuple[int, int], piece: list[int], joined: list[int], cores: str
) -> None:
    fused = cut(one, (batch, 64, 6 * 64 * 3), grid, ShardStrategy.BLOCK)
    split = catalog.find("ttnn.transformer.split_query_key_value_and_split_heads")
    join = catalog.find("ttnn.transformer.concatenate_heads")
    assert split is not None
    assert join is not None
    heads = split(fused, num_heads=6, memory_config=L1_HEIGHT_SHARDED_MEMORY_CONFIG)
    assert [place(head) for head in heads] == [(piece, cores)] * 3
    again = join(heads[0], memory_config=L1_BLOCK_SHARDED_MEMORY_CONFIG)
    assert place(again) == (joined, cores)
    assert np.array_equal(held(again), held(join(ops.to_memory_config(heads[0], L1_MEMORY_CONFIG))))


@pytest.mark.parametrize(
    ("name", "shape", "rows"),
    [
        ("transformer.split_query_key_value_and_split_heads", (2, 50, 768), 50),
        ("experimental.split_query_key_value_and_split_heads", (2, 1, 50, 768), 64),
        ("experimental.create_qkv_heads", (2, 1, 50, 768), 64),
    ],
)
def test_heads_of_sequences_that_fill_no_tiles(
    one: MeshDevice, name: str, shape: tuple[int, ...], rows: int
) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 61
    blocks = create_sharded_memory_config(
        (*shape[:-2], 64, 768), CoreGrid(x=2, y=2), ShardStrategy.BLOCK, ShardOrientation.ROW_MAJOR
    )
    split = catalog.find(f"ttnn.{name}")
    assert split is not None
    fused = ops.to_memory_config(put(one, x, BF16, TILE), blocks)
    query, key, value = split(fused, num_heads=4, memory_config=L1_HEIGHT_SHARDED_MEMORY_CONFIG)
    shapes = [list(head.shape) for head in (query, key, value)]
    assert shapes == [[2, 4, rows, 64], [2, 4, 64, rows], [2, 4, rows, 64]]
    assert [list(head.padded_shape)[-2:] for head in (query, key, value)] == [[64, 64]] * 3
    assert place(query) == place(key) == ([128, 64], "{[0-0 - 1-1]}")
    assert np.array_equal(held(query)[1, 0, :50], x.reshape(2, 50, 768)[1, :, :64])


def test_keys_of_their_own_beside_a_cut_tensor(one: MeshDevice) -> None:
    split = catalog.find("ttnn.transformer.split_query_key_value_and_split_heads")
    assert split is not None
    fused = cut(one, (2, 64, 256), (2, 2), ShardStrategy.BLOCK)
    with pytest.raises(
        RuntimeError, match="KV tensor should not be provided when the input tensor is sharded"
    ):
        split(fused, put(one, np.ones((2, 64, 512), np.float32), BF16, TILE), num_heads=4)


@pytest.mark.parametrize(
    ("shape", "columns", "grid", "kind", "asked", "found"),
    [
        ((1, 5, 128, 64), 128, (5, 4), ShardStrategy.HEIGHT, L1_HEIGHT_SHARDED_MEMORY_CONFIG, ([32, 128], "{[0-0 - 4-3]}")),
        ((1, 1, 640, 64), 96, (1, 5), ShardStrategy.HEIGHT, L1_HEIGHT_SHARDED_MEMORY_CONFIG, ([128, 96], "{[0-0 - 0-4]}")),
        ((1, 1, 32, 512), 1024, (4, 2), ShardStrategy.WIDTH, L1_WIDTH_SHARDED_MEMORY_CONFIG, ([32, 128], "{[0-0 - 3-1]}")),
        ((1, 1, 32, 512), 256, (2, 2), ShardStrategy.WIDTH, L1_WIDTH_SHARDED_MEMORY_CONFIG, ([32, 64], "{[0-0 - 1-1]}")),
    ],
)  # fmt: skip
def test_products_stay_on_the_cores_of_the_first(
    one: MeshDevice, shape: Any, columns: int, grid: Any, kind: Any, asked: Any, found: Any
) -> None:
    second = put(one, np.ones((1, shape[1], shape[-1], columns), np.float32), BF16, TILE)
    assert place(ops.matmul(cut(one, shape, grid, kind), second, memory_config=asked)) == found


def test_a_slice_is_cut_over_as_many_cores_as_it_has_pieces(one: MeshDevice) -> None:
    tensor = put(one, np.ones((1, 71, 128, 64), np.float32), BF16, TILE)
    partial = catalog.find("ttnn.interleaved_to_sharded_partial")
    assert partial is not None
    rows = (TensorMemoryLayout.HEIGHT_SHARDED, ShardOrientation.ROW_MAJOR)
    assert place(partial(tensor, (8, 8), [160, 64], 1, 0, *rows)) == ([160, 64], "{[0-0 - 7-6], [0-7 - 0-7]}")
    assert place(partial(tensor, (8, 8), [64, 64], 4, 3, *rows)) == ([64, 64], "{[0-0 - 7-3], [0-4 - 3-4]}")


H, W, B = (
    TensorMemoryLayout.HEIGHT_SHARDED,
    TensorMemoryLayout.WIDTH_SHARDED,
    TensorMemoryLayout.BLOCK_SHARDED,
)
BY_ROW, BY_COLUMN = ShardOrientation.ROW_MAJOR, ShardOrientation.COL_MAJOR


@pytest.mark.parametrize(
    ("shape", "piece", "kind", "way", "found"),
    [
        ((1, 10, 32, 96), [32, 96], H, BY_ROW, "{[0-0 - 7-0], [0-1 - 1-1]}"),
        ((1, 10, 32, 96), [32, 96], H, BY_COLUMN, "{[0-0 - 1-3], [2-0 - 2-1]}"),
        ((1, 1, 172, 64), [64, 64], H, BY_ROW, "{[0-0 - 2-0]}"),
        ((1, 1, 64, 300), [64, 64], W, BY_COLUMN, "{[0-0 - 0-3], [1-0 - 1-0]}"),
        ((1, 1, 128, 512), [64, 64], B, BY_ROW, "{[0-0 - 7-1]}"),
        ((1, 1, 64, 192), [64, 64], B, BY_ROW, "{[0-0 - 2-0]}"),
        ((1, 1, 128, 256), [64, 64], B, BY_COLUMN, "{[0-0 - 1-3]}"),
        ((1, 1, 128, 128), [64, 64], B, BY_ROW, "Number of shards along height 2 must not exceed number of rows 1"),
        ((1, 33, 32, 64), [32, 64], H, BY_ROW, "Target number of cores 33 is greater than total number of available cores 32"),
    ],
)  # fmt: skip
def test_a_tensor_is_cut_over_as_many_cores_of_a_grid_as_it_has_pieces(
    one: MeshDevice, shape: Any, piece: Any, kind: Any, way: Any, found: str
) -> None:
    tensor = put(one, np.arange(np.prod(shape)).reshape(shape), BF16, TILE)

    def spread() -> Any:
        return ops.interleaved_to_sharded(tensor, CoreCoord(8, 4), piece, kind, way)

    if not found.startswith("{"):
        with pytest.raises(RuntimeError, match=found):
            spread()
        return
    assert place(spread()) == (piece, found)
    assert np.array_equal(held(spread()), held(tensor))


def test_what_lies_there_already_keeps_its_type(one: MeshDevice) -> None:
    tensor = cut(one, (1, 1, 64, 64), (2, 1), ShardStrategy.HEIGHT)
    assert ops.to_memory_config(tensor, tensor.memory_config(), dtype=BFP8).dtype is BF16
    assert ops.to_memory_config(tensor, L1_MEMORY_CONFIG, dtype=BFP8).dtype is BFP8
