"""What elementwise operations, losses and softmaxes refuse, as recorded from the reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, held, put
from tt_run.runtime import catalog
from tt_run.runtime.cores import CoreGrid
from tt_run.runtime.enums import DataType, ShardStrategy
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import create_sharded_memory_config
from tt_run.runtime.tensor.tensor import Tensor


def call(name: str, *given: Any, **words: Any) -> Any:
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    return operation(*given, **words)


ONES = np.ones((1, 1, 32, 32), np.float32)


@pytest.fixture
def x(one: MeshDevice) -> Tensor:
    return put(one, ONES, BF16)


@pytest.fixture
def n(one: MeshDevice) -> Tensor:
    return put(one, ONES.astype(np.int32), I32)


@pytest.mark.parametrize("dtype", [DataType.BFLOAT8_B, DataType.BFLOAT4_B])
def test_block_floats_of_rows_alone(one: MeshDevice, x: Tensor, dtype: DataType):
    """They have no rows; one operand in tiles makes tiles of the result."""
    rows = put(one, ONES, BF16, ROW)
    for name in ("add", "mul", "maximum", "eq", "pow", "squared_difference"):
        with pytest.raises(RuntimeError, match="Only TILE layout is supported for BFLOAT8_B dtype!"):
            call(name, rows, rows, dtype=dtype)
        assert call(name, rows, x, dtype=dtype).layout is TILE
    with pytest.raises(RuntimeError, match="Only TILE layout is supported for BFLOAT8_B dtype!"):
        ops.multiply(rows, 2.0, dtype=dtype)
    # On cores they go through tiles.
    cut = ops.to_memory_config(
        rows, create_sharded_memory_config((1, 1, 32, 32), CoreGrid(y=1, x=1), ShardStrategy.HEIGHT)
    )
    if dtype is DataType.BFLOAT8_B:
        through = ops.multiply(cut, 1.0 / 3, dtype=dtype)
        assert (through.dtype, through.layout, through.memory_config()) == (BF16, ROW, cut.memory_config())
        assert np.array_equal(held(through), held(ops.multiply(x, 1.0 / 3, dtype=dtype)))


def test_the_power_of_a_number_has_no_type_of_its_own(x: Tensor):
    for words in ({"dtype": F32}, {"activations": ["relu"]}):
        with pytest.raises(TypeError, match="go with an exponent that is a tensor"):
            ops.pow(x, 2.0, **words)
    assert ops.pow(x, x, dtype=F32).dtype is F32 and ops.pow(2.0, x, dtype=F32).dtype is F32


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (lambda x, n: ops.divide(n, n, dtype=BF16), "Incorrect output_dtype value for Integer Division(rounding_mode=None)"),
        (lambda x, n: ops.divide(n, n, output_tensor=n), "For integer division, supported output dtype is FLOAT32"),
        (lambda x, n: ops.divide_(n, 2), "For integer division, supported output dtype is FLOAT32"),
        (lambda x, n: call("rpow", n, 2), "UnaryOpType::RPOW does not support integer input dtype DataType::INT32"),
        (lambda x, n: call("polygamma", x, 0), "polygamma order must be in range [1, 11], got 0"),
        (lambda x, n: call("polygamma", x, 12), "polygamma order must be in range [1, 11], got 12"),
        (lambda x, n: call("clamped_silu_glu", x, x, 0.0), "clamped_silu_glu: limit must be positive, got 0"),
        (lambda x, n: call("situ_glu", x, x, 0.0, 1.0), "situ_glu: beta1 and beta2 must be non-zero"),
        (lambda x, n: ops.clamp(x, 3, 2.5), "std::get: wrong index for variant"),
        (lambda x, n: ops.repeat_interleave(x, 0, 0), "ttnn.concat: expected a non-empty list of Tensors!"),
        (lambda x, n: ops.softmax_in_place(x, 0), "Invalid dimension: 0. Currently softmax inplace supports dim -1."),
        (lambda x, n: ops.softmax_in_place(ops.unsqueeze(x, 0)), "Tensor rank is greater than 4"),
        (lambda x, n: ops.scale_mask_softmax(ops.unsqueeze(x, 0), 2.0, x), "Tensor rank is greater than 4"),
        (lambda x, n: call("scale_causal_mask_hw_dims_softmax_in_place", x), "Causal-mask softmax requires an attention mask"),
        (lambda x, n: call("scale_causal_mask_hw_dims_softmax_in_place", x, 2.0), "Scale value must not be set when mask is not present"),
        (lambda x, n: call("scale_causal_mask_hw_dims_softmax_in_place", x, 2.0, x), "Scale causal mask HW dims softmax not supported in default program config"),
        (lambda x, n: call("transformer.attention_softmax_", x), "Cannot apply divide by sqrt(head_size) using in-place version when attention_mask is not set."),
        (lambda x, n: ops.rms_norm_pre_all_gather(ops.squeeze(x, 0)), "ShapeBase[] index out of range. 3 not in [-4, 3)"),
        (lambda x, n: ops.rms_norm_pre_all_gather(n), "Input data format not supported."),
        (lambda x, n: ops.layer_norm_pre_all_gather(ops.typecast(x, F32)), "layer_norm_pre_all_gather with Float32 input requires fp32_dest_acc_en=true"),
        (lambda x, n: call("moreh_mean", ops.typecast(x, F32), dim=3), "moreh_mean input only supports specific data types. [BFLOAT16]"),
        (lambda x, n: call("moreh_adam", *[ops.typecast(x, F32)] * 4, lr=0.1, step=1), "moreh_adam params_in only supports specific data types. [BFLOAT16]"),
        (lambda x, n: call("moreh_clip_grad_norm", [ops.typecast(x, F32)], 1.0), "moreh_clip_grad_norm_step1 input only supports specific data types. [BFLOAT16]"),
        (lambda x, n: call("moreh_fold", x, None, (5, 5), (3, 3)), "Fold: only support input in ROW_MAJOR"),
    ],
)  # fmt: skip
def test_calls(x: Tensor, n: Tensor, run: Callable[[Tensor, Tensor], Any], words: str):
    with pytest.raises(RuntimeError) as caught:
        run(x, n)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "run",
    [
        lambda x, n: ops.leaky_relu(x),
        lambda x, n: ops.clamp(x, x, 2.0),
        lambda x, n: ops.clamp(x, 2.0, x),
        lambda x, n: ops.assign(x),
        lambda x, n: call("quantize", x, 0.5, 1.5),
        lambda x, n: call("dequantize", n, 0.5, 1.0),
        lambda x, n: call("snake_beta", x, 2.0, 1.0),
    ],
)
def test_arguments_that_no_signature_takes(x: Tensor, n: Tensor, run: Callable[[Tensor, Tensor], Any]):
    with pytest.raises(TypeError, match="incompatible function arguments"):
        run(x, n)


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        (((2, 4, 32, 32), (1, 4, 1, 1), (1, 4, 1, 1)), "snake_beta requires input.W == alpha.W, got 32 vs 1"),
        (((2, 4, 32, 32), (4, 32, 32), (4, 32, 32)), "to either match input shape exactly or have non-1 size only on the last dim (got dim 0 = 4)"),
        (((4, 32), (4, 32), (1, 32)), "snake_beta requires alpha.shape == beta.shape, got Shape([4, 32]) vs Shape([1, 32])"),
        (((32,), (32,), (32,)), "snake_beta requires input rank >= 2, got rank 1 (shape Shape([32]))"),
    ],
)  # fmt: skip
def test_snakes(one: MeshDevice, shapes: tuple[tuple[int, ...], ...], words: str):
    with pytest.raises(RuntimeError) as caught:
        call("snake_beta", *(put(one, np.ones(shape, np.float32), BF16) for shape in shapes))
    assert words in str(caught.value)


def test_rows_beside_tiles_go_into_tiles(one: MeshDevice):
    rows, tiles = put(one, ONES, BF16, ROW), put(one, ONES, BF16)
    for name, more in (("subalpha", (0.5,)), ("isclose", ()), ("l1_loss", ()), ("mse_loss", ())):
        assert call(name, rows, tiles, *more).layout is TILE
        assert call(name, rows, rows, *more).layout is ROW


@pytest.mark.parametrize(
    ("name", "dtype", "number", "error", "words"),
    [
        ("bitwise_and", DataType.INT32, 1.0, TypeError, "takes an integer of 32 bits, not 1.0"),
        ("bitwise_left_shift", DataType.UINT32, 2**31, TypeError, "takes an integer of 32 bits"),
        ("bitwise_or", DataType.UINT8, 1, RuntimeError, "UnaryOpType::BITWISE_OR does not support integer input dtype DataType::UINT8"),
        ("logical_right_shift", DataType.UINT16, 1, RuntimeError, "DataType::UINT16 is not supported for binary operation BinaryOpType::LOGICAL_RIGHT_SHIFT"),
        ("gcd", DataType.INT32, 2, TypeError, "gcd takes two tensors, not 2"),
        ("remainder", DataType.UINT32, -1, RuntimeError, "Divisor must be positive, got -1"),
        ("remainder", DataType.UINT32, 1.0, RuntimeError, "Expected integer scalar divisor"),
    ],
)  # fmt: skip
def test_numbers_beside_bits(
    one: MeshDevice, name: str, dtype: DataType, number: float, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        call(name, put(one, np.ones((2, 2), np.int32), dtype), number)


def test_products_beside_numbers_go_into_no_room(one: MeshDevice) -> None:
    tensor = put(one, np.ones((2, 2)))
    with pytest.raises(TypeError, match="output_tensor and sub_core_grids beside three tensors alone"):
        call("mac", tensor, 2.0, 1.0, output_tensor=tensor)


@pytest.mark.parametrize(
    "name", ["eq", "maximum", "logical_and", "rsub", "floor_div", "bias_gelu", "bitwise_and", "hypot"]
)
def test_a_number_does_not_stand_first(one: MeshDevice, name: str):
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    tensor = put(one, np.ones((2, 3)), I32 if name == "bitwise_and" else BF16)
    with pytest.raises(
        TypeError, match=r"takes a tensor there, not 2\n(.|\n)*help: ttnn\.full_like\(tensor, 2\)"
    ):
        operation(2, tensor)


def test_two_tensors_alone_have_an_angle(one: MeshDevice):
    for name in ("atan2", "hypot"):
        operation = catalog.find(f"ttnn.{name}")
        assert operation is not None
        with pytest.raises(TypeError, match="takes a tensor there"):
            operation(put(one, np.ones((2, 3)), BF16), 2.0)
