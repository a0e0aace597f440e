"""Values where a table of plain calls does not go: infinities, wrapping integers, mixed element types, activations one after the other.

What is expected is what the reference library's golden function or its documentation says.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, F32, I32, U16, U32, held, put
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.elementwise.unary import GeluVariant
from tt_run.runtime.tuning.activation import UnaryOpType

INF, NAN = np.inf, np.nan
LARGE = 319_880_001  # an int32 whose third float32 neighbours differ from it
Operand = tuple[DataType, Any] | float | int
E = float(np.exp(np.float32(1)))


def _f(*values: float) -> Operand:
    return F32, list(values)


def _b(*values: float) -> Operand:
    return BF16, list(values)


BY_TORCH = ("i0", "i1")
"""Those of one operand that PyTorch computes, beside gradients."""

CASES: list[tuple[str, list[Any], dict[str, Any], DataType, Any]] = [
    ("relu_max", [_f(-3, 0.5, 3), -1.0], {}, F32, [0, 0, 0]),
    ("heaviside", [_f(NAN, -1, 0, 2), 0.5], {}, F32, [0, 0, 0.5, 1]),
    ("threshold", [_f(NAN, -1, 2), 0.0, 7.0], {}, F32, [NAN, 7, 2]),
    ("i0", [_f(88, 89, -90, NAN)], {}, F32, [7.0340195e36, INF, INF, NAN]),
    ("i1", [_f(88, 89, -90)], {}, F32, [6.9939383e36, 1.14987166e37, -1.14987166e37]),
    (
        "add",
        [_f(88, 89, -90, NAN), 0.0],
        {"activations": [UnaryOpType.I0]},
        F32,
        [7.0340195e36, INF, INF, NAN],
    ),
    (
        "add",
        [_f(88, 89, -90), 0.0],
        {"activations": [UnaryOpType.I1]},
        F32,
        [6.9939383e36, 1.14987166e37, -1.14987166e37],
    ),
    ("polyval", [_f(NAN, 1), [2.0]], {}, F32, [NAN, 2]),
    # Gradients on the bounds count, whatever torch's own say; where torch multiplies infinity with zero they have their limits.
    (
        "clamp_bw",
        [_f(1, 2, 3, 4, 5, 6), _f(-1, 1, 0, 2, NAN, -INF)],
        {"min": -1.0, "max": 1.0},
        F32,
        [1, 2, 3, 0, 0, 0],
    ),
    ("clip_bw", [_f(1, 2, 3), _f(-1, 1, -3)], {"max": -1.0}, F32, [1, 0, 3]),
    ("gelu_bw", [_f(2, 2, 2), _f(INF, -INF, 0)], {}, F32, [2, 0, 1]),
    ("gelu_bw", [_f(2, 2, 2), _f(INF, -INF, 0)], {"variant": GeluVariant.Tanh}, F32, [2, 0, 1]),
    ("atan2_bw", [_f(1, 1), _f(0, 1), _f(-0.0, 0)], {}, F32, [NAN, 0]),
    (
        "tanhshrink",
        [_f(0.004364, -6.0797e-06, 0, 1e-7, INF)],
        {},
        F32,
        [2.77031857e-8, -7.49074866e-17, 0, 3.3333334e-22, INF],
    ),
    ("hardsigmoid", [_f(-2.9996469020843506, -4, 4)], {}, F32, [5.8849653e-05, 0, 1]),
    ("div_bw", [_f(NAN, INF), _f(1, 2), 2.0], {"rounding_mode": "floor"}, F32, [0, 0]),
    ("gelu", [_f(3e38, -3e38)], {}, F32, [3e38, 0]),
    ("gelu", [_f(3e38, -3e38)], {"variant": GeluVariant.Tanh}, F32, [3e38, 0]),
    ("div_no_nan_bw", [_f(NAN, INF, 3), _f(1, 1, 1)], {"scalar": 2.0}, F32, [0, INF, 1.5]),
    ("div_no_nan_bw", [_f(NAN, INF, 3), _f(1, 1, 1)], {"scalar": 0.0}, F32, [0, 0, 0]),
    ("leaky_relu", [(U16, [0, 7, 65535])], {"negative_slope": 0.3}, U16, [0, 7, 65535]),
    ("rdiv", [_f(-INF, 4), 2.0], {"rounding_mode": "floor"}, F32, [-1, 0]),
    ("divide", [_f(INF, -7, 7), _f(2, 2, -2)], {"rounding_mode": "floor"}, F32, [NAN, -4, -4]),
    ("divide", [(I32, [LARGE, -7]), 7], {"rounding_mode": "trunc"}, I32, [LARGE // 7, -1]),
    ("divide", [(I32, [LARGE, -7]), (I32, [7, 2])], {"rounding_mode": "floor"}, I32, [LARGE // 7, -4]),
    ("divide", [(I32, [7, -7]), _f(2, 2)], {}, F32, [3.5, -3.5]),
    ("floor_div", [(I32, [7, -7]), _f(2, 2)], {}, F32, [3, -4]),
    ("multiply", [(I32, [7, -7]), _f(0.5, 2)], {}, F32, [3.5, -14]),
    ("remainder", [(I32, [7, -7]), 2.5], {}, F32, [2, 0.5]),
    ("remainder", [(I32, [7, -7]), 4], {}, I32, [3, 1]),
    ("fmod", [(I32, [7, -7]), 4.0], {}, F32, [3, -3]),
    ("pow", [(I32, [65536, -3]), 2], {}, I32, [0, 9]),
    ("pow", [(U32, [65537, 3]), 2], {}, U32, [131073, 9]),
    ("bitwise_right_shift", [(U32, [2**31, 8]), 40], {}, U32, [2**32 - 1, 0]),
    ("bitwise_right_shift", [(U32, [2**32 - 4, 101]), (U32, [1, 31])], {}, U32, [2**32 - 2, 0]),
    ("addcmul", [(U32, [0, 1]), (U32, [1, 1]), (U32, [1, 2])], {"value": float(2**31 + 7)}, U32, [2**31, 1]),
    ("bitwise_right_shift", [(I32, [-8, 8]), (I32, [1, 40])], {}, I32, [-4, 0]),
    ("bitwise_left_shift", [(I32, [1, 1]), (I32, [31, 40])], {}, I32, [-(2**31), 0]),
    ("bitwise_right_shift", [(I32, [-8, 8, -8]), (I32, [40, 40, -1])], {}, I32, [-1, 0, -1]),
    ("pow", [_f(-INF, 4), 0.5], {}, F32, [NAN, 2]),
    ("pow", [_f(-INF, 4), -0.5], {}, F32, [NAN, 0.5]),
    # A number beside BFLOAT16 is rounded to it first in sums and comparisons, not in products.
    ("eq", [_b(1.7, 1.695), 1.7], {}, BF16, [1, 0]),
    ("ne", [_b(0.05, 1), 0.05], {}, BF16, [0, 1]),
    ("gt", [_b(1.7, 1.71), 1.7], {}, BF16, [0, 1]),
    ("ge", [_b(-0.3, -0.301), -0.3], {}, BF16, [1, 1]),
    ("lt", [_b(-0.3, 36.5), 36.49], {}, BF16, [1, 0]),
    ("le", [_b(0.05, 36.5), 36.49], {}, BF16, [1, 1]),
    ("eq_", [_b(1.7, 1.695), 1.7], {}, BF16, [1, 0]),
    ("subtract", [_b(1.7, 0), 1.7], {}, BF16, [0, -1.703125]),
    ("add", [_b(-36.5, 0.1), 36.49], {}, BF16, [0, 36.5]),
    ("rsub", [_b(36.5, 0), 36.49], {}, BF16, [0, 36.5]),
    ("add", [1.7, _b(0.1, -1.7)], {}, BF16, [1.8046875, 0]),
    ("squared_difference", [_b(1.7, 0), 1.7], {}, BF16, [0, 2.90625]),
    # Of BFLOAT16 the difference, the logarithm and the sum are rounded first, as golden functions and a device have it.
    ("squared_difference", [_b(-9.9375), _b(11)], {}, BF16, [440]),
    ("xlogy", [_b(-9.9375, 0), _b(11, 0)], {}, BF16, [-23.75, 0]),
    ("bias_gelu", [_b(0.00390625, 0.75), _b(1, 128)], {}, BF16, [0.83984375, 129]),
    ("multiply", [_b(1.703125, 1), 36.49], {}, BF16, [62.25, 36.5]),
    ("eq", [_f(1.7, 1.703125), 1.7], {}, F32, [1, 0]),
    ("hardshrink", [_b(-36.5, 36.75, 37)], {"lambd": 36.49}, BF16, [0, 36.75, 37]),
    ("lcm", [(I32, [2, -32]), (I32, [2**31 - 1, -(2**31) + 1])], {}, I32, [2, 32]),
    ("isclose", [(I32, [1, -(2**31)]), (I32, [-(2**31) + 1, 2**31 - 1])], {}, F32, [0, 0]),
    ("clamp", [(I32, [1, -9]), None, 0.5], {}, F32, [0.5, -9]),
    ("clamp", [(I32, [1, -9]), -2], {}, I32, [1, -2]),
    *(
        (name, [(F32, 3.0)], {"dim": 0, "scalar": 2.0}, F32, 3.0)
        for name in ("sum", "mean", "max", "std", "var")
    ),
    *((name, [(F32, 3.0), 0], {}, F32, 3.0) for name in ("cumsum", "cumprod", "prod")),
    ("softmax", [(F32, 3.0), -1], {}, F32, 1.0),
    ("sum", [(F32, np.ones((3, 0)))], {"dim": 1}, F32, [0, 0, 0]),
    *((name, [(F32, np.ones((3, 0)))], {"dim": 1}, F32, [NAN] * 3) for name in ("mean", "std", "var")),
    # An integer of 32 bits without a sign stands for its bits.
    ("add", [(I32, [1, -1]), 2**31], {}, I32, [1 - 2**31, 2**31 - 1]),
    ("lt", [(I32, [0, -7]), 2**32 - 1], {}, I32, [0, 1]),
    ("rsub", [(I32, [0, 5]), 2**32 - 1], {}, I32, [-1, -6]),
    ("where", [(I32, [1, 0]), 2**31, 5], {}, I32, [-(2**31), 5]),
    ("where", [(U32, [1, 0]), 5, 2**32 - 1], {}, U32, [5, 2**32 - 1]),
    ("div_no_nan", [(I32, [3, -4]), _f(1.5, 0)], {}, F32, [2, 0]),
    ("div_no_nan", [_f(1.5, 2), (U32, [3, 0])], {}, F32, [0.5, 0]),
    ("clamped_silu_glu", [(U32, [3, 0]), _f(1.5, 2), 1.0], {}, F32, [0.7310586, 0]),
    ("isclose", [(I32, [3, -4]), _f(3, 1)], {}, F32, [1, 0]),
    ("where", [(U32, [1, 0]), -1, 2**31], {}, F32, [-1, 2**31]),
    ("typecast", [_f(INF, -INF, 5e9, -1), U32], {}, U32, [0, 0, 2**32 - 1, 0]),
    ("softmax", [_f(-INF, -INF)], {}, F32, [NAN, NAN]),
    ("where", [_f(0.5, 0), (I32, [3, 3]), (I32, [4, 4])], {}, I32, [3, 4]),
    ("lerp", [_f(-INF, 2), _f(5, INF), 1.0], {}, F32, [NAN, NAN]),
    (
        "rsub",
        [_f(1, -2), _f(3, 0)],
        {"input_tensor_b_activations": [UnaryOpType.NEZ, UnaryOpType.EXP]},
        F32,
        [E - 1, 3],
    ),
    (
        "rsub",
        [_f(1, -2), _f(3, -1)],
        {"input_tensor_a_activations": [UnaryOpType.GTZ], "activations": [UnaryOpType.GEZ, UnaryOpType.NEG]},
        F32,
        [-1, 0],
    ),
    ("add", [_f(1, -2), 0.0], {"input_tensor_b_activations": [UnaryOpType.SIGMOID]}, F32, [1.5, -1.5]),
]


@pytest.mark.parametrize(
    ("name", "given", "keywords", "dtype", "wanted"),
    # PyTorch computes the gradients.
    [
        pytest.param(*case, marks=pytest.mark.torch if case[0].endswith(("_bw", *BY_TORCH)) else ())
        for case in CASES
    ],
)
def test_values_at_the_corners(
    one: MeshDevice, name: str, given: list[Any], keywords: dict[str, Any], dtype: DataType, wanted: Any
):
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    operands = [put(one, np.array(g[1]), g[0]) if isinstance(g, tuple) else g for g in given]
    result = operation(*operands, **keywords)
    result = result[0] if name.endswith("_bw") else result
    assert result.dtype is dtype
    np.testing.assert_allclose(held(result).astype(np.float64), wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "given", "keywords", "wanted"),
    [
        ("gelu_bw", [[-11.75, -6.75, 9]], {}, [-4.87441344e-30, -3.36516054e-10, 1]),
        ("gelu_bw", [[-6, 12, -12]], {"variant": GeluVariant.Tanh}, [-7.70997393e-10, 1, 0]),
        ("bias_gelu_bw", [[-3.75, 9, -3e38], [-3, 3, -3e38]], {}, [-3.36516054e-10, 1, 0]),
        ("tanh_bw", [[0, 18, -30.625, INF]], {}, [1, 9.27809132e-16, 1.00351293e-26, 0]),
    ],
)
@pytest.mark.torch
def test_slopes_keep_their_digits_far_from_zero(
    one: MeshDevice, name: str, given: list[list[float]], keywords: dict[str, Any], wanted: list[float]
):
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    operands = [put(one, np.array(values)) for values in ([1.0] * len(wanted), *given)]
    found = operation(*operands, **keywords)[0]
    np.testing.assert_allclose(held(found), wanted, rtol=1e-5)


@pytest.mark.parametrize(
    ("exponent", "words"),
    [
        (0.5, "pow: DataType::INT32 input requires an integral exponent, got 0.5"),
        (1 << 31, "pow: DataType::INT32 input requires an integral exponent, got 2.1474836e\\+09"),
        (float("inf"), "requires an integral exponent, got inf"),
        (-1, "pow: integers to negative integer powers are not allowed, got -1"),
        ("tensor", "POWER: tensor exponents are not supported for integer inputs"),
    ],
)
def test_integers_are_raised_to_whole_numbers_alone(one: MeshDevice, exponent: Any, words: str):
    operation = catalog.find("ttnn.pow")
    assert operation is not None
    tensor = put(one, np.array([2, 3]), I32)
    with pytest.raises(RuntimeError, match=words):
        operation(tensor, tensor if exponent == "tensor" else exponent)


@pytest.mark.parametrize("name", ["relu_min", "relu_max", "heaviside", "rpow", "softcap"])
def test_a_tensor_is_no_number(one: MeshDevice, name: str):
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    tensor = put(one, np.ones((2, 2)))
    with pytest.raises(TypeError, match=r"must be of type float, not ttnn\._ttnn\.tensor\.Tensor"):
        operation(tensor, tensor)


@pytest.mark.parametrize(
    ("axis", "count", "said"),
    [
        (None, 3, "has one value, or one for each of the"),
        *((*case, "match the size") for case in ((0, 3), (1, 2))),
    ],
)
def test_levels_of_a_quantization_are_as_many_as_its_axis_has(
    one: MeshDevice, axis: int | None, count: int, said: str
):
    operation = catalog.find("ttnn.quantize")
    assert operation is not None
    with pytest.raises(RuntimeError, match=said):
        operation(put(one, np.ones((2, 3))), put(one, np.ones(count)), 0, axis=axis)
