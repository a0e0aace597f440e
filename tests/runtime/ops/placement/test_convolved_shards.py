"""Where convolutions leave their results, as reference library 0.81.1 answers on a grid of 8 x 8 cores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, BFP8, F32, ROW, TILE, held, put
from tests.sweep import thinned
from tt_run.runtime import catalog
from tt_run.runtime.enums import Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_HEIGHT_SHARDED_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    CoreGrid,
    ShardStrategy,
    create_sharded_memory_config,
)  # fmt: skip
from tt_run.runtime.tuning.conv import L1_FULL, Conv2dConfig, Op2DSliceConfig, SliceTypeEnum

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

H, W, B, FREE = (
    TensorMemoryLayout.HEIGHT_SHARDED,
    TensorMemoryLayout.WIDTH_SHARDED,
    TensorMemoryLayout.BLOCK_SHARDED,
    TensorMemoryLayout.INTERLEAVED,
)
Sizes = tuple[int, int, int, int, int, int, int, int]

# Images, side, channels, filters, kernel, step, border, groups; settings; the place, and the shard with its grid.
GIVEN: list[tuple[Sizes, dict[str, Any], TensorMemoryLayout, Any]] = [
    ((2, 14, 16, 32, 7, 1, 3, 1), {"shard_layout": H}, H, ([32, 32], "{[0-0 - 7-0], [0-1 - 4-1]}")),
    ((1, 4, 128, 16, 3, 1, 1, 4), {"shard_layout": W}, W, ([32, 32], "{[0-0 - 0-0]}")),
    ((1, 14, 128, 128, 3, 1, 0, 1), {"shard_layout": W}, W, ([160, 32], "{[0-0 - 3-0]}")),
    ((2, 56, 24, 96, 7, 2, 0, 1), {"shard_layout": H, "act_block_h_override": 32}, H, ([32, 96], "{[0-0 - 7-4]}")),
    ((1, 8, 160, 160, 3, 1, 0, 160), {"shard_layout": B}, B, ([32, 32], "{[0-0 - 4-1]}")),
    ((8, 14, 24, 320, 1, 1, 0, 1), {"shard_layout": B}, B, ([224, 320], "{[0-0 - 0-6]}")),
    ((8, 4, 160, 96, 1, 1, 0, 1), {"shard_layout": H, "output_layout": ROW}, H, ([32, 96], "{[0-0 - 3-0]}")),
    ((2, 64, 8, 768, 4, 4, 0, 1), {"shard_layout": B}, B, ([64, 192], "{[0-0 - 3-7]}")),
    ((1, 32, 3, 96, 2, 2, 0, 1), {"shard_layout": H}, H, ([32, 96], "{[0-0 - 7-0]}")),
]  # fmt: skip
CHOSEN: list[tuple[Sizes, dict[str, Any], TensorMemoryLayout, Any]] = [
    ((1, 28, 8, 128, 3, 2, 0, 1), {"output_layout": ROW}, B, ([32, 32], "{[0-0 - 3-5]}")),
    ((8, 14, 32, 64, 5, 1, 2, 1), {"weights_dtype": BFP8}, H, ([32, 64], "{[0-0 - 7-5], [0-6 - 0-6]}")),
    ((2, 32, 3, 320, 3, 1, 0, 1), {}, B, ([256, 64], "{[0-0 - 4-7]}")),
    ((2, 8, 512, 512, 3, 1, 1, 512), {"weights_dtype": BFP8}, B, ([32, 64], "{[0-0 - 7-3]}")),
    ((1, 4, 160, 160, 7, 1, 3, 160), {"weights_dtype": BF16}, W, ([32, 32], "{[0-0 - 4-0]}")),
    ((2, 14, 96, 16, 7, 1, 0, 1), {"weights_dtype": BFP8, "enable_weights_double_buffer": True}, B, ([32, 32], "{[0-0 - 0-3]}")),
    ((8, 15, 128, 128, 5, 1, 0, 1), {"weights_dtype": BF16, "config_tensors_in_dram": True}, B, ([128, 32], "{[0-0 - 3-7]}")),
    ((8, 16, 32, 24, 3, 1, 0, 4), {"weights_dtype": BFP8}, H, ([32, 32], "{[0-0 - 7-5], [0-6 - 0-6]}")),
    ((8, 16, 32, 128, 8, 8, 0, 1), {}, FREE, None),
    ((1, 15, 128, 64, 1, 1, 0, 4), {}, FREE, None),
]  # fmt: skip


def convolve(one: MeshDevice, sizes: Sizes, settings: dict[str, Any], images: Any = None, **more: Any) -> Any:
    count, side, channels, filters, kernel, step, border, groups = sizes
    sample = np.random.default_rng(1).standard_normal
    weights = sample((filters, channels // groups, kernel, kernel)).astype(np.float32)
    if images is None:
        images = put(one, sample((1, 1, count * side * side, channels)).astype(np.float32), BF16, ROW)
    conv2d = catalog.find("ttnn.conv2d")
    assert conv2d is not None
    return conv2d(
        input_tensor=images, weight_tensor=from_torch(weights, dtype=F32), device=one, in_channels=channels, out_channels=filters,
        bias_tensor=from_torch(np.ones((1, 1, 1, filters), np.float32), dtype=F32), batch_size=count, input_height=side,
        input_width=side, kernel_size=(kernel, kernel), stride=(step, step), padding=(border, border), groups=groups,
        conv_config=Conv2dConfig(**settings), **more,
    )  # fmt: skip


def place(tensor: Any) -> Any:
    spec = tensor.memory_config().shard_spec
    return None if spec is None else (list(spec.shape), str(spec.grid))


@pytest.mark.parametrize(("sizes", "settings", "layout", "shard"), thinned(GIVEN + CHOSEN, 3))
def test_images_in_l1_slide_on_the_cores_of_the_scheme(
    one: MeshDevice, sizes: Sizes, settings: dict[str, Any], layout: TensorMemoryLayout, shard: Any
) -> None:
    found = convolve(one, sizes, settings, slice_config=L1_FULL)
    assert found.memory_config().memory_layout is layout
    assert place(found) == shard
    sliced = convolve(one, sizes, {**settings, "shard_layout": None, "output_layout": TILE})
    assert sliced.memory_config() == DRAM_MEMORY_CONFIG
    assert np.array_equal(held(found), held(sliced))


def test_blocks_column_by_column(one: MeshDevice) -> None:
    found = convolve(
        one, (1, 14, 96, 512, 3, 2, 0, 1), {"shard_layout": B, "transpose_shards": True}, slice_config=L1_FULL
    )
    assert place(found) == ([32, 64], "{[0-0 - 1-7]}")
    assert found.memory_config().shard_spec.orientation is ShardOrientation.COL_MAJOR


def test_images_on_cores_stay_there_but_where_a_call_moves_them(one: MeshDevice) -> None:
    x = np.random.default_rng(2).standard_normal((1, 1, 512, 32)).astype(np.float32)
    memory = create_sharded_memory_config(x.shape, CoreGrid(x=8, y=2), ShardStrategy.HEIGHT)
    images = ops.to_memory_config(put(one, x, BF16, ROW), memory)
    sizes: Sizes = (2, 16, 32, 64, 3, 1, 1, 1)
    assert place(convolve(one, sizes, {}, images)) == ([32, 64], "{[0-0 - 7-1]}")
    few = create_sharded_memory_config(x.shape, CoreGrid(x=8, y=1), ShardStrategy.HEIGHT)
    on_few = ops.to_memory_config(put(one, x, BF16, ROW), few)
    assert place(convolve(one, sizes, {}, on_few)) == ([64, 64], "{[0-0 - 7-0]}")
    halved = convolve(one, (2, 16, 32, 64, 3, 2, 1, 1), {}, images)
    assert place(halved) == ([32, 64], "{[0-0 - 7-1]}")
    flat = convolve(one, (2, 8, 64, 96, 1, 1, 0, 1), {"shard_layout": H}, halved)
    assert place(flat) == ([32, 96], "{[0-0 - 3-0]}")  # a product takes no cores that have no rows
    moved = convolve(one, sizes, {"shard_layout": H, "reshard_if_not_optimal": True}, on_few)
    assert place(moved) == ([32, 64], "{[0-0 - 7-1]}")


def test_rows_on_cores_have_the_padding_of_tiles(one: MeshDevice) -> None:
    sizes: Sizes = (1, 9, 16, 8, 3, 1, 0, 1)
    for scheme, piece in ((H, [32, 32]), (B, [32, 32]), (W, [64, 32])):
        settings = {"shard_layout": scheme, "output_layout": ROW}
        found = convolve(one, sizes, settings, slice_config=L1_FULL)
        assert place(found)[0] == piece
        assert (list(found.shape), list(found.padded_shape)) == ([1, 1, 49, 8], [1, 1, 64, 32])
        assert found.volume() == 64 * 32
        there = found.memory_config()
        same = [ops.to_layout(found, ROW), ops.to_memory_config(found, there), ops.from_device(found)]
        assert {tuple(other.padded_shape) for other in [*same, ops.tilize(found)]} == {(1, 1, 64, 32)}
        moved = convolve(one, sizes, settings, slice_config=L1_FULL, memory_config=DRAM_MEMORY_CONFIG)
        assert moved.padded_shape == moved.shape
    with pytest.raises(RuntimeError, match="must have Shard Spec"):
        convolve(one, sizes, {}, slice_config=L1_FULL, memory_config=L1_HEIGHT_SHARDED_MEMORY_CONFIG)


@pytest.mark.listening  # an operand that is gone cannot be computed a second time
def test_images_in_l1_are_given_back_where_the_configuration_says_so(one: MeshDevice) -> None:
    sizes: Sizes = (1, 8, 32, 32, 3, 1, 1, 1)
    x = np.ones((1, 1, 64, 32), np.float32)
    for place_of_images, kept in ((L1_MEMORY_CONFIG, False), (DRAM_MEMORY_CONFIG, True)):
        images = ops.to_memory_config(put(one, x, BF16, ROW), place_of_images)
        convolve(one, sizes, {"shard_layout": H, "deallocate_activation": True}, images, slice_config=L1_FULL)
        assert images.is_allocated() is kept
        again = ops.to_memory_config(put(one, x, BF16, ROW), place_of_images)
        ops.max_pool2d(again, 1, 8, 8, 32, [2, 2], [2, 2], [0, 0], [1, 1], deallocate_input=True)
        assert again.is_allocated() is kept


def test_what_slides_out_of_dram_comes_there_and_in_rows_only_out_of_several_slices(one: MeshDevice) -> None:
    sizes: Sizes = (1, 16, 8, 32, 3, 1, 1, 1)
    once, twice = (
        {"slice_config": Op2DSliceConfig(slice_type=SliceTypeEnum.DRAMSliceHeight, num_slices=count)}
        for count in (1, 2)
    )
    for more, layout in (
        ({}, TILE), (once, TILE), (twice, ROW), ({"memory_config": L1_MEMORY_CONFIG}, TILE),
    ):  # fmt: skip
        found = convolve(one, sizes, {"shard_layout": H, "output_layout": ROW}, **more)
        assert found.memory_config() == DRAM_MEMORY_CONFIG
        assert found.layout is layout
    plain = convolve(one, sizes, {"shard_layout": H}, **twice)
    assert plain.layout is TILE
    asked = convolve(one, sizes, {"shard_layout": H}, slice_config=L1_FULL, memory_config=L1_MEMORY_CONFIG)
    assert asked.memory_config() == L1_MEMORY_CONFIG


@pytest.mark.parametrize(
    ("scheme", "channels", "side", "layout"),
    [(W, 32, 30, TILE), (W, 32, 31, ROW), (W, 512, 30, TILE), (W, 512, 31, ROW), (B, 64, 192, TILE), (B, 64, 224, ROW)],
)  # fmt: skip
def test_images_are_sliced_where_a_core_has_no_room_for_them(
    one: MeshDevice, scheme: Any, channels: int, side: int, layout: Layout
) -> None:
    sizes: Sizes = (1, side, channels, 64, 3, 1, 1, 1)
    assert convolve(one, sizes, {"shard_layout": scheme, "output_layout": ROW}).layout is layout


def test_images_on_the_host_go_where_they_say_that_they_lie(one: MeshDevice) -> None:
    sizes: Sizes = (1, 16, 32, 64, 3, 1, 1, 1)
    x = np.ones((1, 1, 256, 32), np.float32)
    for memory, there in ((L1_MEMORY_CONFIG, ([32, 64], "{[0-0 - 7-0]}")), (DRAM_MEMORY_CONFIG, None)):
        found = convolve(one, sizes, {"shard_layout": H}, from_torch(x, dtype=BF16, memory_config=memory))
        assert found.memory_config() == DRAM_MEMORY_CONFIG if there is None else place(found) == there


def test_slices_that_no_result_has_are_refused(one: MeshDevice) -> None:
    sizes: Sizes = (1, 16, 32, 64, 3, 2, 1, 1)
    by_rows, by_columns = SliceTypeEnum.DRAMSliceHeight, SliceTypeEnum.DRAMSliceWidth
    for kind, layout, count, most in (
        (by_rows, TILE, 9, 8),
        (by_columns, TILE, 2, 1),
        (by_columns, ROW, 9, 8),
    ):
        sliced = Op2DSliceConfig(slice_type=kind, num_slices=count)
        with pytest.raises(
            RuntimeError, match=rf"Number of slices \({count}\) exceeds the maximum allowed \({most}\)"
        ):
            convolve(one, sizes, {"output_layout": layout}, slice_config=sliced)
    in_l1 = ops.to_memory_config(put(one, np.ones((1, 1, 256, 32), np.float32), BF16, ROW), L1_MEMORY_CONFIG)
    with pytest.raises(RuntimeError, match=r"Conv DRAM expects the input tensor to be in DRAM"):
        convolve(one, sizes, {}, in_l1, slice_config=Op2DSliceConfig(slice_type=by_rows, num_slices=2))


def test_transposed_convolutions_slide_whole_in_fewer_than_two_slices(one: MeshDevice) -> None:
    x = put(one, np.ones((1, 1, 256, 32), np.float32), BF16, ROW)
    filters = from_torch(np.ones((32, 32, 3, 3), np.float32), dtype=BF16)

    def found(images: Any, layout: Layout, **slicing: Any) -> Any:
        return ops.conv_transpose2d(
            input_tensor=images, weight_tensor=filters, device=one, in_channels=32, out_channels=32, batch_size=1, input_height=16,
            input_width=16, kernel_size=(3, 3), padding=(1, 1), conv_config=Conv2dConfig(output_layout=layout, shard_layout=B),
            dram_slice_config=Op2DSliceConfig(**slicing),
        )  # fmt: skip

    by_rows, by_columns = SliceTypeEnum.DRAMSliceHeight, SliceTypeEnum.DRAMSliceWidth
    for kind in (by_rows, by_columns):
        for count in (0, 1):
            result = found(x, ROW, slice_type=kind, num_slices=count)
            assert (result.layout, place(result)) == (ROW, ([32, 32], "{[0-0 - 0-7]}"))
        sliced = found(x, ROW, slice_type=kind, num_slices=2)
        assert (sliced.layout, sliced.memory_config()) == (ROW, DRAM_MEMORY_CONFIG)
    with pytest.raises(RuntimeError, match=r"Number of slices \(2\) exceeds the maximum allowed \(1\)"):
        found(x, TILE, slice_type=by_columns, num_slices=2)
    in_l1 = ops.to_memory_config(x, L1_MEMORY_CONFIG)
    with pytest.raises(RuntimeError, match=r"Conv DRAM expects the input tensor to be in DRAM"):
        found(in_l1, ROW, slice_type=by_rows, num_slices=2)


def test_sequences_are_sliced_along_their_length(one: MeshDevice) -> None:
    x = put(one, np.ones((1, 1, 64, 32), np.float32), BF16, ROW)
    filters = from_torch(np.ones((32, 32, 3), np.float32), dtype=BF16)

    def found(kind: SliceTypeEnum, count: int, layout: Layout) -> Any:
        return ops.conv1d(
            input_tensor=x, weight_tensor=filters, device=one, in_channels=32, out_channels=32, batch_size=1, input_length=64,
            kernel_size=3, padding=1, conv_config=Conv2dConfig(output_layout=layout),
            slice_config=Op2DSliceConfig(slice_type=kind, num_slices=count),
        )  # fmt: skip

    by_length = SliceTypeEnum.DRAMSliceWidth
    assert [found(by_length, n, ROW).layout for n in (1, 2, 4)] == [TILE, ROW, ROW]
    assert found(by_length, 2, TILE).layout is TILE
    with pytest.raises(RuntimeError, match=r"Number of slices \(4\) exceeds the maximum allowed \(2\)"):
        found(by_length, 4, TILE)
    with pytest.raises(RuntimeError, match=r"Conv1D does not support DRAM_HEIGHT slicing"):
        found(SliceTypeEnum.DRAMSliceHeight, 1, ROW)
