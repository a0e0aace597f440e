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
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardStrategy, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.mesh.view import SubDeviceId
from tt_run.runtime.tensor.model_parameters.group_norm import create_group_norm_input_mask
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    create_sharded_memory_config,
)
from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam

Case = Callable[[Callable[..., Any]], object]


def call(name: str, *arguments: Any, **keywords: Any) -> Any:
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None, name
    return operation(*arguments, **keywords)


def on_a_core(tensor: Any) -> Any:
    return call("to_memory_config", tensor, ON_A_CORE)


NAMELESS = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1)
ON_A_CORE = create_sharded_memory_config((32, 64), CoreGrid(y=1, x=1), ShardStrategy.HEIGHT)

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
    "outer, types": (
        lambda t: call("outer", t(32, 1), t(1, 32, dtype=F32)),
        "ttnn.outer: inputs must have the same dtype, but got DataType::BFLOAT16 and DataType::FLOAT32",
    ),
    "scatter, another reduction": (
        lambda t: call("scatter", t(4, 4), 0, t(4, 4, dtype=DataType.INT32), t(4, 4), reduce="amax"),
        "reduce must be either 'add' or 'multiply' (case-sensitive), got amax",
    ),
    "scatter, index on cores": (
        lambda t: call("scatter", t(32, 64), 0, on_a_core(t(32, 64, dtype=DataType.INT32)), t(32, 64)),
        "Sharded tensors are not supported - index_tensor is sharded.",
    ),
    "isin, elements on cores": (
        lambda t: call("experimental.isin", on_a_core(t(32, 64, dtype=DataType.INT32)), t(32, 64, dtype=DataType.INT32)),
        "Elements tensor is sharded",
    ),
    "moreh_matmul, cores without names": (
        lambda t: call("moreh_matmul", t(32, 32), t(32, 32), memory_config=NAMELESS),
        "bad optional access",
    ),
    "moreh_dot_backward, gradient": (
        lambda t: call("moreh_dot_backward", t(1, 2), t(1, 2), t(1, 2)),
        "Invalid value type",
    ),
    "moreh_sum_backward, rank": (
        lambda t: call("moreh_sum_backward", t(2, 32), input=t(2, 3, 32), dim=1, keepdim=False),
        "expected_rank 3 == rank 2",
    ),
    "moreh_nll_loss, weights in rows": (
        lambda t: call(
            "moreh_nll_loss", t(32, 40), t(32, dtype=DataType.INT32), "sum", weight_tensor=t(40, layout=Layout.ROW_MAJOR)
        ),
        "weight_tensor to nll_loss must be in row major layout",
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
        "pow_int: output dtype DataType::UINT32 must match input dtype DataType::INT32",
    ),
    "gather": (
        lambda t: call("gather", t(32, 64), 1, t(64, 64, dtype=DataType.UINT32)),
        "Ends 64 must be less than or equal to the shape of the tensor 32",
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
    "fused function, no parameter": (
        lambda t: call("add", t(32, 32), 1.0, activations=[UnaryWithParam(UnaryOpType.LEAKY_RELU)]),
        "Undefined non-parametrized op type UnaryOpType::LEAKY_RELU",
    ),
    "fused function, too few parameters": (
        lambda t: call("add", t(32, 32), 1.0, activations=[UnaryWithParam(UnaryOpType.SELU, 1.0)]),
        "Expected selu to take 2 parameters, got [1.0]",
    ),
    "fused function, a parameter": (
        lambda t: call("multiply", t(32, 32), 1.0, activations=[UnaryWithParam(UnaryOpType.SIN, 1.0)]),
        "operator should support at least one parameter but op_type UnaryOpType::SIN does not",
    ),
    "fused function, how to round": (
        lambda t: call("add", t(32, 32), 1.0, activations=[UnaryWithParam(UnaryOpType.RDIV, 1.0, 3.0)]),
        "Invalid rdiv rounding mode 3 (expected 0, 1 or 2)",
    ),
    "fused function, bits": (
        lambda t: call("unary_chain", t(32, 32), [UnaryWithParam(UnaryOpType.BITWISE_XOR, 1.0)]),
        "Unsupported input dtype for bitwise/shift op_type UnaryOpType::BITWISE_XOR: expected Int32, UInt32, or UInt16.",
    ),
    "fused function, a name": (
        lambda t: call("linear", t(32, 32), t(32, 32), activation="leaky_relu"), "Unknown unary op: leaky_relu",
    ),
    "unary_chain, integers": (
        lambda t: call("unary_chain", t(32, 32, dtype=DataType.INT32), [UnaryOpType.NEG, UnaryOpType.SIN]),
        "Unary: UnaryOpType::SIN does not support integer input dtype DataType::INT32",
    ),
    "sigmoid, parts of a tile": (
        lambda t: call("sigmoid", t(32, 32), vector_mode=1),
        "Invalid Vector mode value. Expected vector mode C (2) or RC (4) for sigmoid",
    ),
    "threshold, room in rows": (
        lambda t: call("threshold", t(32, 32), 1.0, 0.0, output_tensor=t(32, 32, layout=Layout.ROW_MAJOR)),
        "Unary: Output format (tile/row-major) must match input when preallocated. Output: 0, Input: 1",
    ),
    "remainder by a number, room of integers": (
        lambda t: call("remainder", t(32, 32), 2.0, output_tensor=t(32, 32, dtype=DataType.INT32)),
        "Preallocated output dtype DataType::INT32 is not compatible with input dtype DataType::BFLOAT16.",
    ),
    "pow, an exponent of integers": (
        lambda t: call("pow", 2, t(32, 32, dtype=DataType.INT32)),
        "tensor exponents are not supported for integer inputs, use a scalar integer exponent",
    ),
    "typecast, room of another shape": (
        lambda t: call("typecast", t(32, 64), BF16, output_tensor=t(32, 32)),
        "Input shape: Shape([32, 64]), Preallocated output shape: Shape([32, 32])",
    ),
    "typecast, room of another type": (
        lambda t: call("typecast", t(32, 64), F32, output_tensor=t(32, 64)),
        "If both output dtype and output tensor provided dtype should match",
    ),
    "typecast, room in rows": (
        lambda t: call("typecast", t(32, 64), BF16, output_tensor=t(32, 64, layout=Layout.ROW_MAJOR)),
        "Typecast operation requires input and output layouts to match. Input layout: Layout::TILE, Output layout: Layout::ROW_MAJOR",
    ),
    "experimental.typecast, rows": (
        lambda t: call("experimental.typecast", t(32, 64, layout=Layout.ROW_MAJOR), F32),
        "Only tile layout supports dtype conversion",
    ),
    "to_memory_config, room of another type": (
        lambda t: call("to_memory_config", t(32, 64), DRAM_MEMORY_CONFIG, F32, t(32, 64)), "Mismatched output dtype",
    ),
    "to_memory_config, room elsewhere": (
        lambda t: call("to_memory_config", t(32, 64), L1_MEMORY_CONFIG, None, t(32, 64)),
        "Mismatched output memory config.",
    ),
    "interleaved_to_sharded, not sharded": (
        lambda t: call("interleaved_to_sharded", t(32, 64), L1_MEMORY_CONFIG), "Output memory config must be sharded",
    ),
    "reshard, not sharded": (
        lambda t: call("reshard", call("to_memory_config", t(32, 64), ON_A_CORE), L1_MEMORY_CONFIG), "output must be sharded",
    ),
    "untilize on some cores, rows of tiles": (
        lambda t: call("untilize", t(64, 64), sub_core_grids=CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 0))])),
        "sub_core_grid untilize only supports tensors one tile row tall, got height 64 with tile height 32",
    ),
    "transpose_rm, no whole tiles": (
        lambda t: call("experimental.transpose_rm", t(64, 33, layout=Layout.ROW_MAJOR)),
        "transpose_rm: C (last dim) must be a multiple of 32 and >=32 (got 33).",
    ),
    "complex_mul, types": (
        lambda t: call("experimental.complex_mul", *[t(4, 32, dtype=d, layout=Layout.ROW_MAJOR) for d in (F32, F32, F32, BF16)]),
        "complex_mul: all four input tensors must share the same dtype.",
    ),
    "moreh_full_like, a vector": (
        lambda t: call("moreh_full_like", t(32), 1.0),
        "Full operation error: Shape size must be greater than 1, but got shape size = 1",
    ),
    "moreh_full_like, another type": (
        lambda t: call("moreh_full_like", t(32, 32), 1.0, DataType.UINT32), "Full: Unsupported data type DataType::UINT32",
    ),
    "mac, a fraction beside integers": (
        lambda t: call("mac", *[t(32, 32, dtype=DataType.INT32)] * 2, 1.5),
        "tensor cannot represent the scalar 1.5: only a finite integer within the range of DataType::INT32",
    ),
    "div_no_nan, types": (
        lambda t: call("div_no_nan", t(32, 32), t(32, 32, dtype=F32)),
        "Mixed dtype is not supported for binary operation BinaryOpType::WHERE_TST",
    ),
    "quantize, zero points": (
        lambda t: call("quantize", t(32, 32), t(1), t(1)), "Quantization only takes int32 zero-points for now",
    ),
    "isin, short integers": (
        lambda t: call("experimental.isin", *[t(32, 32, dtype=DataType.UINT16)] * 2),
        "Can only work with bfloat16/float32 or int32/uint32 tensors",
    ),
    "rotate, tiles": (
        lambda t: call("rotate", t(1, 8, 8, 32), 30.0),
        "Input tensor must be in ROW_MAJOR layout",
    ),
    "alt_complex_rotate90, integers": (
        lambda t: call("alt_complex_rotate90", t(32, 32, dtype=DataType.INT32)),
        "Unary: UnaryOpType::ALT_COMPLEX_ROTATE90 does not support integer input dtype DataType::INT32",
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


def test_what_some_operations_of_two_operands_do_not_take(one: MeshDevice) -> None:
    """A keyword that most of them have, and the reference's does not."""
    x, y = put(one, np.ones((32, 32))), put(one, np.ones((32, 32)), DataType.INT32)
    for name, tensor, word, value in (
        ("hypot", x, "dtype", F32),
        ("atan2", x, "output_tensor", x),
        ("fmod", x, "output_tensor", x),
        ("floor_div", x, "output_tensor", x),
        ("bitwise_and", y, "dtype", DataType.INT32),
        ("gcd", y, "sub_core_grids", None),
    ):
        with pytest.raises(TypeError, match=word):
            call(name, tensor, tensor, **{word: value})


def test_scores_get_four_dimensions(one: MeshDevice) -> None:
    x = np.random.default_rng(0).standard_normal((33, 65)).astype(np.float32)
    found = call("transformer.attention_softmax", put(one, x, F32))
    assert tuple(found.shape) == (1, 1, 33, 65)
    wanted = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    np.testing.assert_allclose(found.cpu().to_numpy()[0, 0], wanted, rtol=1e-5)


def test_what_is_made_on_the_host_lies_nowhere() -> None:
    assert call("zeros", [32, 32], memory_config=L1_MEMORY_CONFIG).memory_config() == DRAM_MEMORY_CONFIG


def test_functions_fused_with_their_parameters(one: MeshDevice) -> None:
    x = put(one, [[1.26, -2.0]])
    for step, wanted in (
        (UnaryWithParam(UnaryOpType.ROUND, 1.0), [1.3, -2.0]),
        (UnaryWithParam(UnaryOpType.SELU, 2.0, 1.0), [2.52, 2 * np.expm1(-2.0)]),
        (UnaryWithParam(UnaryOpType.RDIV, 4.0, 2.0), [3.0, -2.0]),
        (UnaryWithParam(UnaryOpType.RELU_MAX, 1.0, 9.0), [1.0, 0.0]),
        (UnaryWithParam(UnaryOpType.LOG1P, 1.0), [np.log1p(1.26), np.nan]),
        (UnaryWithParam(UnaryOpType.RELU, 1.0), [1.26, 0.0]),
    ):
        found = call("add", x, put(one, np.zeros((1, 2))), activations=[step]).cpu().to_numpy()[0]
        np.testing.assert_allclose(found, wanted, rtol=1e-5, err_msg=str(step))
