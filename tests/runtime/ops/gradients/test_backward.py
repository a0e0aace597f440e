"""Backward operations against PyTorch's gradients in float64, of forward functions that the test names itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.runtime.ops.golden import compare
from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, U8, U16, U32, held, put, rounded
from tests.sweep import sweep
from tt_run.runtime import catalog
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import HEIGHT_SHARDED, BufferType, DataType, Layout, ShardOrientation
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.elementwise.unary import GeluVariant
from tt_run.runtime.ops.gradients import formulas
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.conversion.layouts import to_memory_config
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG as DRAM
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG as L1
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.values.bfloat16 import BFLOAT16, to_wire

torch = pytest.importorskip("torch")
CORES = MemoryConfig(
    HEIGHT_SHARDED,
    BufferType.L1,
    ShardSpec(
        CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(0, 0))]), (32, 32), ShardOrientation.ROW_MAJOR
    ),
)
B8 = DataType.BFLOAT8_B
pytestmark = pytest.mark.torch
F = torch.nn.functional
WIDE, POSITIVE, UNIT = (-4, 4), (0.3, 4), (-0.9, 0.9)

PLAIN = dict.fromkeys(["abs", "asinh", "atan", "cos", "cosh", "deg2rad", "erf", "erfc", "exp", "exp2", "expm1", "frac", "i0", "neg", "rad2deg", "relu", "selu", "sigmoid", "sin", "sinh", "square", "tanh"], WIDE)  # fmt: skip
PLAIN |= dict.fromkeys(("acos", "asin", "atanh", "erfinv", "tan"), UNIT)
PLAIN |= dict.fromkeys(
    ["digamma", "lgamma", "log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sqrt"], POSITIVE
)
ONE: list[tuple[str, Callable[..., Any], tuple[float, float], list[Any], dict[str, Any]]] = [
    *((name, getattr(torch, name), domain, [], {}) for name, domain in PLAIN.items()),
    ("acosh", torch.acosh, (1.2, 5), [], {}),
    ("logit", torch.logit, (0.05, 0.95), [], {}),
    ("multigammaln", lambda x: torch.mvlgamma(x, 4), (2, 6), [], {}),
    *((name, getattr(F, name), WIDE, [], {}) for name in ["hardsigmoid", "hardswish", "relu6", "silu", "softsign", "tanhshrink"]),
    ("log_sigmoid", F.logsigmoid, WIDE, [], {}),
    ("gelu", F.gelu, WIDE, [], {}),
    ("celu", lambda x: F.celu(x, 1.5), WIDE, [], {"alpha": 1.5}),
    ("elu", lambda x: F.elu(x, 0.5), WIDE, [], {"alpha": 0.5}),
    ("hardshrink", lambda x: F.hardshrink(x, 1.0), WIDE, [], {"lambd": 1.0}),
    ("softshrink", lambda x: F.softshrink(x, 1.0), WIDE, [], {"lambd": 1.0}),
    ("hardtanh", lambda x: F.hardtanh(x, -2, 3), WIDE, [], {"min": -2.0, "max": 3.0}),
    ("leaky_relu", lambda x: F.leaky_relu(x, 0.2), WIDE, [], {"negative_slope": 0.2}),
    ("logiteps", lambda x: torch.logit(x, 0.1), (0.01, 0.99), [], {"eps": 0.1}),
    ("softplus", lambda x: F.softplus(x, 2.0, 3.0), WIDE, [], {"beta": 2.0, "threshold": 3.0}),
    ("threshold", lambda x: F.threshold(x, 0.5, 2.0), WIDE, [0.5, 2.0], {}),
    ("polygamma", lambda x: torch.polygamma(2, x), POSITIVE, [2], {}),
    ("div_no_nan", lambda x: x / 2, WIDE, [2.0], {}),
    ("div_no_nan", lambda x: x * 0, WIDE, [0.0], {}),
    ("pow", lambda x: x**2.5, POSITIVE, [2.5], {}),
    ("rpow", lambda x: x**2.5, POSITIVE, [2.5], {}),
    ("rdiv", lambda x: 3 / x, POSITIVE, [3.0], {}),
    ("clamp", lambda x: x.clamp(-1, 2), WIDE, [-1.0, 2.0], {}),
    ("clip", lambda x: x.clamp(max=2), WIDE, [], {"max": 2.0}),
    ("add", lambda x: x + 2, WIDE, [2.0], {}),
    ("sub", lambda x: x - 2, WIDE, [2.0], {}),
    ("mul", lambda x: x * 2.5, WIDE, [2.5], {}),
    ("div", lambda x: x / 2.5, WIDE, [2.5], {}),
    ("fmod", lambda x: torch.fmod(x, 1.5), WIDE, [1.5], {}),
    ("remainder", lambda x: torch.remainder(x, 1.5), WIDE, [1.5], {}),
    ("prod", lambda x: x.prod().reshape(1, 1, 1, 1), (0.98, 1.02), [], {}),
    ("prod", lambda x: x.prod(-1, keepdim=True), POSITIVE, [], {"dim": -1}),
    ("repeat", lambda x: x.repeat(1, 1, 2, 3), WIDE, [(1, 1, 2, 3)], {}),
]  # fmt: skip
TWO: list[tuple[str, Callable[..., Any], list[Any]]] = [
    *(
        (name, getattr(torch, name), [])
        for name in ["atan2", "hypot", "logaddexp", "logaddexp2", "max", "min", "xlogy"]
    ),
    ("ldexp", lambda x, y: x * torch.exp2(y), []),
    ("squared_difference", lambda x, y: (x - y) ** 2, []),
    ("add", lambda x, y: x + y, []),
    ("sub", lambda x, y: x - y, []),
    ("rsub", lambda x, y: y - x, []),
    ("mul", lambda x, y: x * y, []),
    ("div", lambda x, y: x / y, []),
    ("fmod", torch.fmod, []),
    ("remainder", torch.remainder, []),
    ("addalpha", lambda x, y: x + 2.5 * y, [2.5]),
    ("subalpha", lambda x, y: x - 2.5 * y, [2.5]),
    ("concat", lambda x, y: torch.cat((x, y), 2), [2]),
    ("assign", lambda x, y: x + y, []),
    ("bias_gelu", lambda x, y: F.gelu(x + y), []),
]


def sample(shape: tuple[int, ...], low: float, high: float, dtype: DataType, seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)
    return rounded(values, dtype)


def agree(
    device: MeshDevice, name: str, forward: Callable[..., Any], operands: list[np.ndarray],
    arguments: list[Any], keywords: dict[str, Any], dtype: DataType,
) -> None:  # fmt: skip
    """`<name>_bw` gives the gradients of `forward` with respect to all operands."""
    leaves = [torch.from_numpy(o.astype(np.float64)).requires_grad_() for o in operands]
    result = forward(*leaves)
    gradient = sample(tuple(result.shape), -2, 2, dtype, 9)
    result.backward(torch.from_numpy(gradient.astype(np.float64)))
    operation = catalog.find(f"ttnn.{name}_bw")
    assert operation is not None
    found = operation(
        put(device, gradient, dtype), *(put(device, o, dtype) for o in operands), *arguments, **keywords
    )
    assert len(found) == len(leaves)
    for one, leaf in zip(found, leaves, strict=True):
        assert one.dtype is dtype
        compare(one, leaf.grad.numpy(), 24.0 if dtype is F32 else 2.0)


@pytest.mark.parametrize("dtype", sweep([F32, BF16], quick=[BF16]))
@pytest.mark.parametrize(
    ("name", "forward", "domain", "arguments", "keywords"), ONE, ids=[f"{n}{i}" for i, (n, *_) in enumerate(ONE)]
)  # fmt: skip
def test_one_operand(
    one: MeshDevice, name: str, forward: Any, domain: Any, arguments: Any, keywords: Any, dtype: DataType
) -> None:
    x = sample((1, 2, 5, 40), *domain, dtype, 1)
    agree(one, name, forward, [x], arguments, keywords, dtype)


@pytest.mark.parametrize("dtype", sweep([F32, BF16], quick=[BF16]))
@pytest.mark.parametrize(("name", "forward", "arguments"), TWO, ids=[name for name, *_ in TWO])
def test_two_operands(one: MeshDevice, name: str, forward: Any, arguments: Any, dtype: DataType) -> None:
    x, y = sample((1, 2, 5, 40), 0.3, 4, dtype, 1), sample((1, 2, 5, 40), 0.4, 3, dtype, 2)
    agree(one, name, forward, [x, y], arguments, {}, dtype)


@pytest.mark.parametrize(
    ("name", "forward", "arguments"),
    [
        ("addcdiv", lambda x, y, z: x + 1.5 * y / z, [1.5]),
        ("addcmul", lambda x, y, z: x + 1.5 * y * z, [1.5]),
        ("lerp", torch.lerp, []),
    ],
)
def test_three_operands(one: MeshDevice, name: str, forward: Any, arguments: Any) -> None:
    operands = [sample((1, 1, 5, 40), 0.3, 4, F32, seed) for seed in (1, 2, 3)]
    agree(one, name, forward, operands, arguments, {}, F32)


@pytest.mark.parametrize("name", ["ceil", "floor", "round", "sign", "trunc", "fill", "fill_zero"])
def test_steps_have_no_gradient(one: MeshDevice, name: str) -> None:
    x = put(one, sample((32, 32), -4, 4, F32, 1))
    (found,) = catalog.find(f"ttnn.{name}_bw")(x, x)  # type: ignore[misc]
    compare(found, np.zeros((32, 32)), 0)


def test_where_chooses_and_embedding_sums(one: MeshDevice) -> None:
    gradient = sample((4, 8), -2, 2, F32, 3)
    mask = (np.arange(32).reshape(4, 8) % 3 == 0).astype(np.float32)
    where = catalog.find("ttnn.where_bw")
    assert where is not None
    first, second = where(*(put(one, a) for a in (gradient, mask, gradient, gradient)))
    compare(first, gradient * mask, 0)
    compare(second, gradient * (1 - mask), 0)
    table, indices = sample((6, 8), -1, 1, F32, 4), np.array([[1, 1, 5, 0]], np.uint32)
    embedding = catalog.find("ttnn.embedding_bw")
    assert embedding is not None
    given, rows = put(one, indices, U32, ROW), put(one, table)
    slopes = put(one, gradient.reshape(1, 1, 4, 8), BF16)
    found = embedding(given, rows, slopes)
    wanted = np.zeros((6, 8))
    np.add.at(wanted, indices.ravel(), slopes.shards.data.reshape(4, 8).astype(float))
    compare(found, wanted[None, None], 4)
    assert (found.dtype, found.layout) == (BF16, TILE)
    with pytest.raises(RuntimeError, match="Output gradient tensor must be BFLOAT16 or BFLOAT8_B"):
        embedding(given, rows, put(one, gradient.reshape(1, 1, 4, 8)))


def test_gradients_nobody_asked_for_are_none_and_room_is_used(one: MeshDevice) -> None:
    multiply = catalog.find("ttnn.mul_bw")
    assert multiply is not None
    x, y, g = (put(one, sample((32, 32), 1, 2, F32, seed)) for seed in (1, 2, 3))
    first, second = multiply(g, x, y, are_required_outputs=[True, False])
    assert second is None
    room = put(one, np.zeros((32, 32), np.float32))
    (again, _) = multiply(g, x, y, input_grad=room)
    assert again.storage is room.storage
    compare(room, first.cpu().to_numpy(), 0)


@pytest.mark.parametrize(
    ("name", "dtype", "more", "words"),
    [
        ("exp_bw", I32, [], "Unary: UnaryOpType::EXP does not support integer input dtype DataType::INT32"),
        ("acos_bw", U32, [], "UnaryOpType::NEG does not support integer input dtype DataType::UINT32"),
        ("lerp_bw", U8, [0.5], "Input tensor A dtype DataType::UINT8 is not supported for binary operation BinaryOpType::RSUB"),
        ("clamp_bw", U8, [-1, 1], "Input tensor A dtype DataType::UINT16 is not supported for binary operation BinaryOpType::WHERE_TTS"),
        ("tanh_bw", U16, [], "TANH_BW operation only supports floating-point dtypes"),
        ("bias_gelu_bw", I32, [1.0], "GELU_BW operation only supports floating-point dtypes"),
        ("mul_bw", I32, [2.0], "MUL_BW requires floating-point the grad_output tensor"),
        ("prod_bw", U32, [], "unsupported data type for prod, expected BFLOAT16, FLOAT32, BFLOAT8_B or BFLOAT4_B but got DataType::UINT32"),
        ("clamp_bw", U32, [-1, 1], "clamp_bw does not support integer input dtype"),
    ],
)  # fmt: skip
def test_integers_are_refused_by_the_step_that_does_not_take_them(
    one: MeshDevice, name: str, dtype: DataType, more: list[Any], words: str
) -> None:
    x = put(one, np.ones((32, 32), np.int32), dtype)
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    tensors = [x, x, x] if name == "lerp_bw" else [x, x]
    with pytest.raises(RuntimeError, match=words):
        operation(*tensors, *more)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("pow_bw", {"exponent": -0.01}, "negative exponents are not supported; use recip"),
        ("gelu_bw", {"variant": GeluVariant.FastLut}, "GELU_BW does not support GeluVariant::FAST_LUT"),
        ("bias_gelu_bw", {"bias": 1.0, "variant": GeluVariant.FastLut}, "no matching backward kernel"),
        ("polygamma_bw", {"n": 11}, r"polygamma order must be in range \[1, 11\], got 12"),
    ],
)
def test_forms_without_a_gradient(one: MeshDevice, name: str, arguments: dict[str, Any], words: str):
    x = put(one, np.ones((32, 32)))
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    with pytest.raises(RuntimeError, match=words):
        operation(x, x, **arguments)


def test_concat_gives_back_integers_along_any_dimension_of_four(one: MeshDevice):
    whole = np.arange(2**30, 2**30 + 32 * 48, dtype=np.int64).reshape(1, 1, 32, 48).astype(np.int32)
    concat = catalog.find("ttnn.concat_bw")
    assert concat is not None
    parts = [put(one, np.zeros((1, 1, 32, n), np.int32), I32) for n in (32, 16)]
    first, second = concat(put(one, whole, I32), *parts, -1)
    np.testing.assert_array_equal(held(first), whole[..., :32])
    np.testing.assert_array_equal(held(second), whole[..., 32:])
    flat = [put(one, np.ones((32, n))) for n in (64, 32, 32)]
    with pytest.raises(
        RuntimeError, match="expects rank-4 tensors, got grad rank 2, input rank 2, other rank 2"
    ):
        concat(*flat, 1)


@pytest.mark.parametrize("dtype", [F32, BF16])
def test_a_number_over_a_small_tensor_has_the_slope_of_a_quotient(one: MeshDevice, dtype: DataType):
    rdiv = catalog.find("ttnn.rdiv_bw")
    assert rdiv is not None
    (found,) = rdiv(put(one, np.ones((1, 1)), dtype), put(one, np.full((1, 1), 1e-20), dtype), 1e-30)
    np.testing.assert_allclose(held(found), -1e10, rtol=0.02)


@pytest.mark.parametrize(
    ("name", "shapes", "words"),
    [
        ("mul_bw", [(4, 6), (4, 6), (4, 5)], r"operand shape Shape\(\[4, 5\]\) not broadcastable to grad shape Shape\(\[4, 6\]\) at axis 1"),
        ("mul_bw", [(1, 6), (4, 6), (4, 6)], r"at axis 0 \(operand_dim=4, grad_dim=1\)"),
        ("add_bw", [(4, 6), (1, 6), (4, 6)], r"Input tensor shape Shape\(\[4, 6\]\) does not match output tensor shape Shape\(\[1, 6\]\)"),
        ("add_bw", [(4, 6), (4, 6), (1, 6)], r"Shape of Output tensor Shape\(\[1, 6\]\) provided does not match the broadcasted output"),
        ("sub_bw", [(4, 6), (4, 6), (1, 6)], r"Computed: Shape\(\[4, 6\]\), Preallocated: Shape\(\[1, 6\]\)"),
        ("tanh_bw", [(1, 6), (4, 6)], r"TANH_BW operation requires grad_output and input to have the same logical shape"),
        ("hypot_bw", [(4, 6), (4, 6), (4, 5)], r"hypot_bw: the shapes Shape\(\[4, 6\]\), Shape\(\[4, 6\]\), Shape\(\[4, 5\]\) do not broadcast"),
        ("concat_bw", [(1, 1, 4, 6), (1, 1, 4, 6), (1, 1, 4, 5)], r"concat_bw: the shapes Shape\(\[1, 1, 4, 6\]\), .* do not fit"),
        ("exp_bw", [(4, 5), (4, 6)], r"exp_bw: the shapes Shape\(\[4, 5\]\), Shape\(\[4, 6\]\) do not broadcast"),
    ],
)  # fmt: skip
def test_shapes_that_do_not_go_with_the_gradient(
    one: MeshDevice, name: str, shapes: list[tuple[int, ...]], words: str
):
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    with pytest.raises(RuntimeError, match=words):
        operation(*(put(one, np.ones(shape)) for shape in shapes))


@pytest.mark.parametrize(
    ("times", "dtype", "layout", "words"),
    [
        ((2, 2, 1, 1), BF16, TILE, r"repeat\[1\], \[2\], \[3\] should be 1"),
        ((1, 2, 2, 1), BF16, TILE, r"repeat\[0\], \[2\], \[3\] should be 1"),
        ((2, 1, 1, 1), F32, TILE, r"moreh_sum input only supports specific data types. \[BFLOAT16, INT32\]"),
        ((2, 1, 1, 1), BF16, ROW, "moreh_sum input only supports TILE layout."),
    ],
)
def test_repeats_that_are_not_added_up(
    one: MeshDevice, times: tuple[int, ...], dtype: DataType, layout: Layout, words: str
):
    repeat = catalog.find("ttnn.repeat_bw")
    assert repeat is not None
    gradient, x = (put(one, np.ones(shape), dtype, layout) for shape in (times, (1, 1, 1, 1)))
    with pytest.raises(RuntimeError, match=words):
        repeat(gradient, x, times)


@pytest.mark.parametrize(
    ("name", "types", "wanted"),
    [
        ("mul_bw", (F32, BF16, B8), (BF16, B8)),
        ("assign_bw", (BF16, F32, BF16), (F32, BF16)),
        ("ldexp_bw", (F32, BF16, B8), (F32, BF16)),
        ("max_bw", (BF16, F32, BF16), (BF16, BF16)),
        ("tanh_bw", (BF16, F32), (F32,)),
        ("log_bw", (F32, BF16), (F32,)),
        ("square_bw", (BF16, F32), (BF16,)),
    ],
)
def test_each_gradient_has_the_type_that_the_reference_gives_it(
    one: MeshDevice, name: str, types: tuple[DataType, ...], wanted: tuple[DataType, ...]
):
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    values = [np.random.default_rng(n).uniform(1, 2, (32, 32)) for n in range(len(types))]
    found = operation(*(put(one, v, t) for v, t in zip(values, types, strict=True)))
    whole = operation(*(put(one, rounded(v, t)) for v, t in zip(values, types, strict=True)))
    assert tuple(t.dtype for t in found) == wanted
    for ours, exact in zip(found, whole, strict=True):
        np.testing.assert_allclose(held(ours), held(exact), rtol=0.02)


@pytest.mark.parametrize(
    ("name", "places", "wanted"),
    [
        ("add_bw", (L1, DRAM, L1), (DRAM, L1)),
        ("concat_bw", (DRAM, L1, DRAM), (L1, DRAM)),
        ("atan2_bw", (L1, L1, DRAM), (DRAM, L1)),
        ("min_bw", (DRAM, DRAM, L1), (L1, L1)),
        ("softplus_bw", (L1, DRAM), (DRAM,)),
        ("sin_bw", (L1, DRAM), (L1,)),
        ("sin_bw", (DRAM, CORES), (CORES,)),
        ("acos_bw", (L1, DRAM), (DRAM,)),
        ("log_bw", (CORES, L1), (CORES,)),
        ("sqrt_bw", (CORES, DRAM), (DRAM,)),
        ("relu_bw", (DRAM, CORES), (DRAM,)),
        ("max_bw", (DRAM, CORES, L1), (L1, L1)),
        ("hypot_bw", (CORES, DRAM, CORES), (DRAM, DRAM)),
        ("fmod_bw", (DRAM, DRAM, CORES), (DRAM, CORES)),
        ("xlogy_bw", (DRAM, CORES, DRAM), (DRAM, CORES)),
        ("bias_gelu_bw", (CORES, L1, DRAM), (L1, L1)),
    ],
)
def test_each_gradient_lies_where_the_reference_leaves_it(
    one: MeshDevice, name: str, places: tuple[MemoryConfig, ...], wanted: tuple[MemoryConfig, ...]
):
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    shapes = [(2 if name == "concat_bw" and not n else 1, 1, 32, 32) for n in range(len(places))]
    given = [to_memory_config(put(one, np.ones(s)), p) for s, p in zip(shapes, places, strict=True)]
    assert tuple(t.memory_config() for t in operation(*given)) == wanted
    stays = {DRAM} if name == "fmod_bw" else set()
    assert {t.memory_config() for t in operation(*given, memory_config=L1)} == {L1} | stays


@pytest.mark.parametrize(
    ("name", "types", "words"),
    [
        ("concat_bw", (BF16, B8, B8), "grad is of DataType::BFLOAT16"),
        ("relu_bw", (BF16, F32), "Mixed dtype"),
        ("max_bw", (F32, BF16, BF16), "Mixed dtype"),
        ("xlogy_bw", (BF16, F32, BF16), "Mixed dtype"),
        ("logaddexp_bw", (B8, B8, B8), "BFLOAT8_B/BFLOAT4_B dtypes are not supported"),
    ],
)
def test_types_that_do_not_go_with_the_gradient(
    one: MeshDevice, name: str, types: tuple[DataType, ...], words: str
):
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    shapes = [(2 if name == "concat_bw" and not n else 1, 1, 32, 32) for n in range(len(types))]
    with pytest.raises(RuntimeError, match=words):
        operation(*(put(one, np.ones(s), t) for s, t in zip(shapes, types, strict=True)))


@pytest.mark.parametrize("name", ["atan2_bw", "squared_difference_bw", "relu_bw", "log_bw"])
@pytest.mark.parametrize("shape", [(4, 6), (1, 1, 4, 6)], ids=str)
def test_a_gradient_of_a_wider_shape_takes_its_operands_along(
    one: MeshDevice, name: str, shape: tuple[int, ...]
) -> None:
    operation, wide = catalog.find(f"ttnn.{name}"), (2, 3, 4, 6)
    assert operation is not None
    gradient, x, y = (np.random.default_rng(n).uniform(1, 2, wide) for n in range(3))
    operands = [x[:1, :1], y[:1, :1]][: 1 if name in ("relu_bw", "log_bw") else 2]
    found = operation(put(one, gradient), *(put(one, v.reshape(shape)) for v in operands))
    wanted = operation(put(one, gradient), *(put(one, np.broadcast_to(v, wide)) for v in operands))
    for ours, theirs in zip(found, wanted, strict=True):
        assert np.array_equal(held(ours), held(theirs))


@pytest.mark.parametrize(
    ("name", "numbers", "words", "refused"),
    [
        ("div_bw", (2.0,), {"rounding_mode": "tanh"}, "Incorrect rounding mode"),
        ("rdiv_bw", (2.0,), {"rounding_mode": ""}, "Incorrect rounding mode"),
        ("bias_gelu_bw", (2.0,), {"approximate": "trunc"}, "Incorrect approximation type"),
    ],
)
def test_modes_that_do_not_exist(
    one: MeshDevice, name: str, numbers: tuple[float, ...], words: dict[str, str], refused: str
) -> None:
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    with pytest.raises(RuntimeError, match=refused):
        operation(put(one, np.ones((4, 6))), put(one, np.ones((4, 6))), *numbers, **words)


@pytest.mark.parametrize(
    ("name", "factors", "wanted"),
    [
        ("abs_bw", (), [[0.6, 0.8]]),
        ("add_bw", (2.0,), [[1, 1], [2, 2]]),
        ("sub_bw", (2.0,), [[1, 1], [-2, -2]]),
        ("mul_bw", (), [[3, -1], [7, -1]]),
        ("div_bw", (), [[-1 / 5, 3 / 5], [17 / 25, -31 / 25]]),
    ],
)
def test_goldens_of_complex_operands_have_parts_side_by_side(
    name: str, factors: tuple[float, ...], wanted: list[list[float]]
) -> None:
    operation = catalog.find(f"ttnn.{name}")
    assert operation is not None
    a, b = torch.tensor([[3 + 4j]]), torch.tensor([[1 + 2j]])
    operands = (a,) if name == "abs_bw" else (a, b)
    gradient = torch.ones(1, 1) if name == "abs_bw" else torch.tensor([[1 + 1j]])
    found = operation.golden_function(gradient, *operands, *factors)
    assert all(torch.allclose(z[0], torch.tensor(w).float()) for z, w in zip(found, wanted, strict=True))


def test_product_of_everything_reads_the_first_of_its_gradient(one: MeshDevice):
    """The gradient may have the operand's shape; only its first element counts, as on a device."""
    given = np.full((1, 1, 2, 3), 9.0)
    given[0, 0, 0, 0] = 2.0
    values = np.arange(1.0, 7.0).reshape(1, 1, 2, 3)
    (found,) = catalog.find("ttnn.prod_bw")(put(one, given), put(one, values))
    assert np.allclose(held(found), 2 * 720 / values)


