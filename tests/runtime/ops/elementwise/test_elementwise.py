"""Unary, binary and ternary operations against NumPy in float64, over dtypes, layouts and odd shapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import (
    BF16,
    BFP8,
    F32,
    I32,
    ROW,
    STEP,
    TILE,
    U8,
    U16,
    U32,
    held,
    message,
    near,
    put,
    rounded,
)
from tests.sweep import sweep
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.kernels.activations import UnaryOpType, UnaryWithParam
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.elementwise import unary
from tt_run.runtime.ops.elementwise.parametric import PARAMETRIC
from tt_run.runtime.tools.golden import get_golden_function

SHAPES = [(7,), (3, 5), (1, 1, 33, 65), (2, 3, 32, 32), (1, 2, 3, 4, 5)]


def erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf, otypes=[float])(x)


def softplus(x: np.ndarray, beta: float = 1.0, threshold: float = 20.0) -> np.ndarray:
    return np.where(x * beta > threshold, x, np.log1p(np.exp(np.minimum(x * beta, threshold))) / beta)


UNARY: dict[str, Any] = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "gelu": lambda x: x * 0.5 * (1 + erf(x / math.sqrt(2))),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "swish": lambda x: x / (1 + np.exp(-x)),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "log_sigmoid": lambda x: -np.log1p(np.exp(-x)),
    "tanh": np.tanh,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": lambda x: np.log(np.abs(x)),
    "sqrt": lambda x: np.sqrt(np.abs(x)),
    "rsqrt": lambda x: 1 / np.sqrt(np.abs(x)),
    "square": np.square,
    "abs": np.abs,
    "neg": np.negative,
    "reciprocal": np.reciprocal,
    "softplus": softplus,
    "mish": lambda x: x * np.tanh(softplus(x)),
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hardsigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "erf": erf,
    "erfc": lambda x: 1 - erf(x),
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "frac": lambda x: x - np.trunc(x),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "leaky_relu": lambda x: np.where(x >= 0, x, 0.01 * x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "celu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "hardtanh": lambda x: np.clip(x, -1, 1),
    "softshrink": lambda x: np.where(x > 0.5, x - 0.5, np.where(x < -0.5, x + 0.5, 0)),
    "hardshrink": lambda x: np.where(np.abs(x) > 0.5, x, 0),
    "tanhshrink": lambda x: x - np.tanh(x),
    "cbrt": np.cbrt,
    "log1p": lambda x: np.log1p(np.abs(x)),
    "log2": lambda x: np.log2(np.abs(x)),
    "log10": lambda x: np.log10(np.abs(x)),
    "logical_not": lambda x: (x == 0) * 1.0,
    "eqz": lambda x: (x == 0) * 1.0,
    "nez": lambda x: (x != 0) * 1.0,
    "ltz": lambda x: (x < 0) * 1.0,
    "lez": lambda x: (x <= 0) * 1.0,
    "gtz": lambda x: (x > 0) * 1.0,
    "gez": lambda x: (x >= 0) * 1.0,
    "isfinite": lambda x: np.isfinite(x) * 1.0,
    "identity": lambda x: x,
    "deg2rad": np.deg2rad,
    "rad2deg": np.rad2deg,
}
POSITIVE = {"reciprocal", "log", "sqrt", "rsqrt", "log1p", "log2", "log10"}

BINARY: dict[str, Any] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "rsub": lambda a, b: b - a,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "eq": lambda a, b: (a == b) * 1.0,
    "ne": lambda a, b: (a != b) * 1.0,
    "lt": lambda a, b: (a < b) * 1.0,
    "le": lambda a, b: (a <= b) * 1.0,
    "gt": lambda a, b: (a > b) * 1.0,
    "ge": lambda a, b: (a >= b) * 1.0,
    "logical_and": lambda a, b: ((a != 0) & (b != 0)) * 1.0,
    "logical_or": lambda a, b: ((a != 0) | (b != 0)) * 1.0,
    "logical_xor": lambda a, b: ((a != 0) ^ (b != 0)) * 1.0,
    "squared_difference": lambda a, b: (a - b) ** 2,
    "hypot": np.hypot,
    "atan2": np.arctan2,
    "logaddexp": np.logaddexp,
    "logaddexp2": np.logaddexp2,
}


def sample(shape: tuple[int, ...], dtype: DataType, seed: int = 0) -> np.ndarray:
    """Values that `dtype` holds exactly."""
    return rounded(np.random.default_rng(seed).uniform(-3, 3, shape).astype(np.float32), dtype)


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(ops, name)(*args, **kwargs)


@pytest.mark.parametrize("dtype", sweep([F32, BF16, BFP8], quick=[BF16]))
@pytest.mark.parametrize("name", sorted(UNARY))
def test_unary(one: MeshDevice, name: str, dtype: DataType):
    for shape in SHAPES[1:4]:
        x = sample(shape, dtype)
        x = np.abs(x) + np.float32(0.5) if name in POSITIVE else x
        x = rounded(x, dtype)
        more = (0.01,) if name == "leaky_relu" else ()
        y = call(name, put(one, x, dtype), *more)
        assert (y.dtype, y.shape, y.layout) == (dtype, shape, TILE)
        near(
            y,
            rounded(UNARY[name](x.astype(np.float64)).astype(np.float32), dtype),
            steps=8 if dtype is F32 else 1,
        )


@pytest.mark.parametrize("name", sorted(unary.PLAIN))
def test_every_plain_unary_has_a_reference_or_a_special_test(name: str):
    special = {"isnan", "isinf", "isposinf", "isneginf", "signbit", "asin", "acos", "acosh", "atanh"}
    assert name in UNARY or name in special


@pytest.mark.torch
@pytest.mark.parametrize("name", ["acos", "acosh", "asin", "atanh"])
def test_bfloat16_beyond_a_domain_is_infinity(one: MeshDevice, name: str):
    torch = pytest.importorskip("torch")
    x = np.array([[-2.0, 0.5, 3.0, np.inf, -np.inf, np.nan]], np.float32)
    for dtype, wide, beyond in ((BF16, torch.bfloat16, np.inf), (F32, torch.float32, np.nan)):
        found = held(unary.PLAIN[name](put(one, x, dtype, ROW)))
        golden = get_golden_function(unary.PLAIN[name])(torch.tensor(x, dtype=wide)).float().numpy()
        assert np.array_equal(np.isnan(found), np.isnan(golden))
        assert np.array_equal(np.isposinf(found), np.isposinf(golden))
        assert np.array_equal(found[0, :1], [beyond], equal_nan=True)
        assert np.isnan(found[0, -1])


@pytest.mark.parametrize(("name", "sign"), [("addalpha", 1), ("subalpha", -1)])
def test_alpha_beside_bfloat16_is_of_its_type(one: MeshDevice, name: str, sign: int):
    a, b = (rounded(sample((3, 33), BF16, seed), BF16).astype(np.float64) for seed in (1, 2))
    short = 0.30078125  # 0.3 in bfloat16
    for dtypes, alpha in (
        ((BF16, BF16), short),
        ((F32, F32), np.float32(0.3)),
        ((F32, BF16), np.float32(0.3)),
    ):
        found = call(name, *(put(one, x, dtype) for x, dtype in zip((a, b), dtypes, strict=True)), 0.3)
        wanted = rounded(a + sign * float(alpha) * b, found.dtype)
        np.testing.assert_allclose(held(found), wanted, rtol=0 if found.dtype is BF16 else 1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("pow", lambda x, v: x**v),
        ("rpow", lambda x, v: v**x),
        ("rdiv", lambda x, v: v / x),
        ("prelu", lambda x, v: np.where(x > 0, x, v * x)),
    ],
)
def test_numbers_beside_bfloat16_are_of_its_type(one: MeshDevice, name: str, function: Any):
    x = rounded(np.abs(sample((3, 33), BF16, 4)) + 0.1, BF16).astype(np.float64)
    x = -x if name == "prelu" else x
    for dtype, value in ((BF16, 0.30078125), (F32, float(np.float32(0.3)))):  # 0.3 in each
        found = call(name, put(one, x, dtype), 0.3)
        wanted = function(x, value)
        near(found, rounded(wanted, dtype), steps=0 if dtype is BF16 else 4)


def test_domains_and_special_values(one: MeshDevice):
    x = np.array([[np.nan, np.inf, -np.inf, 0.5, -0.0]], np.float32)
    t = put(one, x, F32, ROW)
    assert held(ops.isnan(t)).tolist() == [[1, 0, 0, 0, 0]]
    assert held(ops.isinf(t)).tolist() == [[0, 1, 1, 0, 0]]
    assert held(ops.isposinf(t)).tolist() == [[0, 1, 0, 0, 0]]
    assert held(ops.isneginf(t)).tolist() == [[0, 0, 1, 0, 0]]
    assert held(ops.signbit(t)).tolist()[0][2:] == [1, 0, 1]
    near(ops.asin(put(one, [[0.25, -0.5]])), np.arcsin([[0.25, -0.5]]), steps=4)
    near(ops.acos(put(one, [[0.25, -0.5]])), np.arccos([[0.25, -0.5]]), steps=4)
    near(ops.atanh(put(one, [[0.25, -0.5]])), np.arctanh([[0.25, -0.5]]), steps=4)
    near(ops.acosh(put(one, [[1.25, 3.5]])), np.arccosh([[1.25, 3.5]]), steps=4)
    assert np.isnan(held(ops.log(put(one, [[-1.0]])))).all()
    assert held(ops.reciprocal(put(one, [[0.0]]))).item() == np.inf
    assert held(ops.silu(put(one, [[-200.0, 200.0]]))).tolist() == [[0.0, 200.0]]
    assert held(ops.relu(put(one, x))).tolist()[0][1:] == [np.inf, 0, 0.5, 0]


def test_unary_parameters(one: MeshDevice):
    x = sample((4, 40), F32)
    t = put(one, x)
    near(ops.softplus(t, beta=2.0, threshold=3.0), softplus(x.astype(float), 2.0, 3.0), steps=4)
    near(ops.leaky_relu(t, 0.3), np.where(x >= 0, x, 0.3 * x.astype(float)), steps=2)
    near(ops.round(t, decimals=1), np.round(x.astype(float), 1), steps=2)
    near(ops.gelu(t, fast_and_approximate_mode=True), UNARY["gelu"](x.astype(float)), steps=4)
    near(ops.exp(t, fast_and_approximate_mode=True), np.exp(x.astype(float)), steps=2)
    near(ops.hardtanh(t, min_val=-0.2, max_val=0.4), np.clip(x, np.float32(-0.2), np.float32(0.4)))


@pytest.mark.parametrize("dtype", sweep([F32, BF16, BFP8], quick=[BF16]))
@pytest.mark.parametrize("name", sorted(BINARY))
def test_binary(one: MeshDevice, name: str, dtype: DataType):
    for shape, other in [
        (SHAPES[1], SHAPES[1]),
        (SHAPES[2], SHAPES[2]),
        ((2, 3, 5, 33), (1, 3, 1, 33)),
        ((4, 33), (2, 1, 1)),
    ]:
        a, b = sample(shape, dtype, 1), sample(other, dtype, 2)
        if name == "divide":
            b = rounded(np.where(np.abs(b) < 0.5, np.float32(1), b), dtype)
        y = call(name, put(one, a, dtype), put(one, b, dtype))
        values = BINARY[name](a.astype(float), b.astype(float))
        if (name, dtype) == ("squared_difference", BF16):
            values = np.square(rounded(a - b, dtype))  # the difference is rounded, too
        wanted = rounded(np.asarray(values).astype(np.float32), dtype)
        assert (y.dtype, y.layout) == (dtype, TILE)
        near(y, wanted, steps=2 if dtype is F32 else 1)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "pow", "lt", "ge", "logical_or"])
def test_scalars_on_either_side(one: MeshDevice, name: str):
    x = np.abs(sample((5, 37), F32)) + np.float32(0.5)
    t = put(one, x)
    function = BINARY.get(name, np.power)
    near(call(name, t, 1.5), function(x.astype(float), 1.5), steps=2)
    if name in ("add", "subtract", "multiply", "divide", "pow"):
        near(call(name, 1.5, t), function(1.5, x.astype(float)), steps=2)


def test_integers(one: MeshDevice):
    a, b = np.array([[7, -3, 2**31 - 1]], np.int32), np.array([[2, 5, 1]], np.int32)
    ta, tb = put(one, a, I32, ROW), put(one, b, I32, ROW)
    assert held(ops.add(ta, tb)).tolist() == [[9, 2, -(2**31)]]
    assert held(ops.multiply(ta, 3)).tolist() == [[21, -9, 2147483645]]
    assert held(ops.maximum(ta, tb)).tolist() == [[7, 5, 2**31 - 1]]
    assert held(ops.lt(ta, tb)).tolist() == [[0, 1, 0]]
    assert held(ops.abs(ta)).tolist() == [[7, 3, 2**31 - 1]]
    quotient = ops.divide(ta, tb)
    assert quotient.dtype is F32
    near(quotient, a / b.astype(float))
    assert held(ops.divide(ta, tb, rounding_mode="floor")).tolist()[0][:2] == [3, -1]
    assert held(ops.divide(ta, tb, rounding_mode="trunc")).tolist()[0][:2] == [3, 0]
    assert held(ops.subtract(put(one, [[1]], U16, ROW), put(one, [[2]], U16, ROW))).tolist() == [[65535]]
    assert held(ops.subtract(put(one, [[1]], U32, ROW), 2)).tolist() == [[2**32 - 1]]
    assert held(ops.relu(ta)).tolist() == [[7, 0, 2**31 - 1]]
    with pytest.raises(RuntimeError, match="UINT8 is not supported for binary operation BinaryOpType::ADD"):
        ops.add(put(one, [[1]], U8, ROW), 1)


def test_dtype_of_the_result(one: MeshDevice):
    a, b = put(one, sample((4, 4), BF16), BF16), put(one, sample((4, 4), F32), F32)
    assert ops.add(a, b).dtype is BF16
    assert ops.add(b, a).dtype is F32
    assert ops.add(a, a, dtype=F32).dtype is F32
    near(ops.add(a, b, dtype=F32), held(a).astype(float) + held(b))
    assert ops.exp(a).dtype is BF16


def test_one_rounding_of_the_exact_result(one: MeshDevice):
    a, b = sample((64, 64), BF16, 1), sample((64, 64), BF16, 2)
    exact = (a.astype(float) * b).astype(np.float32)
    assert np.array_equal(held(ops.multiply(put(one, a, BF16), put(one, b, BF16))), rounded(exact, BF16))


def test_large_tensors_are_worked_through_in_blocks(one: MeshDevice):
    a, b = sample((3, 100, 700), BF16, 1), sample((1, 100, 1), BF16, 2)
    y = ops.add(put(one, a, BF16), put(one, b, BF16))
    assert np.array_equal(held(y), rounded(a + b, BF16))
    z = ops.gelu(put(one, a, F32))
    near(z, UNARY["gelu"](a.astype(float)), steps=8)


def test_fused_activations(one: MeshDevice):
    a, b = sample((5, 6), F32, 1), sample((5, 6), F32, 2)
    ta, tb = put(one, a), put(one, b)
    near(
        ops.add(ta, tb, activations=[UnaryWithParam(UnaryOpType["RELU"])]),
        np.maximum(a.astype(float) + b, 0),
        steps=2,
    )
    near(
        ops.multiply(
            ta, tb, input_tensor_a_activations=["exp"], input_tensor_b_activations=[UnaryOpType["NEG"]]
        ),
        -np.exp(a.astype(float)) * b,
        steps=4,
    )
    near(
        ops.add(ta, tb, activations=[UnaryWithParam(UnaryOpType["LEAKY_RELU"], 0.5)]),
        np.where(a + b >= 0, a.astype(float) + b, 0.5 * (a.astype(float) + b)),
        steps=2,
    )
    with pytest.raises(RuntimeError) as error:
        ops.add(ta, tb, activations=["bogus"])
    assert message(error.value).startswith("Unknown unary op: bogus")


def test_output_tensor_is_written_and_returned(one: MeshDevice):
    a = put(one, sample((5, 6), BF16), BF16)
    out = put(one, np.zeros((5, 6)), BF16)
    assert ops.add(a, a, output_tensor=out).storage is out.storage
    assert np.array_equal(held(out), 2 * held(a))
    assert ops.exp(a, output_tensor=out).storage is out.storage
    with pytest.raises(RuntimeError, match="provided does not match the broadcasted output shape"):
        ops.add(a, a, output_tensor=put(one, np.zeros((5, 7)), BF16))
    with pytest.raises(RuntimeError, match="their dtypes should match"):
        ops.add(a, a, dtype=BF16, output_tensor=put(one, np.zeros((5, 6)), F32))


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        ((1, 1, 32, 64), (1, 1, 32, 32), "Invalid subtile broadcast type"),
        ((1, 1, 32, 32), (1, 1, 64, 32), "Invalid subtile broadcast type"),
        ((5,), (4,), "Invalid subtile broadcast type"),
        (
            (2, 3, 32, 32),
            (2, 2, 32, 32),
            "Broadcasting rule violation at dimension index -3 (output rank 4), dim a: 3, dim b: 2",
        ),
    ],
)
def test_shapes_that_do_not_broadcast(one: MeshDevice, a: tuple[int, ...], b: tuple[int, ...], text: str):
    with pytest.raises(RuntimeError) as error:
        ops.add(put(one, np.ones(a)), put(one, np.ones(b)))
    assert message(error.value).startswith(text)


@pytest.mark.parametrize(
    ("dtype", "value", "factor"),
    [(DataType.INT32, 2**31, -(2**31)), (DataType.INT32, 2**32 - 1, -1), (DataType.UINT32, -1, 2**32 - 1), (DataType.UINT32, 2**33 + 2, 2)],
)  # fmt: skip
def test_a_whole_factor_stands_for_its_last_32_bits(
    one: MeshDevice, dtype: DataType, value: int, factor: int
):
    a, b, c = (put(one, np.array([n, 5 * n, 7]), dtype) for n in (1, 2, 3))
    wanted = (np.array([1, 5, 7]) + factor * np.array([6, 150, 49])).astype(np.int64)
    np.testing.assert_array_equal(
        held(ops.addcmul(a, b, c, value=value)).astype(np.uint32), wanted.astype(np.uint32)
    )


def test_ternary(one: MeshDevice):
    a, b, c = (sample((3, 1, 5, 33), F32, i) for i in range(3))
    ta, tb, tc = put(one, a), put(one, b), put(one, c)
    near(ops.addcmul(ta, tb, tc, value=0.5), a + 0.5 * b.astype(float) * c, steps=4)
    near(ops.addcdiv(ta, tb, put(one, c + 10), value=2.0), a + 2 * b.astype(float) / (c + 10), steps=4)
    near(ops.where(ops.gtz(ta), tb, tc), np.where(a > 0, b, c))
    near(ops.where(ops.gtz(ta), 2.0, tc), np.where(a > 0, 2, c))
    near(ops.where(ops.gtz(ta), 2.0, -1.0), np.where(a > 0, 2, -1))
    near(ops.lerp(ta, tb, 0.25), a + 0.25 * (b.astype(float) - a), steps=4)
    near(ops.where(ops.gtz(ta), tb, put(one, np.full((1, 33), 7.0))), np.where(a > 0, b, 7))


def test_clamp(one: MeshDevice):
    x = sample((4, 9), F32)
    t = put(one, x)
    near(ops.clamp(t, -0.5, 0.75), np.clip(x, -0.5, 0.75))
    near(ops.clip(t, min=0.0), np.maximum(x, 0))
    near(ops.clamp(t, max=0.0), np.minimum(x, 0))
    near(ops.clamp(t, put(one, np.full((1, 9), -0.5)), put(one, np.full((4, 1), 0.5))), np.clip(x, -0.5, 0.5))
    near(ops.clamp(t, max=put(one, np.full((4, 1), 0.5))), np.minimum(x, 0.5))
    assert held(ops.clamp(put(one, [[5, 200]], I32, ROW), 6, 1000)).tolist() == [[6, 200]]
    with pytest.raises(RuntimeError, match="Only one of 'min' or 'max'"):
        ops.clamp(t)


def test_row_major_stays_row_major(one: MeshDevice):
    t = put(one, sample((3, 5), BF16), BF16, Layout.ROW_MAJOR)
    assert ops.add(t, t).layout is ROW
    assert ops.gelu(t).layout is ROW


def test_what_is_no_number_stays_so(one: MeshDevice):
    t = put(one, np.array([[np.nan, 0.1]]))
    for found in (ops.hardshrink(t), ops.softshrink(t)):
        assert np.isnan(held(found)[0, 0])
        assert held(found)[0, 1] == 0
    assert np.isnan(held(ops.xlogy(put(one, np.zeros((1, 1))), put(one, np.full((1, 1), np.nan))))).all()


def test_limits_that_integers_cannot_hold(one: MeshDevice):
    t = put(one, np.array([[0, 7]]), U32)
    assert held(ops.relu_min(t, -1.0)).tolist() == [[0, 7]]
    assert held(ops.relu_max(t, 1e12)).tolist() == [[0, 7]]


def test_rounding_mode(one: MeshDevice):
    t = put(one, [[7.0, -7.0]])
    assert held(ops.divide(t, 2.0, rounding_mode="floor")).tolist() == [[3.0, -4.0]]
    assert held(ops.divide(t, 2.0, rounding_mode="trunc")).tolist() == [[3.0, -3.0]]
    assert held(ops.floor_div(t, 2.0)).tolist() == [[3.0, -4.0]]
    with pytest.raises(RuntimeError, match="rounding mode"):
        ops.divide(t, 2.0, rounding_mode="up")
    assert STEP[F32] < STEP[BF16]


def test_layouts_of_mixed_operands(one: MeshDevice):
    rows, tiles = put(one, np.ones((4, 4)), F32, ROW), put(one, np.ones((4, 4)), F32, TILE)
    assert ops.add(rows, tiles).layout is TILE
    assert ops.add(tiles, rows).layout is TILE
    assert ops.add(rows, rows).layout is ROW


def test_bits_of_integers(one: MeshDevice):
    a, b = put(one, [[12, 7, -1]], I32, ROW), put(one, [[10, 2, 1]], I32, ROW)
    assert held(ops.bitwise_and(a, b)).tolist() == [[8, 2, 1]]
    assert held(ops.bitwise_or(a, 1)).tolist() == [[13, 7, -1]]
    assert held(ops.bitwise_xor(a, b)).tolist() == [[6, 5, -2]]
    assert held(ops.bitwise_left_shift(a, b)).tolist() == [[12288, 28, -2]]
    assert held(ops.bitwise_right_shift(a, 1)).tolist() == [[6, 3, -1]]
    with pytest.raises(
        RuntimeError,
        match="dtype DataType::FLOAT32 is not supported for binary operation BinaryOpType::BITWISE_AND",
    ):
        ops.bitwise_and(a, put(one, [[1.0, 1.0, 1.0]]))


def test_in_place_forms_and_other_names(one: MeshDevice):
    t, u = put(one, [[4.0, 6.0]]), put(one, [[2.0, 3.0]])
    buffer = t.storage
    assert ops.add_(t, u).storage is t.storage
    assert held(t).tolist() == [[6, 9]]
    assert held(ops.divide_(t, u)).tolist() == [[3, 3]]
    assert held(ops.multiply_(t, 2.0)).tolist() == [[6, 6]]
    assert held(ops.subtract_(t, u)).tolist() == [[4, 3]]
    assert t.storage is buffer
    assert ops.mul is ops.multiply
    assert ops.sub is ops.subtract


def test_tails_of_the_error_function(one: MeshDevice):
    x = np.concatenate([np.linspace(-40, -5.7, 500), np.linspace(5.7, 40, 500)]).astype(np.float32)[None]
    assert held(ops.erf(put(one, x))).tolist() == np.sign(x).tolist()
    tail = np.linspace(-9, -0.4, 500).astype(np.float32)[None]
    exact = [0.5 * v * math.erfc(-v * math.sqrt(0.5)) for v in tail[0].tolist()]
    np.testing.assert_allclose(held(ops.gelu(put(one, tail)))[0], exact, rtol=1e-5)
    np.testing.assert_allclose(
        held(ops.erfc(put(one, -tail)))[0], [math.erfc(-v) for v in tail[0].tolist()], rtol=1e-7
    )
    assert held(ops.sign(put(one, [[math.nan, -2.0, 0.0, 3.0]]))).tolist() == [[0, -1, 0, 1]]
    selu = held(ops.selu(put(one, [[-1.0, 2.0]]), scale=2.0, alpha=0.5)).tolist()[0]
    assert selu == pytest.approx([math.expm1(-1), 4.0])
    assert held(ops.gelu(put(one, x[:, 500:]))).tolist() == x[:, 500:].tolist()
    middle = np.linspace(-5, 5, 4001).astype(np.float32)[None]
    assert np.abs(held(ops.erf(put(one, middle))) - erf(middle.astype(float))).max() < 5e-7


@pytest.mark.parametrize("name", ["exp", "sqrt", "gelu", "sigmoid", "tanh", "floor", "softplus"])
def test_functions_of_real_numbers_refuse_integers(one: MeshDevice, name: str) -> None:
    tensor = put(one, np.arange(4, dtype=np.int32), DataType.INT32)
    with pytest.raises(RuntimeError) as error:
        getattr(ops, name)(tensor)
    assert message(error.value) == (
        f"Unary: UnaryOpType::{name.upper()} does not support integer input dtype DataType::INT32"
    )
    assert held(ops.relu6(put(one, np.arange(8, dtype=np.int32), DataType.INT32))).max() == 6


def test_float_scalars_and_tensors_of_integers(one: MeshDevice):
    t = put(one, [[1, -2, 3]], I32, ROW)
    for found in (ops.multiply(t, 2.5), ops.divide(t, 0.4)):
        assert found.dtype is F32
        assert held(found).tolist() == [[2.5, -5.0, 7.5]]
    assert ops.multiply(t, 2).dtype is I32
    assert ops.multiply(t, 2.0).dtype is F32
    assert held(ops.add(t, 2.0)).tolist() == [[3, 0, 5]]
    for name, scalar in (("add", 2.5), ("gt", math.nan), ("add", 2.0**31)):
        with pytest.raises(
            RuntimeError, match="only a finite integer within the range of DataType::INT32 survives"
        ):
            getattr(ops, name)(t, scalar)


def test_numbers_that_the_type_of_integers_does_not_hold(one: MeshDevice):
    """The larger and the smaller of two cut them; less than 32 bits are computed with the number as it is; others wrap integers."""
    t, short = put(one, [[1, -2, 3]], I32, ROW), put(one, [[0, 2, 5]], U16, ROW)
    wide = put(one, [[0, 2, 5]], U32, ROW)
    assert held(ops.maximum(t, 1.5)).tolist() == [[1, 1, 3]]
    assert held(ops.minimum(t, math.inf)).tolist() == [[1, -2, 3]]
    assert held(ops.maximum(t, 5e9)).tolist() == [[2**31 - 1] * 3]
    assert held(ops.gt(short, 1.5)).tolist() == [[0, 1, 1]]
    assert held(ops.multiply(short, 1.5)).tolist() == [[0, 3, 7]]
    assert held(ops.gt(short, math.nan)).tolist() == [[0, 0, 0]]
    assert held(ops.add(wide, -1)).tolist() == [[2**32 - 1, 1, 4]]
    with pytest.raises(RuntimeError, match=r"cannot represent the scalar -3\.0"):
        ops.add(wide, -3.0)
    for beyond in (2**32, 2.0**31):
        with pytest.raises(RuntimeError, match="cannot represent the scalar"):
            ops.add(t, beyond)
    assert held(ops.fill(wide, -1)).tolist() == [[2**32 - 1] * 3]
    with pytest.raises(RuntimeError, match="FILL value 70000 out of range for UInt16"):
        ops.fill(short, 70000)
    with pytest.raises(RuntimeError, match="RELU_MIN lower_limit -1 out of range for UInt16"):
        PARAMETRIC["relu_min"](short, -1)
    assert held(PARAMETRIC["relu_max"](t, math.inf)).tolist() == [[1, 0, 3]]


def test_numbers_chosen_among_integers(one: MeshDevice):
    t, wide = put(one, [[1, 0]], I32), put(one, [[1, 0]], U32)
    for tensor in (t, wide):
        found = ops.where(tensor, 2, -1)
        assert (found.dtype, held(found).tolist()) == (F32, [[2, -1]])
    assert held(ops.where(t, t, -4)).tolist() == [[1, -4]]
    for number in (2.5, math.inf, 5_000_000_000):
        with pytest.raises(RuntimeError, match=r"ttnn\.where with a DataType::INT32 tensor cannot represent"):
            ops.where(t, t, number)
    with pytest.raises(RuntimeError, match="DataType::UINT16 is not supported"):
        ops.where(put(one, [[1]], U16), 1, 2)


def test_quotients_and_limits_that_leave_the_integers(one: MeshDevice):
    t = put(one, [[7, -7]], I32)
    for found in (ops.floor_div(t, 2), ops.floor_div(t, put(one, [[2, 2]], I32))):
        assert (found.dtype, held(found).tolist()) == (F32, [[3, -4]])
    assert ops.clip(t, -1, 1).dtype is F32
    assert ops.clamp(t, -1, 1).dtype is I32
    assert ops.clamp(t, -1, 1 << 40).dtype is F32


@pytest.mark.parametrize(
    ("activation", "wanted"),
    [
        ((UnaryOpType.ADD_UNARY_SFPU, 7), [9.0, 11.0]),
        ((UnaryOpType.SUB_UNARY_SFPU, 7), [-5.0, -3.0]),
        ((UnaryOpType.MUL_UNARY_SFPU, 7), [14.0, 28.0]),
        ((UnaryOpType.DIV_UNARY_SFPU, 8), [0.25, 0.5]),
        ((UnaryOpType.POWER, 3), [8.0, 64.0]),
        ((UnaryOpType.RELU, 1), [2.0, 4.0]),
    ],
)
def test_an_activation_and_its_parameter_may_be_a_pair(
    one: MeshDevice, activation: tuple[UnaryOpType, float], wanted: list[float]
):
    x = put(one, [[1.0, 2.0]])
    assert held(ops.add(x, x, activations=[activation])).tolist() == [wanted]


def test_six_dimensions_broadcast_and_the_seventh_does_not(one: MeshDevice):
    six = ops.add(put(one, np.ones((2, 1, 1, 1, 2, 3))), put(one, np.ones((1, 1, 1, 1, 2, 3))))
    assert tuple(six.shape) == (2, 1, 1, 1, 2, 3)
    with pytest.raises(RuntimeError, match=r"for rank >= 7 at dimension index -7 \(output rank 7\)"):
        ops.add(put(one, np.ones((2, 1, 1, 1, 1, 2, 3))), put(one, np.ones((1, 1, 1, 1, 1, 2, 3))))


def test_products_below_the_smallest_numbers_are_rounded_in_large_tensors_too(one: MeshDevice) -> None:
    x = np.full((1, 1, 512, 512), 1.0078125 * 2.0**-66, np.float32)
    large, small = (ops.multiply(*[put(one, part, BF16)] * 2) for part in (x, x[..., :32, :32]))
    assert np.unique(held(large)).tolist() == np.unique(held(small)).tolist() == [2.0**-132]


def test_numbers_beside_integers_and_the_type_that_is_asked_for(one: MeshDevice) -> None:
    x = put(one, [[-7, -5, 5, 7, 9]], I32)
    assert held(call("div", x, 2.0, dtype=BF16)).tolist() == [[-3.5, -2.5, 2.5, 3.5, 4.5]]
    assert held(call("div", x, 2.0, dtype=I32)).tolist() == [[-3, -2, 2, 3, 4]]
    with pytest.raises(RuntimeError, match="Incorrect output_dtype value for Integer Division"):
        call("div", x, 2, dtype=BF16)
    short, unsigned = put(one, [[1, 2]], U16), put(one, [[1, 2]], U32)
    with pytest.raises(RuntimeError, match="Unary: UnaryOpType::REMAINDER does not support integer"):
        call("remainder", short, 2)
    with pytest.raises(RuntimeError, match="not supported for binary operation BinaryOpType::REMAINDER"):
        call("remainder", short, 2, dtype=F32)
    with pytest.raises(RuntimeError, match="Expected integer scalar divisor"):
        call("remainder", unsigned, 2.5)
    with pytest.raises(RuntimeError, match=r"tensor cannot represent the scalar 2\.5"):
        call("remainder", unsigned, 2.5, dtype=F32)
