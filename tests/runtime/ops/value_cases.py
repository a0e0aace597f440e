"""The calls by which `test_values` compares operations with their golden functions: one entry for each operation, a line for each family.

An operation without an entry is in `ELSEWHERE`, which says what compares its values instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """Operands, all of one shape that varies unless `shapes` gives them, with elements between `low` and `high`; and the other arguments.

    `steps` are units in the last place that a result may differ by. `integers`: the call is made with integers too; `only` with them alone.
    """

    operands: int = 1
    low: float = -3.0
    high: float = 3.0
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    shapes: tuple[Shape, ...] = ()
    steps: float = 16.0
    integers: bool = False
    only: bool = False
    signed: bool = False
    """Of integers only those of 32 bits with a sign."""
    least: int = 0
    """Dimensions that the operands must have."""
    tiles: bool = False
    """The operation takes TILE layout only."""
    blocks: bool = True
    """It takes block floats."""
    short: bool = False
    """Of floating types it takes BFLOAT16 alone."""


IN_TILES = frozenset(["addcdiv_bw", "div_bw", "exp_bw", "max_bw", "min_bw", "mul_bw", "silu_bw", "sqrt_bw"])
"""Backward operations that refuse rows where all operands, or all beside a number, are in rows."""

CALLS: dict[str, list[Call]] = {}


def _enter(names: str, *calls: Call) -> None:
    for name in names.split():
        CALLS.setdefault(name, []).extend(calls)


def _each(values: Iterable[Any], word: str, **rest: Any) -> list[Call]:
    return [Call(keywords={word: value}, **rest) for value in values]


# One operand.
_enter(
    "acos asin atanh erfinv",
    Call(low=-0.95, high=0.95),
)
_enter(
    "asinh atan celu ceil cbrt cos cosh deg2rad elu erf erfc exp exp2 expm1 floor frac gelu hardmish hardshrink hardsigmoid hardswish hardtanh "
    "i0 i1 isfinite isinf isnan isneginf isposinf log_sigmoid mish rad2deg selu sigmoid sigmoid_accurate "
    "silu sin sinh softplus softshrink softsign swish tan tanh tanhshrink trunc xielu",
    Call(),
)
_enter("abs eqz logical_not logical_not_ nez relu relu6 square identity clone", Call(integers=True))
_enter("gez gtz lez ltz neg signbit", Call(integers=True, signed=True))
_enter("sign", Call())
_enter("log log2 log10 log1p sqrt rsqrt digamma lgamma reciprocal", Call(low=0.3, high=5.0, steps=32))
_enter("acosh", Call(low=1.1, high=6.0))
_enter("logit", Call(low=0.05, high=0.95), Call(low=-0.5, high=1.5, keywords={"eps": 0.2}))
_enter("multigammaln", Call(low=1.6, high=6.0, steps=32))
_enter("celu elu", *_each((0.5, 2.0), "alpha"))
_enter("hardshrink softshrink", *_each((1.0,), "lambd"))
_enter("hardtanh", Call(keywords={"min_val": -0.5, "max_val": 2.0}))
_enter("leaky_relu", *_each((0.3, -0.2, 2.0), "negative_slope"))
_enter("selu", Call(keywords={"scale": 2.0, "alpha": 0.7}))
_enter("softplus", Call(keywords={"beta": 2.0, "threshold": 3.0}))
_enter("xielu", Call(keywords={"alpha_p": 0.9, "alpha_n": 0.6}))
_enter("round", Call(), *_each((2, -1), "decimals", high=99.0))
_enter("bitwise_not", Call(only=True))
_enter("fill softcap heaviside relu_max", Call(arguments=(1.5,)))
_enter("relu_min", Call(arguments=(-1.0,), integers=True))
_enter("rpow", Call(arguments=(2.5,)))
_enter(
    "rdiv",
    Call(low=0.4, arguments=(2.5,)),
    Call(low=0.4, arguments=(2.5,), keywords={"rounding_mode": "floor"}),
)
_enter("threshold", Call(arguments=(0.5, -7.0)))
_enter("polyval", Call(arguments=([1.0, -2.0, 0.5],)))
_enter("polygamma", Call(low=0.6, high=4.0, arguments=(1,), steps=64))
_enter("clamp clip", Call(arguments=(-1.0, 1.0), integers=True, signed=True), Call(arguments=(None, 0.5)))
_enter(
    "clamp clip",
    Call(arguments=(-1, 1), only=True, signed=True),
    Call(arguments=(0.5, None), only=True, signed=True),
)

# Two operands.
_BROADCAST = (((2, 3, 5), (5,)), ((2, 1, 5, 1), (1, 3, 5, 4)), ((5,), (4, 5)), ((33, 1), (1, 40)))


def _two(names: str, low: float = -3.0, scalar: float | None = 1.5, integers: bool = False) -> None:
    _enter(names, Call(2, low, integers=integers), *(Call(low=low, shapes=shapes) for shapes in _BROADCAST))
    if scalar is not None:
        _enter(names, Call(low=low, arguments=(scalar,)))


_two("add subtract multiply eq ne lt le gt ge maximum minimum squared_difference rsub", integers=True)
_two("bias_gelu")
_two("logical_and logical_or logical_xor", integers=True, scalar=None)
_two("div divide remainder fmod floor_div div_no_nan xlogy pow", low=0.4)
_two("ldexp logaddexp logaddexp2 hypot atan2", scalar=None)
_enter("div divide", *_each(("floor", "trunc"), "rounding_mode", operands=2, low=0.4))
_enter("isclose", Call(2), *_each((1.0,), "atol", operands=2), *_each((0.8,), "rtol", operands=2))
_enter("bitwise_and bitwise_or bitwise_xor", Call(2, 1, 60, only=True))
_enter("gcd lcm", Call(2, 1, 60, only=True, signed=True))
_enter("bitwise_left_shift bitwise_right_shift", Call(2, 0, 7, only=True))
_enter("logical_left_shift logical_right_shift", Call(2, 0, 7, only=True))
_enter(
    "add_ subtract_ multiply_ eq_ ne_ lt_ le_ gt_ ge_ squared_difference_ rsub_ bias_gelu_",
    Call(2, tiles=True),
    Call(arguments=(1.5,), tiles=True),
)
_enter("logical_and_ logical_or_ logical_xor_ ldexp_ logaddexp_ logaddexp2_", Call(2, tiles=True))
_enter("divide_", Call(2, 0.4, tiles=True), Call(arguments=(1.5,), tiles=True))
_enter("addalpha subalpha", Call(2, arguments=(0.5,)))
_enter("clamped_silu_glu", Call(2, arguments=(1.0,)))
_enter("situ_glu", Call(2, arguments=(4.0, 2.0)))
_enter("glu reglu swiglu geglu", *(Call(shapes=(s,)) for s in ((1, 2, 32, 64), (2, 1, 64, 128))))
_enter("outer", Call(shapes=((1, 1, 1, 33), (1, 1, 1, 7))))
_enter("mse_loss l1_loss", Call(2))

# Three operands.
_enter("addcmul addcdiv", Call(3, 0.4), Call(3, 0.4, keywords={"value": 0.5}))
_enter("mac", Call(3), Call(arguments=(2.0, 0.5)), Call(2, arguments=(0.5,)))
_enter("lerp", Call(3), Call(2, arguments=(0.3,)))
_enter("where", Call(3, integers=True), Call(2, arguments=(1.5,)), Call(arguments=(2.0, -1.0)))
_enter("snake_beta", Call(low=0.5, shapes=((1, 2, 33, 5), (1, 1, 1, 5), (1, 1, 1, 5))))

# Gradients.
_enter(
    "abs_bw asinh_bw atan_bw cos_bw cosh_bw deg2rad_bw erf_bw erfc_bw exp_bw exp2_bw expm1_bw hardsigmoid_bw hardswish_bw "
    "i0_bw log_sigmoid_bw neg_bw rad2deg_bw relu_bw relu6_bw selu_bw sigmoid_bw silu_bw sin_bw sinh_bw softsign_bw "
    "square_bw tan_bw tanh_bw tanhshrink_bw frac_bw ceil_bw floor_bw round_bw sign_bw trunc_bw fill_bw fill_zero_bw "
    "celu_bw elu_bw hardshrink_bw softshrink_bw hardtanh_bw leaky_relu_bw softplus_bw gelu_bw",
    Call(2, -1.4, 1.4, steps=64),
)
_enter(
    "digamma_bw lgamma_bw log_bw log2_bw log10_bw log1p_bw reciprocal_bw rsqrt_bw sqrt_bw",
    Call(2, 0.4, 4.0, steps=64),
)
_enter("acos_bw asin_bw atanh_bw erfinv_bw", Call(2, -0.9, 0.9, steps=64))
_enter("acosh_bw", Call(2, 1.2, 6.0, steps=64))
_enter("logit_bw", Call(2, 0.1, 0.9, steps=64))
_enter("logiteps_bw", Call(2, 0.05, 0.95, keywords={"eps": 0.2}, steps=64))
_enter("multigammaln_bw", Call(2, 1.8, 6.0, steps=64))
_enter("celu_bw elu_bw", *_each((0.5,), "alpha", operands=2, steps=64))
_enter("div_bw", *_each(("floor", "trunc", None), "rounding_mode", operands=3, low=0.4, steps=64))
_enter(
    "rdiv_bw", *_each(("floor", "trunc"), "rounding_mode", operands=2, low=0.4, arguments=(2.5,), steps=64)
)
_enter("bias_gelu_bw", *_each(("tanh", "none"), "approximate", operands=3, steps=64))
_enter("leaky_relu_bw", *_each((0.3, -0.3), "negative_slope", operands=2))
_enter("hardshrink_bw softshrink_bw", *_each((1.0,), "lambd", operands=2))
_enter("hardtanh_bw", Call(2, keywords={"min": -0.5, "max": 0.3}))
_enter("softplus_bw", Call(2, keywords={"beta": 2.0, "threshold": 1.0}, steps=64))
_enter("clamp_bw clip_bw", Call(2, keywords={"min": 0.1}), Call(2, keywords={"max": 0.1}))
_enter("threshold_bw", Call(2, arguments=(0.5, 9.0)))
_enter("polygamma_bw", Call(2, 0.8, 4.0, arguments=(1,), steps=128))
_enter("pow_bw rpow_bw rdiv_bw div_no_nan_bw", Call(2, 0.5, arguments=(2.0,), steps=64))
_enter("clamp_bw clip_bw", Call(2, arguments=(-1.0, 1.0)))
_enter(
    "add_bw sub_bw mul_bw div_bw fmod_bw remainder_bw atan2_bw hypot_bw ldexp_bw max_bw min_bw squared_difference_bw xlogy_bw "
    "rsub_bw addalpha_bw subalpha_bw assign_bw bias_gelu_bw",
    Call(3, 0.4, steps=64),
)
_enter("logaddexp_bw logaddexp2_bw", Call(3, 0.4, steps=64, blocks=False))
_enter("add_bw sub_bw mul_bw div_bw fmod_bw remainder_bw", Call(2, 0.4, arguments=(2.0,), steps=64))
_enter("assign_bw", Call(2))
_enter("lerp_bw", Call(4), Call(3, arguments=(0.3,)))
_enter("where_bw", Call(4))
_enter("addcmul_bw addcdiv_bw", Call(4, 0.5, arguments=(0.5,), steps=128))
_enter("prod_bw", Call(low=0.5, high=1.5, shapes=((1, 2, 5, 1), (1, 2, 5, 6)), keywords={"dim": 3}, steps=64))
_enter(
    "repeat_bw",
    Call(shapes=((2, 2, 3, 4), (1, 2, 3, 4)), arguments=((2, 1, 1, 1),), tiles=True, short=True),
)
_enter("concat_bw", Call(shapes=((3, 1, 2, 5), (1, 1, 2, 5), (2, 1, 2, 5)), arguments=(0,)))

# Reductions and orders.
for _names, _tiles in (("sum mean max min", False), ("prod", True)):
    _enter(
        _names,
        *_each((-1, 0), "dim", low=0.5, high=1.5, steps=64, tiles=_tiles),
        Call(low=0.5, high=1.5, keywords={"dim": -1, "keepdim": True}, steps=64, tiles=_tiles),
    )
_enter(
    "std var",
    *_each((-1,), "dim", low=0.5, high=1.5, steps=64),
    Call(low=0.5, high=1.5, keywords={"dim": -1, "keepdim": True}, steps=64),
)
_enter(
    "sum mean max min std var",
    Call(low=0.5, high=1.5, steps=64, keywords={"dim": (0, -1)}, least=2),
    Call(keywords={"dim": -1, "scalar": 2.5}, steps=64),
)
_enter(
    "argmax",
    *_each((-1,), "dim", shapes=((2, 3, 33),)),
    Call(shapes=((5, 34),), keywords={"dim": 0, "keepdim": True}),
)
_enter("std_hw var_hw normalize_hw", Call(shapes=((2, 3, 33, 40),), steps=256))
_enter("normalize_global", Call(shapes=((2, 3, 32, 64),), steps=256))
_enter("cumsum cumprod", *(Call(low=0.7, high=1.3, arguments=(d,), steps=64, tiles=True) for d in (0, -1)))
_enter(
    "cumsum", Call(low=0.7, high=1.3, arguments=(0,), keywords={"reverse_order": True}, steps=64, tiles=True)
)
_enter(
    "cumprod",
    Call(low=0.7, high=1.3, arguments=(-1,), keywords={"reverse_order": True}, steps=64, tiles=True),
)
_enter("std var", Call(low=0.5, high=1.5, keywords={"dim": -1, "correction": False}, steps=64))
_enter(
    "softmax",
    *_each((-1,), "dim", tiles=True),
    *_each((0, -2), "dim", least=2, tiles=True),
    *_each((False,), "numeric_stable", tiles=True),
)
_enter("softmax_in_place", Call(shapes=((2, 3, 33, 40),), tiles=True))
_enter("layer_norm rms_norm", Call(least=2, keywords={"epsilon": 1e-3}, steps=256))

# Movement.
_enter("transpose", *(Call(arguments=pair, integers=True, least=2) for pair in ((-2, -1), (0, 1))))
_enter("permute", Call(shapes=((2, 3, 5, 4),), arguments=((3, 0, 2, 1),)))
_enter("reshape", Call(arguments=((-1,),), integers=True))
_enter("unsqueeze", *(Call(arguments=(d,), integers=True) for d in (0, -1)))
_enter("squeeze", Call(shapes=((1, 3, 1, 4),)), Call(shapes=((1, 3, 1, 4),), arguments=(2,)))
_enter("repeat_interleave", *(Call(arguments=(2, d), integers=True) for d in (0, -1)))
_enter("repeat", Call(shapes=((2, 3, 5),), arguments=((2, 1, 3),)))
_enter("expand", Call(shapes=((1, 3, 5),), arguments=((4, -1, 5),)))
_enter("chunk split", Call(shapes=((4, 6, 5),), arguments=(2, 1)))
_enter("narrow", Call(shapes=((448, 5),), arguments=(0, 384, 32), integers=True))
_enter("pad", Call(shapes=((2, 3, 5),), arguments=([(0, 0), (0, 2), (0, 1)], 1.5)))
_enter("slice", Call(shapes=((2, 3, 5),), arguments=((0, 1, 0), (2, 3, 5), (1, 1, 2))))
_enter(
    "slice",
    Call(shapes=((6, 7),), keywords={"slice_start": [0, 1], "slice_end": [6, 7], "slice_step": [2, 3]}),
)
_enter("roll", Call(arguments=(2,), integers=True), Call(arguments=(-1, 0), integers=True))
_enter("tril triu", Call(least=2, tiles=True), Call(least=2, keywords={"diagonal": 1}, tiles=True))
_enter("view", Call(shapes=((2, 3, 5),), arguments=((1, 2, 3, 5),)))
_enter("experimental.view", Call(shapes=((2, 3, 5),), arguments=((5, 6),)))

# Products and the rest.
_enter("matmul linear", Call(shapes=((2, 3, 33, 40), (40, 64)), steps=512, tiles=True))
_enter(
    "matmul",
    Call(
        shapes=((3, 40, 33), (3, 64, 40)),
        keywords={"transpose_a": True, "transpose_b": True},
        steps=512,
        tiles=True,
    ),
)
_enter(
    "matmul linear",
    Call(shapes=((3, 40, 33), (40, 64)), keywords={"transpose_a": True}, steps=512, tiles=True),
    Call(
        shapes=((3, 33, 40), (64, 40)),
        keywords={"transpose_b": True, "activation": "relu"},
        steps=512,
        tiles=True,
    ),
)
_enter(
    "addmm",
    Call(shapes=((33, 64), (33, 40), (40, 64)), keywords={"alpha": 0.5, "beta": 2.0}, steps=512, tiles=True),
)
_enter("moreh_bmm", Call(shapes=((3, 33, 40), (3, 40, 64)), steps=512, tiles=True))
_enter("moreh_abs_pow", Call(arguments=(2.5,)))
_enter("moreh_softmax moreh_softmin moreh_logsoftmax moreh_cumsum", Call(arguments=(0,), least=2, steps=64))
_enter(
    "moreh_softmax_backward moreh_softmin_backward moreh_logsoftmax_backward",
    Call(2, 0.05, 0.5, arguments=(1,), least=2, steps=256),
)
