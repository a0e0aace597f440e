"""Where pools leave their results, as reference library 0.81.1 answers on a grid of 8 x 8 cores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, BFP8, F32, ROW, TILE, put
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import (
    L1_HEIGHT_SHARDED_MEMORY_CONFIG,
    ShardStrategy,
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