@pytest.mark.parametrize("dim", [2, 3, -1, -2])
def test_product_of_rows_or_columns_reads_the_first_of_its_gradient(one: MeshDevice, dim: int):
    """So it is along the last two dimensions, where the first of a tile's rows or columns counts."""
    rng = np.random.default_rng(1)
    given, values = rng.uniform(-1, 1, (2, 1, 4, 6)), rng.uniform(1, 2, (2, 1, 4, 6))
    (found,) = catalog.find("ttnn.prod_bw")(put(one, given), put(one, values), dim=dim)
    slope = values.prod(dim, keepdims=True) / values * np.take(given, [0], dim)
    assert np.allclose(held(found), slope, rtol=1e-4)


@pytest.mark.parametrize(
    "name", ["add_bw", "addalpha_bw", "assign_bw", "concat_bw", "div_bw", "rsub_bw", "sub_bw", "subalpha_bw"]
)
def test_calls_for_no_gradient_at_all(one: MeshDevice, name: str):
    x, operation = put(one, np.ones((1, 1, 32, 32))), catalog.find(f"ttnn.{name}")
    with pytest.raises(RuntimeError, match="At least one gradient is expected to be calculated"):
        operation(x, x, x, are_required_outputs=[False, False])


def test_rows_that_no_gradient_is_written_into(one: MeshDevice):
    rows = put(one, np.ones((64, 32)), BF16, ROW)
    for call in (
        lambda: catalog.find("ttnn.add_bw")(rows, rows, rows),
        lambda: catalog.find("ttnn.subalpha_bw")(rows, rows, rows, 1.0),
        lambda: catalog.find("ttnn.rsqrt_bw")(rows, rows),
    ):
        with pytest.raises(
            RuntimeError, match="Optional output tensor with Row Major input is not supported"
        ):
            call()
    assert held(catalog.find("ttnn.add_bw")(rows, rows, 2.0)[0]).all()
    for name in ("clamp_bw", "clip_bw"):
        with pytest.raises(RuntimeError, match="Only one of 'min' or 'max' can be None"):
            catalog.find(f"ttnn.{name}")(rows, rows)
    for call in (
        lambda: catalog.find("ttnn.clamp")(rows, rows),
        lambda: catalog.find("ttnn.max_bw")(rows, rows, rows),
    ):
        with pytest.raises(RuntimeError, match="Ternary operation requires tensor to be in Tile layout"):
            call()
    assert held(catalog.find("ttnn.clamp")(rows, rows, rows)).all()


