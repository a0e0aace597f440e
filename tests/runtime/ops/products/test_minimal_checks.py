"""What `minimal_matmul` refuses, as recorded from the reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, BFP8, F32, ROW, held, put
from tt_run.runtime import catalog
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG, MemoryConfig, ShardSpec
from tt_run.runtime.tuning.compute import WormholeComputeKernelConfig
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
        ((BF16, BF16), {"config": blocks(8, 8, 8, 2, 4)}, "subblock_h * subblock_w must be <= max_dest_volume"),
        ((BF16, BF16), {"config": blocks(8, 8, 0)}, "Block sizes must be > 0"),
        ((BF16, BF16), {"config": blocks(8, 8, 8, 0)}, "Subblock sizes must be > 0"),
        ((BF16, BF16), {"config": blocks(8, 8, 8, grid=(2, 1))}, "compute_with_storage_grid_size must be >= 2x2"),
        ((BF16, BF16), {"config": blocks(8, 8, 3), "fuse_swiglu": True}, "N_tiles (2), N_tiles_per_core (2) and N_block_tiles (3) all even"),
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


def test_half_of_the_registers_hold_float32(one: MeshDevice):
    product: Any = catalog.find("ttnn.experimental.minimal_matmul")
    x, config = put(one, ONES, BF16), blocks(8, 8, 8, 2, 4)
    for exact, whole in ((True, True), (False, False)):
        compute = WormholeComputeKernelConfig(fp32_dest_acc_en=exact, dst_full_sync_en=whole)
        assert product(x, x, config=config, compute_kernel_config=compute).shape == (64, 64)


@pytest.mark.parametrize(
    ("shapes", "others", "words"),
    [
        (((64, 64), (64, 64)), {}, "second-input rank (3) must match input rank (2)"),
        (((64, 64), (64, 64)), {"suffix": ((32, 32), BF16)}, "dim 0 differs (input=64, second=32)"),
        (((64, 64), (64, 64)), {"suffix": ((64, 32), F32)}, "second-input dtype (DataType::FLOAT32) must match activation dtype (DataType::BFLOAT16)"),
        (((64, 64), (2, 64, 64)), {"suffix": None}, "minimal_matmul weight must have 1 in all dims < -2"),
        (((64, 64), (64, 64)), {"suffix": None, "chunks": 2, "rest": (64, 48)}, "Each chunk size N/chunks=24 must be a multiple of TILE_WIDTH=32"),
        (((64, 64), (64, 64)), {"suffix": None, "addcmul": ((1, 64), (1, 64))}, "fused_ternary_input_a shape must match output [M=64, N=64], got [1, 64]"),
        (((64, 64), (64, 64)), {"suffix": None, "addcmul": ((64, 64), (32, 64))}, "must be [1, N=64] (broadcast) or [M=64, N=64] (full), got [32, 64]"),
    ],
)  # fmt: skip
def test_what_is_fused_has_to_fit(one: MeshDevice, shapes: Any, others: dict[str, Any], words: str):
    x, w = (
        put(one, np.ones(shape, np.float32), BF16) for shape in (shapes[0], others.get("rest", shapes[1]))
    )
    with pytest.raises(RuntimeError) as caught:
        if "addcmul" in others:
            base, factor = (put(one, np.ones(shape, np.float32), BF16) for shape in others["addcmul"])
            call("dit_minimal_matmul_addcmul_fused", x, w, 1.0, base, factor)
        elif "chunks" in others:
            call("minimal_matmul_split", x, w, chunks=others["chunks"])
        elif others.get("suffix", ()) is None:
            call("minimal_matmul", x, w)
        else:
            shape, dtype = others.get("suffix", ((1, 64, 32), BF16))
            call(
                "minimal_matmul",
                [put(one, ONES[:, :32].copy(), BF16), put(one, np.ones(shape, np.float32), dtype)],
                w,
            )
    assert words in str(caught.value)


def test_results_lie_where_the_input_does(one: MeshDevice):
    """In one matrix of weights there are no batches, and pieces that are named stay as they are."""
    ones = put(one, np.ones((2, 33, 64), np.float32), BF16)
    x: Any = catalog.find("ttnn.to_memory_config")(ones, L1_MEMORY_CONFIG)  # type: ignore[operator]
    w = put(one, np.ones((1, 1, 64, 128), np.float32), BF16)
    found = call("minimal_matmul", x, w)
    assert found.shape == (2, 33, 128) and found.memory_config() == L1_MEMORY_CONFIG
    assert [tuple(part.shape) for part in call("minimal_matmul_split", x, w, chunks=2)] == [(2, 33, 64)] * 2
    cores = CoreRangeSet({CoreRange(CoreCoord(0, 0), CoreCoord(3, 0))})
    asked = MemoryConfig(
        TensorMemoryLayout.WIDTH_SHARDED,
        BufferType.L1,
        ShardSpec(cores, (128, 64), ShardOrientation.ROW_MAJOR),
    )
    assert call("minimal_matmul", x, w, memory_config=asked).memory_config() == asked
    base, factor = (put(one, np.full(shape, 2, np.float32), BF16) for shape in ((1, 2, 33, 128), (128,)))
    gated = call("dit_minimal_matmul_addcmul_fused", x, w, 0.5, base, factor)
    assert gated.shape == (2, 33, 128) and np.all(held(gated) == 2 + 0.5 * 64 * 2)


def call(name: str, *given: Any, **words: Any) -> Any:
    return catalog.find(f"ttnn.experimental.{name}")(*given, **words)  # type: ignore[operator]
