"""Where convolutions leave their results, as reference library 0.81.1 answers on a grid of 8 x 8 cores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, ROW, TILE, put
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_HEIGHT_SHARDED_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    ShardSpec,
)
from tt_run.runtime.tuning.conv import L1_FULL, Conv2dConfig

pytest.importorskip("torch")
pytestmark = pytest.mark.torch

H, W, B = (TensorMemoryLayout[f"{kind}_SHARDED"] for kind in ("HEIGHT", "WIDTH", "BLOCK"))


def cut(
    kind: Any, end: tuple[int, int], piece: tuple[int, int], buffer: BufferType = BufferType.L1
) -> MemoryConfig:
    cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(*end))])
    return MemoryConfig(kind, buffer, ShardSpec(cores, piece, ShardOrientation.ROW_MAJOR))


def convolved(one: MeshDevice, memory: MemoryConfig | None, side: int, step: int, **words: Any) -> Any:
    x = put(one, np.ones((1, 1, 256, 32)), BF16, ROW)
    x = x if memory is None else ops.to_memory_config(x, memory)
    weights = put(one, np.ones((64, 32, side, side)), BF16, ROW)
    edge = side // 2
    return ops.conv2d(
        input_tensor=x, weight_tensor=weights, device=one, in_channels=32, out_channels=64, batch_size=1, input_height=16,
        input_width=16, kernel_size=(side, side), stride=(step, step), padding=(edge, edge), **words,
    )  # fmt: skip


RM = Conv2dConfig(output_layout=ROW)
# Where the images lie, the side of the window, its step, words; the layout and place of the result.
PLACES: list[Any] = [
    (None, 3, 1, {"memory_config": L1_MEMORY_CONFIG, "conv_config": RM}, TILE, DRAM_MEMORY_CONFIG),
    (None, 1, 1, {"memory_config": L1_MEMORY_CONFIG, "conv_config": RM}, TILE, L1_MEMORY_CONFIG),
    (L1_MEMORY_CONFIG, 1, 1, {}, TILE, DRAM_MEMORY_CONFIG),
    (None, 1, 1, {"conv_config": Conv2dConfig(shard_layout=H)}, TILE, cut(H, (7, 0), (32, 64))),
    (None, 1, 1, {"conv_config": Conv2dConfig(shard_layout=B)}, TILE, cut(B, (0, 7), (32, 64))),
    (None, 1, 1, {"conv_config": Conv2dConfig(shard_layout=W)}, TILE, DRAM_MEMORY_CONFIG),
    (None, 3, 1, {"memory_config": L1_MEMORY_CONFIG, "slice_config": L1_FULL, "conv_config": RM}, ROW, L1_MEMORY_CONFIG),
    (cut(H, (3, 0), (64, 32)), 3, 2, {"conv_config": RM}, ROW, cut(H, (3, 0), (32, 64))),
    (cut(H, (2, 0), (96, 32)), 3, 1, {}, TILE, cut(H, (2, 0), (96, 64))),
    (cut(B, (0, 3), (64, 32)), 3, 1, {}, TILE, cut(B, (1, 3), (64, 32))),
    (cut(B, (0, 3), (64, 32)), 1, 1, {"conv_config": RM}, TILE, cut(B, (0, 3), (64, 64))),
    (cut(W, (0, 0), (256, 32)), 3, 2, {}, TILE, cut(W, (1, 0), (64, 32))),
]  # fmt: skip


@pytest.mark.parametrize(("memory", "side", "step", "words", "layout", "place"), PLACES)
def test_the_layout_and_place_of_a_result(
    one: MeshDevice,
    memory: Any,
    side: int,
    step: int,
    words: dict[str, Any],
    layout: Any,
    place: MemoryConfig,
):
    found = convolved(one, memory, side, step, **words)
    assert (found.layout, found.memory_config()) == (layout, place)


@pytest.mark.parametrize(
    ("memory", "side", "words", "message"),
    [
        (cut(H, (3, 0), (64, 32), BufferType.DRAM), 3, {}, "should be in Interleaved Memory Layout"),
        (cut(W, (0, 0), (256, 32)), 1, {}, "Unsupported memory layout"),
        (cut(W, (1, 0), (256, 16)), 3, {}, "supports Height, Block or Width Sharded Layouts"),
        (cut(H, (3, 0), (64, 32)), 3, {"conv_config": Conv2dConfig(reshard_if_not_optimal=True)}, "supports Height"),
        (None, 1, {"memory_config": L1_HEIGHT_SHARDED_MEMORY_CONFIG}, "must have Shard Spec"),
    ],
)  # fmt: skip
def test_cuts_that_are_refused(one: MeshDevice, memory: Any, side: int, words: dict[str, Any], message: str):
    with pytest.raises(RuntimeError, match=message):
        convolved(one, memory, side, 1, **words)


INTERLEAVED, CROOKED = "but got TensorMemoryLayout::INTERLEAVED", "must be tile {32, 32} sized"
PRODUCTS: list[Any] = [  # the images, the configuration, and the place of the result or what is refused
    (cut(W, (1, 0), (256, 32)), ROW, {"shard_layout": H, "reshard_if_not_optimal": True}, cut(H, (7, 0), (32, 32))),
    (cut(W, (1, 0), (256, 32)), TILE, {"shard_layout": B, "reshard_if_not_optimal": True}, cut(B, (0, 7), (32, 32))),
    (cut(W, (3, 0), (256, 16)), ROW, {"shard_layout": H}, cut(H, (7, 0), (32, 32))),
    (cut(W, (1, 0), (256, 32)), ROW, {"shard_layout": H}, "Unsupported memory layout TensorMemoryLayout::WIDTH_SHARDED"),
    (cut(H, (7, 7), (4, 64)), ROW, {"shard_layout": B}, CROOKED),
    (cut(B, (3, 7), (32, 16)), ROW, {"shard_layout": B, "reshard_if_not_optimal": True}, CROOKED),
    (cut(H, (7, 7), (4, 64)), ROW, {"shard_layout": H}, cut(H, (7, 0), (32, 32))),
    (cut(B, (1, 7), (32, 32)), ROW, {}, cut(B, (1, 7), (32, 32))),
    (cut(B, (3, 7), (32, 16)), ROW, {}, INTERLEAVED),
]  # fmt: skip


@pytest.mark.parametrize(("memory", "layout", "words", "found"), PRODUCTS)
def test_images_on_cores_that_a_window_of_one_pixel_takes(
    one: MeshDevice, memory: MemoryConfig, layout: Any, words: dict[str, Any], found: Any
):
    def run() -> Any:
        x = ops.to_memory_config(put(one, np.ones((1, 1, 256, 64)), BF16, layout), memory)
        return ops.conv2d(
            input_tensor=x, weight_tensor=put(one, np.ones((32, 64, 1, 1)), BF16, ROW), device=one, in_channels=64, out_channels=32,
            batch_size=1, input_height=16, input_width=16, kernel_size=(1, 1), conv_config=Conv2dConfig(**words),
        )  # fmt: skip

    if isinstance(found, str):
        with pytest.raises(RuntimeError) as caught:
            run()
        assert found in str(caught.value)
    else:
        assert run().memory_config() == found


@pytest.mark.parametrize(
    ("channels", "memory", "words", "place"),
    [
        (16, cut(H, (7, 7), (4, 16)), {"shard_layout": W}, cut(H, (7, 7), (32, 32))),
        (80, cut(H, (7, 7), (4, 80)), {"shard_layout": H}, cut(H, (7, 7), (32, 96))),
        (64, cut(B, (3, 7), (32, 16)), {"shard_layout": H}, cut(B, (1, 7), (32, 32))),
        (64, cut(B, (3, 7), (32, 16)), {}, cut(B, (1, 7), (32, 32))),
    ],
)
def test_channels_by_themselves_stay_on_the_cores_of_their_images(
    one: MeshDevice, channels: int, memory: MemoryConfig, words: dict[str, Any], place: MemoryConfig
):
    x = ops.to_memory_config(put(one, np.ones((1, 1, 256, channels)), BF16, ROW), memory)
    found = ops.conv2d(
        input_tensor=x, weight_tensor=put(one, np.ones((channels, 1, 3, 3)), BF16, ROW), device=one, in_channels=channels,
        out_channels=channels, batch_size=1, input_height=16, input_width=16, kernel_size=(3, 3), padding=(1, 1), groups=channels,
        conv_config=Conv2dConfig(**words),
    )  # fmt: skip
    assert found.memory_config() == place