# Gradients that have a formula: how many tensors besides the gradient, and the numbers that follow.
FORMULAS: list[tuple[str, int, tuple[Any, ...]]] = [
    *((name, 1, ()) for name in (*formulas.SHORT, *formulas.SLOPES) if name != "threshold"),
    *((name, 1, ()) for name in ("floor", "assign", "gelu", "tanh")),
    *((name, 2, ()) for name in ("add", "sub", "mul", "div", "rsub", "squared_difference", "assign")),
    *((name, 2, (alpha,)) for name in ("addalpha", "subalpha") for alpha in (1.0, 0.3)),
    *((name, 1, (0.3,)) for name in ("add", "sub", "mul", "div")),
    *((name, 1, (exponent,)) for name in ("pow", "rpow") for exponent in (0.0, 1.0, 2.0, 3.0)),
    ("threshold", 1, (0.5, 2.0)),
]
DIFFERENTIATED = [
    case for case in FORMULAS if case[0] not in ("assign", "floor", "gelu", "tanh", "rpow", "sub", "add")
]


def formula_id(case: Any) -> str:
    return " ".join(map(str, (case[0], case[1], *case[2])))


@pytest.mark.parametrize("case", DIFFERENTIATED, ids=formula_id)
def test_formulas_have_the_bits_of_differentiation(one: MeshDevice, case: Any):
    """Where shapes are one, gradients come of formulas; of a gradient with a dimension more they come of PyTorch."""
    name, count, rest = case
    random = np.random.default_rng(3)
    gradient, *operands = [random.standard_normal((64, 33), np.float32) * 3 for _ in range(count + 1)]
    given = [put(one, operand, F32) for operand in operands]
    call = catalog.find(f"ttnn.{name}_bw")
    found = call(put(one, gradient, F32), *given, *rest)
    wanted = call(put(one, gradient[None], F32), *given, *rest)
    assert len(found) == len(wanted) == count
    for first, second in zip(found, wanted, strict=True):
        assert tuple(first.shape) == (64, 33) and tuple(second.shape) == (1, 64, 33)
        assert held(first).tobytes() == held(second).tobytes()


