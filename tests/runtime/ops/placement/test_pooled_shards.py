"""Where pools leave their results, as reference library 0.81.1 answers on a grid of 8 x 8 cores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, BFP8, F32, ROW, TILE, held, put
from tt_run.runtime.enums import ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_HEIGHT_SHARDED_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    CoreGrid,
    ShardStrategy,
    create_sharded_memory_config,
)  # fmt: skip

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

H, W, B = ShardStrategy.HEIGHT, ShardStrategy.WIDTH, ShardStrategy.BLOCK

# A cut and its grid, images, side and channels; kernel and step; the layout of the result; its shard.
CUT: list[Any] = [
    (H, (8, 1), (2, 8, 32), (2, 2), ROW, [4, 32]),
    (H, (8, 1), (2, 8, 32), (3, 1), ROW, [9, 32]),
    (H, (8, 1), (2, 8, 32), (2, 2), TILE, [32, 32]),
    (H, (8, 8), (1, 112, 64), (2, 2), TILE, [64, 64]),
    (W, (4, 1), (2, 8, 32), (2, 2), ROW, [32, 16]),
    (W, (8, 1), (1, 16, 128), (2, 2), TILE, [64, 32]),
    (B, (4, 2), (2, 8, 64), (2, 2), ROW, [16, 16]),
    (B, (8, 8), (1, 28, 512), (2, 2), ROW, [25, 64]),
]


@pytest.mark.parametrize(("cut", "grid", "image", "window", "layout", "shard"), CUT)
def test_results_of_shards_stay_on_their_cores(
    one: MeshDevice, cut: Any, grid: Any, image: Any, window: Any, layout: Any, shard: list[int]
):
    count, side, channels = image
    x = np.arange(count * side * side * channels, dtype=np.float32).reshape(1, 1, -1, channels) % 97
    memory = create_sharded_memory_config(x.shape, CoreGrid(x=grid[0], y=grid[1]), cut)
    tensor = ops.to_memory_config(put(one, x, BF16, ROW), memory)
    words = {"kernel_size": [window[0]] * 2, "stride": [window[1]] * 2, "padding": [0, 0]}
    for pool in (ops.max_pool2d, ops.avg_pool2d):
        dilation = {"dilation": [1, 1]} if pool is ops.max_pool2d else {}
        found = pool(tensor, count, side, side, channels, **words, **dilation, output_layout=layout)
        placed = found.memory_config()
        assert placed.memory_layout is memory.memory_layout
        assert list(placed.shard_spec.shape) == shard
        assert placed.shard_spec.grid == memory.shard_spec.grid
        plain = pool(put(one, x, BF16, ROW), count, side, side, channels, **words, **dilation)
        assert np.array_equal(held(found), held(plain))


@pytest.mark.parametrize(
    ("image", "scheme", "shard", "cores"),
    [
        ((2, 8, 32), "HEIGHT", [1, 32], "{[0-0 - 7-3]}"),
        ((2, 8, 32), "WIDTH", [32, 16], "{[0-0 - 1-0]}"),
        ((2, 8, 32), "BLOCK", [4, 16], "{[0-0 - 1-7]}"),
        ((1, 14, 2048), "HEIGHT", [1, 2048], "{[0-0 - 7-5], [0-6 - 0-6]}"),
        ((1, 14, 2048), "WIDTH", [49, 32], "{[0-0 - 7-7]}"),
        # Channels that do not fill faces: all on a core in whole tiles, or a face on each.
        ((1, 32, 33), "HEIGHT", [4, 64], "{[0-0 - 7-7]}"),
        ((1, 32, 33), "WIDTH", [256, 16], "{[0-0 - 2-0]}"),
        ((1, 32, 33), "BLOCK", [32, 64], "{[0-0 - 0-7]}"),
        ((1, 32, 56), "BLOCK", [32, 64], "{[0-0 - 0-7]}"),
        ((1, 32, 48), "HEIGHT", [4, 48], "{[0-0 - 7-7]}"),
        ((1, 32, 48), "BLOCK", [32, 16], "{[0-0 - 2-7]}"),
    ],
)
def test_a_scheme_says_which_cores(one: MeshDevice, image: Any, scheme: str, shard: list[int], cores: str):
    count, side, channels = image
    x = put(one, np.zeros((1, 1, count * side * side, channels)), BF16, ROW)
    words = {"applied_shard_scheme": TensorMemoryLayout[f"{scheme}_SHARDED"]}
    sizes = (count, side, side, channels, [2, 2], [2, 2], [0, 0])
    found = ops.max_pool2d(x, *sizes, [1, 1], **words).memory_config()
    assert list(found.shard_spec.shape) == shard
    assert str(found.shard_spec.grid) == cores
    assert (
        ops.avg_pool2d(x, *sizes, **words, memory_config=L1_MEMORY_CONFIG).memory_config() == L1_MEMORY_CONFIG
    )


# Images, side and channels; kernel, step and border; layouts of image and result; the cut, its shard and cores.
CHOSEN: list[Any] = [
    ("max", (2, 14, 128), (3, 1, 1), ROW, ROW, "BLOCK", [49, 32], "{[0-0 - 3-7]}"),
    ("max", (1, 14, 128), (3, 2, 1), ROW, ROW, "WIDTH", [49, 16], "{[0-0 - 7-0]}"),
    ("max", (8, 32, 64), (7, 2, 3), ROW, ROW, "HEIGHT", [32, 64], "{[0-0 - 7-7]}"),
    ("max", (1, 8, 48), (3, 2, 1), TILE, ROW, "WIDTH", [16, 32], "{[0-0 - 1-0]}"),
    ("max", (1, 8, 16), (3, 1, 0), ROW, TILE, "HEIGHT", [32, 32], "{[0-0 - 1-0]}"),
    ("avg", (1, 7, 8), (3, 2, 0), ROW, ROW, "WIDTH", [9, 16], "{[0-0 - 0-0]}"),
    ("avg", (8, 14, 64), (7, 2, 3), ROW, ROW, "BLOCK", [49, 32], "{[0-0 - 1-7]}"),
    ("avg", (1, 16, 48), (5, 1, 2), ROW, TILE, "BLOCK", [32, 32], "{[0-0 - 1-7]}"),
    ("max", (1, 7, 64), (7, 1, 0), ROW, ROW, "WIDTH", [1, 16], "{[0-0 - 3-0]}"),
    ("max", (1, 64, 100), (2, 2, 0), ROW, ROW, "HEIGHT", [16, 128], "{[0-0 - 7-7]}"),
    ("avg", (1, 64, 257), (2, 2, 0), ROW, ROW, "HEIGHT", [16, 288], "{[0-0 - 7-7]}"),
    ("max", (1, 64, 80), (2, 2, 0), TILE, ROW, "HEIGHT", [16, 80], "{[0-0 - 7-7]}"),
]


@pytest.mark.parametrize(
    ("channels", "given", "wide", "across"),
    [
        (40, ROW, 64, 1), (48, ROW, 32, 2), (80, ROW, 96, 1), (112, ROW, 64, 2), (168, ROW, 64, 3), (190, ROW, 32, 6),
        (288, ROW, 96, 3), (40, TILE, 32, 2), (80, TILE, 32, 3),
    ],
)  # fmt: skip
def test_blocks_of_tiles_are_cut_where_rows_are_whole_units(
    one: MeshDevice, channels: int, given: Any, wide: int, across: int
):
    x = put(one, np.zeros((1, 1, 1024, channels)), BF16, given)
    words = {"applied_shard_scheme": TensorMemoryLayout.BLOCK_SHARDED, "output_layout": TILE}
    spec = (
        ops.max_pool2d(x, 1, 32, 32, channels, [2, 2], [2, 2], [0, 0], [1, 1], **words)
        .memory_config()
        .shard_spec
    )
    assert (list(spec.shape), str(spec.grid)) == ([32, wide], f"{{[0-0 - {across - 1}-7]}}")


@pytest.mark.parametrize(("kind", "image", "window", "given", "asked", "scheme", "shard", "cores"), CHOSEN)
def test_without_a_scheme_what_takes_the_least_room_is_cut(
    one: MeshDevice,
    kind: str,
    image: Any,
    window: Any,
    given: Any,
    asked: Any,
    scheme: str,
    shard: Any,
    cores: str,
):
    count, side, channels = image
    x = np.arange(count * side * side * channels, dtype=np.float32).reshape(1, 1, -1, channels) % 97
    sizes = (count, side, side, channels, *([number] * 2 for number in window))
    pool, more = (ops.max_pool2d, [[1, 1]]) if kind == "max" else (ops.avg_pool2d, [])
    found = pool(put(one, x, BF16, given), *sizes, *more, output_layout=asked)
    assert found.memory_config().memory_layout is TensorMemoryLayout[f"{scheme}_SHARDED"]
    assert list(found.memory_config().shard_spec.shape) == shard
    assert str(found.memory_config().shard_spec.grid) == cores
    plain = pool(put(one, x, BF16, given), *sizes, *more, memory_config=DRAM_MEMORY_CONFIG)
    assert np.array_equal(held(found), held(plain))


def test_means_of_whole_images_lie_interleaved(one: MeshDevice):
    sizes = (1, 8, 8, 64, [8, 8], [1, 1], [0, 0])
    x = put(one, np.ones((1, 1, 64, 64)), BF16, ROW)
    assert ops.avg_pool2d(x, *sizes).memory_config() == DRAM_MEMORY_CONFIG
    memory = create_sharded_memory_config((1, 1, 64, 64), CoreGrid(x=2, y=1), H)
    assert ops.avg_pool2d(ops.to_memory_config(x, memory), *sizes).memory_config() == L1_MEMORY_CONFIG
    tiles = ops.avg_pool2d(x, *sizes, dtype=BFP8, output_layout=TILE)
    assert tiles.dtype is BF16


def test_means_of_whole_images_in_blocks_are_cut_unless_they_are_whole_tiles(one: MeshDevice):
    for size, layout, shape in (
        (7, TensorMemoryLayout.WIDTH_SHARDED, [2, 32]),
        (8, TensorMemoryLayout.INTERLEAVED, None),
    ):
        blocks = put(one, np.ones((1, 1, 2 * size * size, 32)), BFP8)
        found = ops.adaptive_avg_pool2d(blocks, 2, size, size, 32, [1, 1])
        place = found.memory_config()
        assert (found.dtype, place.memory_layout) == (BF16, layout)
        assert (None if place.shard_spec is None else list(place.shard_spec.shape)) == shape
        assert (held(found) == 1).all()


def test_smooth_enlargements_are_cut_by_pixels(one: MeshDevice):
    found = ops.upsample(put(one, np.ones((2, 10, 10, 64)), BF16, ROW), 2, mode="bilinear").memory_config()
    assert (list(found.shard_spec.shape), str(found.shard_spec.grid)) == ([13, 64], "{[0-0 - 7-7]}")
    few = ops.upsample(put(one, np.ones((1, 3, 3, 64)), BF16, ROW), 2, mode="bilinear").memory_config()
    assert (list(few.shard_spec.shape), str(few.shard_spec.grid)) == ([4, 64], "{[0-0 - 7-0], [0-1 - 0-1]}")


def test_adaptive_and_global_pools_of_shards(one: MeshDevice):
    memory = create_sharded_memory_config((1, 1, 128, 32), CoreGrid(x=8, y=1), H)
    tensor = ops.to_memory_config(put(one, np.ones((1, 1, 128, 32)), BF16, ROW), memory)
    for pool in (ops.adaptive_avg_pool2d, ops.adaptive_max_pool2d):
        assert list(pool(tensor, 2, 8, 8, 32, [2, 2]).memory_config().shard_spec.shape) == [1, 32]
    whole = create_sharded_memory_config(
        (512, 32), CoreGrid(x=1, y=1), H, use_height_and_width_as_shard_shape=True
    )
    images = ops.to_memory_config(put(one, np.ones((2, 8, 8, 32)), BF16), whole)
    assert ops.global_avg_pool2d(images).memory_config() == L1_MEMORY_CONFIG


def test_blocks_column_by_column_are_refused(one: MeshDevice):
    memory = create_sharded_memory_config((1, 1, 128, 64), CoreGrid(x=4, y=2), B, ShardOrientation.COL_MAJOR)
    tensor = ops.to_memory_config(put(one, np.ones((1, 1, 128, 64)), BF16, ROW), memory)
    with pytest.raises(RuntimeError, match="Only row major orientation"):
        ops.max_pool2d(tensor, 2, 8, 8, 64, [2, 2], [2, 2], [0, 0], [1, 1])


@pytest.mark.parametrize(
    ("kind", "grid", "piece"),
    [(H, (4, 1), [256, 64]), (W, (2, 1), [1024, 32]), (B, (2, 4), [256, 32])],
)
def test_enlarged_images_stay_on_their_cores(one: MeshDevice, kind, grid: tuple[int, int], piece):
    memory = create_sharded_memory_config((1, 16, 16, 64), CoreGrid(x=grid[0], y=grid[1]), kind)
    images = ops.to_memory_config(put(one, np.ones((1, 16, 16, 64)), BF16, ROW), memory)
    found = ops.upsample(images, 2)
    spec = found.memory_config().shard_spec
    assert (list(spec.shape), spec.grid) == (piece, memory.shard_spec.grid)
    assert (held(found) == 1).all()


# Rows of a result, its channels, the side of a window, words; the scheme that the least L1 is held in, and its piece.
LEANEST: list[Any] = [
    ((1, 16, 32), (2, 2), {}, "HEIGHT", [1, 32]),
    ((1, 8, 32), (2, 2), {}, "WIDTH", [16, 16]),
    ((2, 16, 64), (2, 2), {}, "BLOCK", [16, 32]),
    ((1, 20, 96), (6, 3), {"output_layout": TILE}, "WIDTH", [32, 32]),
    ((1, 20, 320), (2, 2), {"output_layout": TILE, "dtype": BFP8}, "WIDTH", [128, 32]),
    ((1, 8, 16), (2, 2), {"output_layout": TILE}, "HEIGHT", [32, 32]),
    ((1, 8, 3), (2, 2), {}, "WIDTH", [16, 16]),
]


@pytest.mark.parametrize(("image", "window", "words", "scheme", "piece"), LEANEST)
def test_the_leanest_scheme_where_none_is_named(
    one: MeshDevice, image: Any, window: Any, words: dict[str, Any], scheme: str, piece: list[int]
):
    count, side, channels = image
    x = put(one, np.zeros((1, 1, count * side * side, channels)), BF16, ROW)
    sizes = (count, side, side, channels, [window[0]] * 2, [window[1]] * 2, [0, 0])
    found = ops.max_pool2d(x, *sizes, [1, 1], **words).memory_config()
    assert (found.memory_layout.name, list(found.shard_spec.shape)) == (f"{scheme}_SHARDED", piece)


@pytest.mark.parametrize(
    ("dtype", "words", "message"),
    [
        (F32, {}, "Only BFLOAT16 supported"),
        (BF16, {"dtype": F32}, "output data formats are supported"),
        (BF16, {"dtype": BFP8}, "not supported with ROW_MAJOR"),
        (BF16, {"memory_config": L1_HEIGHT_SHARDED_MEMORY_CONFIG}, "must have Shard Spec"),
    ],
)
def test_pools_that_are_refused(one: MeshDevice, dtype: Any, words: dict[str, Any], message: str):
    x = put(one, np.ones((1, 1, 64, 32)), dtype, ROW)
    with pytest.raises(RuntimeError, match=message):
        ops.max_pool2d(x, 1, 8, 8, 32, [2, 2], [2, 2], [0, 0], [1, 1], **words)
