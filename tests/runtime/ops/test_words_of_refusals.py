"""What operations say of operands and arguments that do not fit, in the reference's words. Source: reference library 0.81.1."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, F32, put
from tt_run.runtime import catalog
from tt_run.runtime.cores import CoreCoord, CoreGrid, CoreRange, CoreRangeSet
from tt_run.runtime.enums import DataType, Layout, ShardStrategy
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.mesh.view import SubDeviceId
from tt_run.runtime.tensor.model_parameters.group_norm import create_group_norm_input_mask
from tt_run.runtime.tensor.spec.memory_config import create_sharded_memory_config

Case = Callable[[Callable[..., Any]], object]


def call(name: str, *arguments: Any, **keywords: Any) -> Any:
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None, name
    return operation(*arguments, **keywords)


CASES: dict[str, tuple[Case, str]] = {
    "add, to the nearest": (
        lambda t: call("add", t(32, 32), t(32, 32), dtype=F32, fast_and_approximate_mode=False),
        "fast_and_approximate_mode=false is only supported for a BFLOAT16 output on binary operation ADD, got output dtype DataType::FLOAT32",
    ),
    "rsub_, to the nearest": (
        lambda t: call("rsub_", t(32, 32, dtype=F32), 2.0, fast_and_approximate_mode=False),
        "fast_and_approximate_mode=false is only supported for a BFLOAT16 output on binary operation RSUB",
    ),
    "softmax, rows": (
        lambda t: call("softmax", t(32, 32, layout=Layout.ROW_MAJOR)),
        "Inputs to softmax must be tilized",
    ),
    "isclose, rtol": (
        lambda t: call("isclose", t(32, 32), t(32, 32), rtol=-1.0),
        "isclose: rtol must be a finite, non-negative value, got -1.0",
    ),
    "isclose, atol": (
        lambda t: call("isclose", t(32, 32), t(32, 32), atol=float("inf")),
        "isclose: atol must be a finite, non-negative value, got inf",
    ),
    "situ_glu, betas": (
        lambda t: call("situ_glu", t(32, 64), t(32, 64), 0.0, 1.0),
        "situ_glu: beta1 and beta2 must be non-zero",
    ),
    "situ_glu, types": (
        lambda t: call("situ_glu", t(32, 64), t(32, 64, dtype=F32), 1.0, 1.0),
        "situ_glu: gate and up must share a dtype, got DataType::BFLOAT16 and DataType::FLOAT32",
    ),
    "add, cores said twice": (
        lambda t: call(
            "add", t(32, 32), t(32, 32), sub_core_grids=CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 1))]),
            sub_device_id=SubDeviceId(0),
        ),
        "Cannot specify both sub_core_grids and sub_device_id",
    ),
    "multiply_, cores said twice": (
        lambda t: call(
            "multiply_", t(32, 32), t(32, 32), sub_core_grids=CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 1))]),
            sub_device_id=SubDeviceId(0),
        ),
        "Cannot specify both sub_core_grids and sub_device_id",
    ),
    "pow of integers, rows": (
        lambda t: call("pow", t(32, 32, dtype=DataType.INT32, layout=Layout.ROW_MAJOR), 2),
        "pow_int: input must be in TILE layout, got Layout::ROW_MAJOR",
    ),
    "pow of integers, type of the output": (
        lambda t: call("pow", t(32, 32, dtype=DataType.INT32), 2, output_tensor=t(32, 32, dtype=DataType.UINT32)),
        "pow_int: output dtype DataType.UINT32 must match input dtype DataType.INT32",
    ),
    "gather": (
        lambda t: call("gather", t(32, 64), 1, t(64, 64, dtype=DataType.UINT32)),
        "gather: index tensor size 64 on dimension 0 exceeds the input tensor size 32; only dimension 1 may be larger",
    ),
    "indexed_fill, type": (
        lambda t: call("indexed_fill", t(1, 1, 1, 2, dtype=F32), t(4, 1, 32, 64), t(2, 1, 32, 64)),
        "indexed_fill: batch_id must be UINT32 or INT32, got DataType::FLOAT32",
    ),
    "indexed_fill, rank": (
        lambda t: call("indexed_fill", t(1, 1, 1, 2, dtype=DataType.UINT32), t(4, 1, 32, 64), t(2, 32, 64)),
        "indexed_fill: input_a and input_b must have the same rank; got input_a.rank() = 4 and input_b.rank() = 3",
    ),
    "indexed_fill, sizes": (
        lambda t: call("indexed_fill", t(1, 1, 1, 2, dtype=DataType.UINT32), t(4, 1, 32, 64), t(2, 1, 32, 32)),
        "the same size along every dimension except dim 0; mismatch at dim 3: input_a.size(3) = 64, input_b.size(3) = 32",
    ),
    "indexed_fill, count": (
        lambda t: call("indexed_fill", t(1, 1, 1, 2, dtype=DataType.UINT32), t(4, 1, 32, 64), t(3, 1, 32, 64)),
        "indexed_fill: input_b.size(0) = 3 must equal the number of indices (batch_id count = 2)",
    ),
    "untilize_with_unpadding": (
        lambda t: call("untilize_with_unpadding", t(1, 1, 32, 64), [0, 0, 63, 63]),
        "untilize_with_unpadding: output extent 64 exceeds the padded input extent 32 in dimension 2",
    ),
    "layer_norm, residual": (
        lambda t: call("layer_norm", t(1, 1, 32, 64), residual_input_tensor=t(1, 1, 32, 128)),
        "Input and residual logical and padded shapes must match, got input: logical=Shape([1, 1, 32, 64])",
    ),
    "layer_norm_pre_all_gather, residual": (
        lambda t: call("layer_norm_pre_all_gather", t(1, 1, 32, 64), residual_input_tensor=t(1, 1, 32, 128)),
        "Input and residual logical and padded shapes must match",
    ),
    "sort, places": (
        lambda t: call("sort", t(32, 64, dtype=F32), out=(t(32, 64, dtype=F32), t(32, 64, dtype=DataType.UINT16))),
        "Preallocated sort indices tensor dtype must be UINT32 when input dtype is FLOAT32 or UINT16, got DataType::UINT16",
    ),
    "sort, type of the places": (
        lambda t: call("sort", t(32, 64), out=(t(32, 64), t(32, 64))),
        "Preallocated sort indices tensor dtype must be UINT16 or UINT32, got DataType::BFLOAT16",
    ),
    "sort, type of the values": (
        lambda t: call("sort", t(32, 64), out=(t(32, 64, dtype=F32), t(32, 64, dtype=DataType.UINT16))),
        "Preallocated sort values tensor dtype must match the input dtype DataType::BFLOAT16, got DataType::FLOAT32",
    ),
    "sort, shape": (
        lambda t: call("sort", t(32, 64), out=(t(32, 32), t(32, 64, dtype=DataType.UINT16))),
        "must match the input shape Shape([32, 64]), got values shape Shape([32, 32])",
    ),
    "topk, labels": (
        lambda t: call("topk", t(1, 1, 64, 64), 32, 2, indices_tensor=t(1, 1, 64, 64, dtype=DataType.UINT16)),
        "Indices tensor is only supported for a reduction on the last dimension, got dim=2 for rank 4",
    ),
    "upsample": (
        lambda t: call("upsample", t(1, 8, 8, 32, layout=Layout.ROW_MAJOR), (2, 0)),
        "scale_factor_w must be positive, got 0",
    ),
    "grid_sample": (
        lambda t: call("grid_sample", t(1, 8, 8, 32, layout=Layout.ROW_MAJOR), t(1, 8, 8, 3, layout=Layout.ROW_MAJOR)),
        "Standard grid tensor last dimension must be a multiple of 2 (for x, y coordinates), but got 3",
    ),
    "max_pool2d, window": (
        lambda t: call("max_pool2d", t(1, 1, 64, 32), 1, 8, 8, 32, [9, 9], [1, 1], [0, 0], [1, 1]),
        "Pool2D: Effective kernel size (9, 9) cannot exceed padded input size (8, 8)",
    ),
    "max_pool2d, dilation": (
        lambda t: call("max_pool2d", t(1, 1, 64, 32), 1, 8, 8, 32, [2, 2], [1, 1], [0, 0], [1, 0]),
        "Pool2D: Dilation must be greater than 0 in both dimensions, got (1, 0)",
    ),
    "avg_pool2d, channels": (
        lambda t: call("avg_pool2d", t(1, 1, 64, 32), 1, 8, 8, 0, [2, 2], [1, 1], [0, 0]),
        "Pool2D: Channels must be greater than 0, got 0",
    ),
    "broadcast_to, rows": (
        lambda t: call("experimental.broadcast_to", t(1, 1, 32, 32, layout=Layout.ROW_MAJOR), (2, 1, 32, 32)),
        "bcast_to: Invalid tensor memory layout Layout::ROW_MAJOR. Input tensor layout must be TILE.",
    ),
    "broadcast_to, type": (
        lambda t: call("experimental.broadcast_to", t(1, 1, 32, 32), (2, 1, 32, 32), output=t(2, 1, 32, 32, dtype=F32)),
        "bcast_to: Input DataType::BFLOAT16 and output DataType::FLOAT32 must have same dtype",
    ),
    "broadcast_to, shape": (
        lambda t: call("experimental.broadcast_to", t(1, 1, 32, 32), (2, 1, 32, 32), output=t(3, 1, 32, 32)),
        "bcast_to: Invalid output shape Shape([3, 1, 32, 32])Output shape must match operation attributes Shape([2, 1, 32, 32])",
    ),
    "broadcast_to, cut": (
        lambda t: call(
            "experimental.broadcast_to", t(1, 1, 32, 32), (2, 1, 32, 32),
            memory_config=create_sharded_memory_config([2, 1, 32, 32], CoreGrid(x=1, y=2), ShardStrategy.HEIGHT),
        ),
        "Output memory config sharding not supported",
    ),
    "batch_norm, output": (
        lambda t: call("batch_norm", t(2, 3, 32, 32), training=True, output=t(2, 3, 32, 32, dtype=F32)),
        "batch_norm: output dtype (DataType::FLOAT32) must match input dtype (DataType::BFLOAT16)",
    ),
    "batch_norm, parameters": (
        lambda t: call("batch_norm", t(2, 3, 32, 32), training=True, weight=t(1, 3, 1, 1), bias=t(1, 3, 1, 1, dtype=F32)),
        "batch_norm: bias dtype (DataType::FLOAT32) must match other parameter tensors dtype (DataType::BFLOAT16)",
    ),
    "batch_norm, rank": (
        lambda t: call("batch_norm", t(3, 32, 32), training=True), "batch_norm not supported for tensors with rank < 4. (rank=3)",
    ),
    "batch_norm, type": (
        lambda t: call("batch_norm", t(2, 3, 32, 32, dtype=DataType.BFLOAT8_B), training=True),
        "batch_norm only supports bfloat16, float32. Got: DataType::BFLOAT8_B",
    ),
    "attention, heads": (
        lambda t: call("transformer.scaled_dot_product_attention", *[t(1, 1, 32, 40)] * 3),
        "ttnn.pad the heads to 64 columns, and give scale",
    ),
    "hc_sum_reduce, columns": (
        lambda t: call("experimental.hc_sum_reduce", t(1, 1, 32, 1100)), "ttnn.pad the last dimension to 2048",
    ),
    "fft_radix_pass, rows": (
        lambda t: call("experimental.fft_radix_pass", t(3, 32, dtype=F32, layout=Layout.ROW_MAJOR), 32, stride=2),
        "fft_radix_pass: Shape([3, 32]) is no multiple of 2 rows of 32",
    ),
    "untilize_with_unpadding, ends": (
        lambda t: call("untilize_with_unpadding", t(32, 64), [32, 63]), "ends count up to [31, 63], included",
    ),
    "prod, columns": (
        lambda t: call("prod", t(2, 2, 32, 32), t(2, 2, 32, 1), dims=[3]), "Dimension (3) must be either 0 or 1",
    ),
    "masks of groups, cores": (
        lambda t: create_group_norm_input_mask(64, 2, 0),
        "create_group_norm_input_mask: num_cores_across_channel must be > 0.",
    ),
    "masks of groups, groups": (
        lambda t: create_group_norm_input_mask(96, 3, 2),
        "create_group_norm_input_mask: num_groups (3) must be divisible by num_cores_across_channel (2).",
    ),
    "masks of groups, rows": (
        lambda t: create_group_norm_input_mask(64, 2, 1, BF16, 32, 32, 40),
        "create_group_norm_input_mask: rows_in_last_tile (40) must be in [0, tile_height=32)",
    ),
    "masks of groups, channels": (
        lambda t: create_group_norm_input_mask(0, 2, 1), "W needs to be greater than 0 and is 0",
    ),
}  # fmt: skip
OF_TORCH = ("hc_sum_reduce, columns",)
"""Refused by the function that PyTorch computes."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.torch if name in OF_TORCH else ()) for name in CASES]
)
def test_the_words_of_a_refusal(one: MeshDevice, name: str) -> None:
    def tensor(*shape: int, dtype: DataType = BF16, layout: Layout = Layout.TILE) -> Any:
        return put(one, np.ones(shape, np.float32), dtype, layout)

    case, words = CASES[name]
    with pytest.raises(RuntimeError, match=re.escape(words)):
        case(tensor)


def test_whole_numbers_are_rounded_to_themselves(one: MeshDevice) -> None:
    """Scaled for its decimals a large number would be past the largest."""
    x = np.array([[3e38, -3e38, 2.0**23, 1.25]], np.float32)
    found = call("round", put(one, x, F32), decimals=1).cpu().to_numpy()
    assert found.tolist() == [[*x[0, :3].tolist(), pytest.approx(1.2)]]


def test_integers_in_rows_to_the_powers_that_change_nothing(one: MeshDevice) -> None:
    x = put(one, np.arange(64).reshape(2, 32), DataType.INT32, Layout.ROW_MAJOR)
    assert (call("pow", x, 0).cpu().to_numpy() == 1).all()
    assert call("pow", x, 1).cpu().to_numpy().tolist() == np.arange(64).reshape(2, 32).tolist()