def every(seed: int, *, of_numbers: bool) -> np.ndarray:
    """All bfloat16 elements three times, in random order; `of_numbers`: without infinity and NaN."""
    bits = np.tile(np.arange(1 << 16, dtype=np.uint16), 3)
    if of_numbers:
        bits[(bits & 0x7F80) == 0x7F80] = 0x3FC0
    return np.random.default_rng(seed).permutation(bits).reshape(1, 1, 384, 512)


@pytest.mark.parametrize("of_numbers", [True, False], ids=["numbers", "any"])
@pytest.mark.parametrize("case", FORMULAS, ids=formula_id)
def test_large_gradients_in_16_bits_are_those_of_float32_rounded(
    one: MeshDevice, case: Any, of_numbers: bool
):
    name, count, rest = case
    operands = [every(seed, of_numbers=of_numbers) for seed in range(count + 1)]
    call = catalog.find(f"ttnn.{name}_bw")
    tensors = [torch.from_numpy(operand.view(np.int16)).view(torch.bfloat16) for operand in operands]
    given = [from_torch(tensor, dtype=BF16, layout=TILE, device=one) for tensor in tensors]
    found = call(*given, *rest)
    due = call(*(put(one, tensor.float().numpy(), F32) for tensor in tensors), *rest)
    assert len(found) == len(due) == count
    for short, wide in zip(found, due, strict=True):
        with np.errstate(all="ignore"):
            bits = held(wide).astype(BFLOAT16).view(np.uint16)
        np.testing.assert_array_equal(to_wire(held(short)), bits)


@pytest.mark.parametrize(
    ("name", "numbers", "words"),
    [
        ("softshrink", {"lambd": -1.0}, "lambda must be"),
        ("hardtanh", {"min": 2.0, "max": 1.0}, "cannot be greater"),
    ],
)
@pytest.mark.parametrize("rows", [32, 384])
def test_limits_that_the_function_refuses(
    one: MeshDevice, name: str, numbers: dict[str, float], words: str, rows: int
):
    x = put(one, np.ones((1, 1, rows, 512)), BF16)
    with pytest.raises(RuntimeError, match=words):
        catalog.find(f"ttnn.{name}_bw")(x, x, **numbers)
