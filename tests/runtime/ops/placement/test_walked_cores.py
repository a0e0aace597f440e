"""Cores that windows slide over: which ones reference library 0.81.1 takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, ROW, held, put
from tt_run.runtime import catalog
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.tuning.conv import Conv2dConfig

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

HIGH, WIDE, CHANNELS = 16, 24, 128
PIXELS = HIGH * WIDE
H, W, B = (
    TensorMemoryLayout.HEIGHT_SHARDED,
    TensorMemoryLayout.WIDTH_SHARDED,
    TensorMemoryLayout.BLOCK_SHARDED,
)
GRIDS: dict[str, list[tuple[int, int, int, int]]] = {
    "a row": [(0, 0, 3, 0)],
    "a column": [(0, 0, 0, 3)],
    "a square": [(0, 0, 1, 1)],
    "a row and more": [(0, 0, 2, 0), (0, 1, 0, 1)],
    "two parts": [(0, 0, 1, 0), (2, 0, 3, 0)],
    "behind": [(1, 0, 4, 0)],
    "below": [(0, 1, 3, 1)],
    "less and more": [(0, 0, 0, 0), (0, 1, 2, 1)],
    "the second first": [(0, 1, 1, 1), (0, 0, 1, 0)],
    "a gap": [(0, 0, 1, 0), (3, 0, 4, 0)],
    "a square within": [(1, 1, 2, 2)],
}
WALK, COLUMNS = "Sliding-window shard grid core", "Only row major orientation is supported."
FREE = "supports Height, Block or Width Sharded Layouts but got TensorMemoryLayout::INTERLEAVED"
SENT = "Multicast runtime arguments target an unplaced core"

# A cut, its cores, whether they are counted by columns; what a pool and a convolution say of it.
CUTS: list[tuple[TensorMemoryLayout, str, bool, str | None, str | None]] = [
    (H, "a row", False, None, None),
    (H, "a column", False, None, None),
    (H, "a square", False, None, None),
    (H, "a row and more", False, None, None),
    (H, "two parts", False, None, None),
    (H, "behind", False, WALK, WALK),
    (H, "below", False, WALK, WALK),
    (H, "less and more", False, WALK, WALK),
    (H, "the second first", False, WALK, WALK),
    (H, "a gap", False, WALK, WALK),
    (H, "a row", True, COLUMNS, FREE),
    (W, "a row", False, None, None),
    (W, "a row", True, COLUMNS, FREE),
    (W, "a square", False, None, SENT),
    (W, "behind", False, WALK, WALK),
    (B, "a square", False, None, None),
    (B, "a square", True, COLUMNS, None),
    (B, "a square within", False, WALK, WALK),
    (B, "a square within", True, COLUMNS, WALK),
]


def _place(cut: TensorMemoryLayout, cores: str, by_column: bool) -> MemoryConfig:
    grid = CoreRangeSet([CoreRange(CoreCoord(a, b), CoreCoord(c, d)) for a, b, c, d in GRIDS[cores]])
    count = grid.num_cores()
    shares = {H: (count, 1), W: (1, count), B: (2, 2)}[cut]
    orientation = ShardOrientation.COL_MAJOR if by_column else ShardOrientation.ROW_MAJOR
    spec = ShardSpec(grid, [PIXELS // shares[0], CHANNELS // shares[1]], orientation)
    return MemoryConfig(cut, BufferType.L1, spec)


def _images(one: MeshDevice, place: MemoryConfig | None = None, layout: Layout = ROW) -> Any:
    values = (np.arange(PIXELS * CHANNELS) % 53).reshape(1, 1, PIXELS, CHANNELS)
    images = put(one, values, BF16, layout)
    return images if place is None else ops.to_memory_config(images, place)


def _pooled(images: Any) -> Any:
    return ops.max_pool2d(
        images, 1, HIGH, WIDE, CHANNELS, kernel_size=[3, 3], stride=[1, 1], padding=[1, 1], dilation=[1, 1]
    )


def _convolved(one: MeshDevice, images: Any, size: int = 3, config: Conv2dConfig | None = None) -> Any:
    conv2d = catalog.find("ttnn.conv2d")
    assert conv2d is not None
    return conv2d(
        input_tensor=images,
        weight_tensor=from_torch(np.ones((32, CHANNELS, size, size), np.float32), BF16),
        in_channels=CHANNELS,
        out_channels=32,
        device=one,
        kernel_size=(size, size),
        stride=(1, 1),
        padding=(size // 2, size // 2),
        batch_size=1,
        input_height=HIGH,
        input_width=WIDE,
        conv_config=config,
    )


@pytest.mark.parametrize(("cut", "cores", "by_column", "pool", "convolution"), CUTS)
def test_windows_slide_over_cores_in_rows(
    one: MeshDevice,
    cut: TensorMemoryLayout,
    cores: str,
    by_column: bool,
    pool: str | None,
    convolution: str | None,
):
    images = _images(one, _place(cut, cores, by_column))
    calls = ((pool, _pooled), (convolution, lambda x: _convolved(one, x)))
    for said, call in calls:
        if said:
            with pytest.raises(RuntimeError, match=said):
                call(images)
        else:
            assert np.array_equal(held(call(images)), held(call(_images(one))))


def test_a_refusal_says_which_core_is_elsewhere(one: MeshDevice):
    with pytest.raises(
        RuntimeError, match="core 1 is 0-1 but the origin-anchored row walk addresses it as 1-0"
    ):
        _pooled(_images(one, _place(H, "less and more", False)))


def test_images_that_are_brought_to_other_cores_come_from_any(one: MeshDevice):
    wanted = held(_convolved(one, _images(one)))
    for cut, cores, by_column in ((H, "behind", False), (H, "a row", True), (W, "a square", False)):
        images = _images(one, _place(cut, cores, by_column))
        config = Conv2dConfig(shard_layout=H, reshard_if_not_optimal=True)
        assert np.array_equal(held(_convolved(one, images, config=config)), wanted)


@pytest.mark.parametrize(
    ("cores", "found"),
    [
        ("less and more", "{[0-0 - 2-0], [0-1 - 0-1]}"),
        ("the second first", "{[0-0 - 1-1]}"),
        ("two parts", "{[0-0 - 3-0]}"),
        ("a gap", "{[0-0 - 3-0]}"),
    ],
)
def test_a_product_lies_on_cores_in_rows(one: MeshDevice, cores: str, found: str):
    placed = _convolved(one, _images(one, _place(H, cores, False)), 1).memory_config()
    assert str(placed.shard_spec.grid) == found


def test_a_product_begins_at_the_first_core(one: MeshDevice):
    for cut, cores, said in (
        (
            H,
            "behind",
            r"MultiCast1DProgramConfig: output shard grid \{\[1-0 - 4-0\]\} must lie within extent 4-1",
        ),
        (
            B,
            "a square within",
            r"MultiCastProgramConfig: output shard grid \{\[1-1 - 2-2\]\} must lie within extent 2-2",
        ),
    ):
        with pytest.raises(RuntimeError, match=said):
            _convolved(one, _images(one, _place(cut, cores, False)), 1)


def test_smooth_images_grow_over_cores_in_rows(one: MeshDevice):
    images = ops.reshape(_images(one), (1, HIGH, WIDE, CHANNELS))
    for cores, by_column, said in (
        ("a square", False, None),
        ("a column", True, None),
        ("a square", True, WALK),
        ("behind", False, WALK),
    ):
        cut = ops.to_memory_config(images, _place(H, cores, by_column))
        if said:
            with pytest.raises(RuntimeError, match=said):
                ops.upsample(cut, 2, mode="bilinear")
            continue
        assert np.array_equal(
            held(ops.upsample(cut, 2, mode="bilinear")), held(ops.upsample(images, 2, mode="bilinear"))
        )


def test_images_cut_by_channels_are_not_read_at_places(one: MeshDevice):
    images = ops.to_memory_config(
        ops.reshape(_images(one), (1, HIGH, WIDE, CHANNELS)), _place(W, "a row", False)
    )
    with pytest.raises(RuntimeError, match="must have INTERLEAVED or HEIGHT_SHARDED memory layout"):
        ops.grid_sample(images, put(one, np.zeros((1, 4, 4, 2)), BF16, ROW))


def test_folded_images_keep_how_their_cores_are_counted(one: MeshDevice):
    grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(5, 1))])
    place = MemoryConfig(
        H, BufferType.L1, ShardSpec(grid, [PIXELS // 12, CHANNELS], ShardOrientation.COL_MAJOR)
    )
    images = ops.to_memory_config(ops.reshape(_images(one), (1, HIGH, WIDE, CHANNELS)), place)
    spec = ops.fold(images, 2, 2).memory_config().shard_spec
    assert (str(spec.grid), list(spec.shape)) == ("{[0-0 - 7-0]}", [12, 512])
    assert spec.orientation is ShardOrientation.COL_MAJOR
