"""What `minimal_matmul` refuses, as recorded from the reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, BFP8, F32, ROW, put
from tt_run.runtime import catalog
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tuning.matmul import MinimalMatmulConfig

ONES = np.ones((64, 64), np.float32)


def blocks(m: int, k: int, n: int, high: int = 1, wide: int = 1, grid: tuple[int, int] = (8, 8)) -> Any:
    return MinimalMatmulConfig(
        M_block_size=m, K_block_size=k, N_block_size=n, subblock_h=high, subblock_w=wide, compute_with_storage_grid_size=grid
    )  # fmt: skip


@pytest.mark.parametrize(
    ("types", "others", "words"),
    [
        ((F32, F32), {}, "grow to 1940832 B which is beyond max L1 size of 1499136 B"),
        ((F32, BF16), {}, "grow to 1678688 B"),
        ((F32, BFP8), {}, "grow to 1555808 B"),
        ((F32, F32), {"dtype": BFP8}, "grow to 1555808 B"),
        ((F32, F32), {"bias": BF16}, "grow to 1957216 B"),
        ((F32, F32), {"fuse_swiglu": True}, "grow to 1678688 B"),
        ((BF16, BF16), {"config": blocks(16, 16, 16)}, "grow to 4300128 B"),
        ((BF16, BF16), {"config": blocks(8, 8, 8, 4, 4)}, "subblock_h * subblock_w must be <= max_dest_volume"),
        ((BF16, BF16), {"config": blocks(8, 8, 8, 3)}, "M_block_size (8) must be divisible by subblock_h (3)"),
        ((BF16, BF16), {"config": blocks(8, 8, 8, grid=(99, 8))}, "compute_with_storage_grid_size must be <= device grid size"),
    ],
)  # fmt: skip
def test_blocks_without_room(one: MeshDevice, types: Any, others: dict[str, Any], words: str):
    product: Any = catalog.find("ttnn.experimental.minimal_matmul")
    x, w = (put(one, ONES, dtype) for dtype in types)
    if "bias" in others:
        others = {"bias_tensor": put(one, ONES[:1], others["bias"])}
    with pytest.raises(RuntimeError) as caught:
        product(x, w, **others)
    assert words in str(caught.value)


def test_operands_that_do_not_fit(one: MeshDevice):
    product: Any = catalog.find("ttnn.experimental.minimal_matmul")
    x = put(one, ONES, BF16)
    with pytest.raises(RuntimeError, match="requires TILE layout for activation and weight"):
        product(put(one, ONES, BF16, ROW), x)
    with pytest.raises(RuntimeError, match="inner dimensions must match, got K=64 and K_w=32"):
        product(x, put(one, ONES[:32].copy(), BF16))
    with pytest.raises(RuntimeError, match=r"bias last dimension must equal N \(64\), got 32"):
        product(x, x, bias_tensor=put(one, ONES[:1, :32].copy(), BF16))


def test_smaller_blocks_have_room(one: MeshDevice):
    product: Any = catalog.find("ttnn.experimental.minimal_matmul")
    x = put(one, ONES, F32)
    assert product(x, x, config=blocks(4, 4, 4)).shape == (64, 64)
