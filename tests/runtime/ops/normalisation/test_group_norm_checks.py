"""What group norms refuse, in the reference's words. Source: reference library 0.81.1."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, put
from tt_run.runtime import catalog, ops
from tt_run.runtime.cores import CoreGrid
from tt_run.runtime.enums import ShardStrategy
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    create_sharded_memory_config,
)


def images(device: MeshDevice, *shape: int, **words: Any) -> Any:
    return put(
        device,
        np.ones(shape or (1, 1, 64, 64), np.float32),
        words.get("dtype", BF16),
        words.get("layout", TILE),
    )


@pytest.mark.parametrize(
    ("shape", "words", "message"),
    [
        ((1, 64, 64), {}, "Input tensor must have rank 4. (rank=3)"),
        ((1, 1, 64, 64), {"num_groups": 5}, "Number of channels (64) must be divisible by the number of groups (5)."),
        ((1, 1, 64, 48), {"num_groups": 3}, "channel must be divisible by num_groups!"),
        ((1, 2, 64, 64), {}, "input tensor shape[1] must be 1!"),
        ((1, 1, 64, 64), {"dtype": F32}, "output dtype must match input dtype (DataType::BFLOAT16), got dtype=DataType::FLOAT32"),
        ((1, 1, 64, 64), {"inplace": True}, "Tile layout requires non-inplace tensors. (inplace=true)"),
        ((1, 1, 64, 64), {"num_out_blocks": 1}, "num_out_blocks cannot be specified when core_grid is auto-selected"),
        ((1, 1, 64, 64), {"core_grid": CoreGrid(x=1, y=1), "num_out_blocks": -2}, "num_out_blocks (-2) is invalid"),
        ((1, 1, 64, 64), {"core_grid": CoreGrid(x=1, y=1), "num_out_blocks": 3}, "num_out_blocks (3) must be in [1, block_h (2)]"),
        ((1, 1, 64, 64), {"core_grid": CoreGrid(x=1, y=1), "num_out_blocks": 2}, ""),
        ((1, 1, 64, 64), {"core_grid": CoreGrid(x=1, y=3)}, "Requested core_grid (x=1, y=3) is invalid for the input dimensions"),
        ((3, 1, 64, 64), {"core_grid": CoreGrid(x=1, y=3)}, ""),
        ((3, 1, 128, 64), {"core_grid": CoreGrid(x=1, y=4)}, "The largest valid grid that fits is (x=1, y=3)."),
    ],
)  # fmt: skip
def test_images_and_grids(
    one: MeshDevice, shape: tuple[int, ...], words: dict[str, Any], message: str
) -> None:
    words = {"num_groups": 2, "inplace": False, **words}
    if not message:
        assert ops.group_norm(images(one, *shape), **words).shape == shape
        return
    with pytest.raises(RuntimeError, match=re.escape(message)):
        ops.group_norm(images(one, *shape), **words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"weight": ((1, 1, 1, 64), BF16, ROW)}, "Gamma tensor inner dimension must equal tile width (32), got: 64"),
        ({"bias": ((1, 1, 1, 64), BF16, TILE)}, "Beta tensor must have ROW_MAJOR layout"),
        ({"weight": ((1, 1, 2, 32), BF16, ROW), "bias": ((1, 1, 1, 64), BF16, TILE)}, "Gamma and beta must have the same layout"),
        ({"weight": ((1, 1, 1, 64), BF16, TILE), "bias": ((1, 1, 1, 64), F32, TILE)}, "Gamma and beta must have the same dtype"),
        ({"weight": ((1, 1, 1, 64), I32, TILE)}, "floating-point"),
        ({"input_mask": ((1, 2, 32, 32), BF16, ROW)}, "Input mask must have TILE layout"),
        ({"input_mask": ((1, 3, 32, 32), BF16, TILE)}, "Input mask dim1 must be 2 (num_groups=2), got: 3"),
        ({"negative_mask": ((1, 2, 32, 32), BF16, ROW)}, "Negative mask must have TILE layout"),
        ({"negative_mask": ((1, 3, 32, 32), BF16, TILE)}, "padded shape[1] must be equal to num_groups, but is 3 and num_groups is 2"),
        ({"negative_mask": ((1, 2, 32, 32), BF16, TILE)}, "only available for sharded input tensors"),
    ],
)  # fmt: skip
def test_parameters_and_masks(one: MeshDevice, words: dict[str, Any], message: str) -> None:
    given = {word: put(one, np.ones(shape, np.float32), dtype, layout) for word, (shape, dtype, layout) in words.items()}  # fmt: skip
    with pytest.raises(RuntimeError, match=re.escape(message)):
        ops.group_norm(images(one), num_groups=2, inplace=False, **given)


def test_rows(one: MeshDevice) -> None:
    """On Wormhole they are taken where they are not cut over cores; nothing is written over there."""
    plain = images(one, layout=ROW)
    assert ops.group_norm(plain, num_groups=2, inplace=False).layout is ROW
    for words, message in (
        ({"use_welford": True}, "ROW_MAJOR interleaved input/output is not supported on the SFPU two-pass path yet"),
        ({"inplace": True}, "inplace groupnorm not supported for unsharded tensors"),
        ({"inplace": True, "output_layout": TILE}, "Input and output tensor layouts differ"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=re.escape(message)):
            ops.group_norm(plain, num_groups=2, **{"inplace": False, **words})
    with pytest.raises(RuntimeError, match=r"The product of NHW dimensions \(33\)"):
        ops.group_norm(images(one, 1, 1, 33, 64, layout=ROW), num_groups=2, inplace=False)


def test_cut_over_cores(one: MeshDevice) -> None:
    cut = catalog.find("ttnn.to_memory_config")
    assert cut is not None
    grid = CoreGrid(x=2, y=1)
    wide = create_sharded_memory_config([1, 1, 64, 64], grid, ShardStrategy.WIDTH)
    with pytest.raises(RuntimeError, match="Input tensor cannot be width-sharded"):
        ops.group_norm(cut(images(one), wide), num_groups=2, inplace=False)
    tall = create_sharded_memory_config([1, 1, 64, 64], grid, ShardStrategy.HEIGHT)
    mask = images(one, 1, 2, 32, 32)
    for layout, words, message in (
        (TILE, {}, "If using negative mask, input tensor must be in ROW_MAJOR layout, but layout is Layout::TILE"),
        (ROW, {"output_layout": TILE}, "If using negative mask, output tensor must be in ROW_MAJOR layout"),
        (ROW, {"use_welford": True}, "Negative mask is not supported with use_welford=True."),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=re.escape(message)):
            ops.group_norm(cut(images(one, layout=layout), tall), num_groups=2, inplace=False, negative_mask=mask, **words)  # fmt: skip
    assert ops.group_norm(cut(images(one, layout=ROW), tall), num_groups=2, negative_mask=mask).shape == (
        1,
        1,
        64,
        64,
    )


def test_a_result_beside_an_operand_in_l1_lies_in_dram(one: MeshDevice) -> None:
    tensor = ops.to_memory_config(images(one), L1_MEMORY_CONFIG)
    found = [
        ops.group_norm(tensor, num_groups=2, inplace=False, **words).memory_config()
        for words in ({}, {"memory_config": L1_MEMORY_CONFIG})
    ]
    assert found == [DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG]
