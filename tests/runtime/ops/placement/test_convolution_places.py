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
