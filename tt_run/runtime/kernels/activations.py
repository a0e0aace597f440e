"""Unary functions by name: the table that unary operations, fused activations and `UnaryWithParam` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels import functions as f
from tt_run.runtime.tuning.activation import UnaryOpType, UnaryWithParam
from tt_run.runtime.tuning.activation_words import WORDS
from tt_run.runtime.values.bfloat16 import round_bfloat16

Array = npt.NDArray[Any]
Function = Callable[[Array], Array]

FUNCTIONS: dict[str, Function] = {
    "identity": np.positive,
    "relu": f.relu,
    "relu6": f.relu6,
    "gelu": f.gelu,
    "gelu_approx": f.gelu,
    "gelu_tanh": f.gelu_tanh,
    "silu": f.silu,
    "swish": f.silu,
    "sigmoid": f.sigmoid,
    "sigmoid_approx": f.sigmoid,
    "log_sigmoid": f.log_sigmoid,
    "tanh": np.tanh,
    "tanhshrink": f.tanhshrink,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": f.rsqrt,
    "cbrt": np.cbrt,
    "square": np.square,
    "abs": np.abs,
    "neg": np.negative,
    "reciprocal": np.reciprocal,
    "recip": np.reciprocal,
    "softplus": f.softplus,
    "softsign": f.softsign,
    "mish": f.mish,
    "hardswish": f.hardswish,
    "hardsigmoid": f.hardsigmoid,
    "hardtanh": f.hardtanh,
    "leaky_relu": f.leaky_relu,
    "elu": f.elu,
    "selu": f.selu,
    "celu": f.celu,
    "softshrink": f.softshrink,
    "hardshrink": f.hardshrink,
    "erf": f.erf,
    "erfc": f.erfc,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sign": f.sign,
    "signbit": np.signbit,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
    "frac": f.frac,
    "deg2rad": np.deg2rad,
    "rad2deg": np.rad2deg,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isposinf": np.isposinf,
    "isneginf": np.isneginf,
    "isfinite": np.isfinite,
    "logical_not": np.logical_not,
    "eqz": lambda x: x == 0,
    "nez": lambda x: x != 0,
    "ltz": lambda x: x < 0,
    "lez": lambda x: x <= 0,
    "gtz": lambda x: x > 0,
    "gez": lambda x: x >= 0,
    "hardmish": f.hardmish,
    "erfinv": f.special("erfinv"),
    "i0": f.bessel_i0,
    "i1": f.bessel_i1,
    "lgamma": f.special("gammaln"),
    "digamma": f.special("psi"),
}
"""float32 block -> block of results, float32 or bool."""


def _to_infinity(function: Function) -> Function:
    def compute(x: Array) -> Array:
        values = function(x)
        return np.where(np.isnan(values) & ~np.isnan(x), np.float32(np.inf), values)

    return compute


IN_BFLOAT16 = {name: _to_infinity(FUNCTIONS[name]) for name in ("acos", "acosh", "asin", "atanh")}
"""What devices compute of bfloat16 in place of `FUNCTIONS`: infinity for numbers that have no value."""

QUESTIONS = frozenset(
    FUNCTIONS[name]
    for name in [
        "signbit",
        "isnan",
        "isinf",
        "isposinf",
        "isneginf",
        "isfinite",
        "logical_not",
        "eqz",
        "nez",
        "ltz",
        "lez",
        "gtz",
        "gez",
    ]
)
"""Those that answer with 1 or 0."""

CLOSED_FUNCTIONS = QUESTIONS | frozenset(
    FUNCTIONS[name]
    for name in [
        "identity",
        "relu",
        "relu6",
        "abs",
        "neg",
        "sign",
        "floor",
        "ceil",
        "trunc",
        "round",
    ]
)
"""Those that make bfloat16 values of bfloat16 values."""

INTEGER_FUNCTIONS = frozenset(
    [
        "identity",
        "relu",
        "relu6",
        "signbit",
        "square",
        "abs",
        "neg",
        "sign",
        "logical_not",
        "eqz",
        "nez",
        "ltz",
        "lez",
        "gtz",
        "gez",
    ]
)
"""Those that take integers as they are; the operations of the others refuse them."""


def _check_bits(name: str, x: Array) -> None:
    """Raises RuntimeError for a block of real numbers."""
    if x.dtype.kind == "f":
        raise fatal(
            f"Unsupported input dtype for bitwise/shift op_type UnaryOpType::{name.upper()}: expected Int32, UInt32, or UInt16.",
            hint="ttnn.typecast(tensor, ttnn.int32)",
        )


def _on_bits(name: str, function: Callable[[Array, Any], Array]) -> Callable[..., Array]:
    """A function of the bits of integers and of a number."""

    def compute(x: Array, bits: float) -> Array:
        _check_bits(name, x)
        return np.asarray(function(x, f.number(x, bits)))

    return compute


def _inverted(x: Array) -> Array:
    _check_bits("bitwise_not", x)
    return np.invert(x)


def _rounding(mode: float) -> str | None:
    """How RDIV rounds, by the number of a mode."""
    modes = (None, "trunc", "floor")
    if mode not in (0, 1, 2):
        raise fatal(f"Invalid rdiv rounding mode {mode:g} (expected 0, 1 or 2)", hint="0 does not round")
    return modes[int(mode)]


_WITH_PARAMETER: dict[str, Callable[..., Array]] = {
    "leaky_relu": f.leaky_relu,
    "elu": f.elu,
    "celu": f.celu,
    "softplus": f.softplus,
    "softshrink": f.softshrink,
    "hardshrink": f.hardshrink,
    "hardtanh": f.hardtanh,
    "relu_max": f.relu_max,
    "relu_min": f.at_least,
    "power": lambda x, exponent: f.power(x, np.float32(exponent)),
    "clamp": f.limited,
    "add_unary_sfpu": lambda x, value: x + np.float32(value),
    "sub_unary_sfpu": lambda x, value: x - np.float32(value),
    "mul_unary_sfpu": lambda x, value: x * np.float32(value),
    "div_unary_sfpu": lambda x, value: x / np.float32(value),
    "rsub": lambda x, value: np.float32(value) - x,
    "rdiv": lambda x, value, mode: f.divided(x, value, _rounding(mode)),
    "rpow": f.rpow,
    "heaviside": f.heaviside,
    "threshold": f.threshold,
    "softcap": f.softcap,
    "logit": f.logit,
    "xielu": f.xielu,
    "prelu_sfpu": f.leaky_relu,
    "fill": np.full_like,
    "polygamma": lambda x, order: f.special("polygamma", int(order))(x),
    "maximum": lambda x, value: np.maximum(x, f.number(x, value)),
    "minimum": lambda x, value: np.minimum(x, f.number(x, value)),
    "remainder": lambda x, value: np.remainder(x, f.number(x, value)),
    "fmod": lambda x, value: np.fmod(x, f.number(x, value)),
    "where_tss": lambda x, yes, no: np.where(x != 0, f.number(x, yes), f.number(x, no)),
    "mac_tss": lambda x, factor, term: x * f.number(x, factor) + f.number(x, term),
    "unary_eq": lambda x, value: x == f.number(x, value),
    "unary_ne": lambda x, value: x != f.number(x, value),
    "unary_lt": lambda x, value: x < f.number(x, value),
    "unary_le": lambda x, value: x <= f.number(x, value),
    "unary_gt": lambda x, value: x > f.number(x, value),
    "unary_ge": lambda x, value: x >= f.number(x, value),
    "round": f.rounded,
    "selu": f.selu,
    **{
        name: _on_bits(name, function)
        for name, function in {
            "bitwise_and": np.bitwise_and,
            "bitwise_or": np.bitwise_or,
            "bitwise_xor": np.bitwise_xor,
            "left_shift": np.left_shift,
            "right_shift": np.right_shift,
        }.items()
    },
    "mish": lambda x, _mode: f.mish(x),
}

_COUNTS = dict.fromkeys(
    ["clamp", "hardtanh", "mac_tss", "rdiv", "selu", "softplus", "threshold", "where_tss", "xielu"], 2
)
"""How many parameters those take that take more than one; more than these do not count."""

MODES = frozenset(
    [
        "erf",
        "exp",
        "gelu",
        "gelu_tanh",
        "log",
        "log10",
        "log1p",
        "log2",
        "mish",
        "rsqrt",
        "sigmoid",
        "sqrt",
        "tanh",
    ]
)
"""Parameters of these choose an approximation of the same function."""

# Members of UnaryOpType whose function has another name in the tables above.
_RENAMED = {
    UnaryOpType.LOGICAL_NOT_UNARY: "logical_not",
    UnaryOpType.LOGSIGMOID: "log_sigmoid",
    UnaryOpType.POWER_ITERATIVE: "power",
    UnaryOpType.ABS_INT32: "abs",
    UnaryOpType.CLAMP_TSS: "clamp",
}


@dataclass(frozen=True)
class Applied:
    """A function of a block with its parameters; equal to another one that computes the same."""

    function: Callable[..., Array]
    params: tuple[Any, ...]

    def __call__(self, x: Array) -> Array:
        return self.function(x, *self.params)


def is_closed(function: Function) -> bool:
    """Whether a function makes bfloat16 values of bfloat16 values: it chooses among them and parameters that are such values."""
    if not isinstance(function, Applied):
        return function in CLOSED_FUNCTIONS
    numbers = [p for p in function.params if p is not None]
    return function.function in _CHOOSING and all(
        round_bfloat16(np.array([p], np.float32))[0] == p for p in numbers
    )


_CHOOSING = (f.limited, f.hardtanh, f.at_least, f.at_most, f.clamped, f.relu_max)


Activation = str | UnaryWithParam | UnaryOpType | tuple[UnaryOpType, float]
"""How a program names a fused activation."""


def activation(given: Activation) -> Function:
    """The function behind an activation argument. Raises RuntimeError for a name that no function has."""
    fused = UnaryWithParam.of(given)
    if isinstance(fused, UnaryWithParam):
        return _parametrised(name_of(fused.op_type), fused.op_type.name, fused.params)
    if given in FUNCTIONS and given in WORDS:
        return FUNCTIONS[str(given)]
    name = str(given)
    from difflib import get_close_matches

    near = get_close_matches(name, WORDS, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else None
    if name in _WITH_PARAMETER:
        hint = f"ttnn.UnaryWithParam(ttnn.UnaryOpType.{name.upper()}, …)"
    raise fatal(f"Unknown unary op: {name}", hint=hint)


def name_of(op_type: UnaryOpType) -> str:
    """The name of a function in the tables here."""
    return _RENAMED.get(op_type, op_type.name.lower())


def _parametrised(name: str, native: str, params: Sequence[float]) -> Function:
    """The function of a member of UnaryOpType, which is called `native` there. Raises RuntimeError for parameters that it has not."""
    count = _COUNTS.get(name, 1)
    if name in _WITH_PARAMETER and len(params) >= count:
        return Applied(_WITH_PARAMETER[name], tuple(params[:count]))
    op_type = f"ttnn.UnaryOpType.{native}"
    if name in _WITH_PARAMETER:
        refusal = (
            f"Expected {name} to take {count} parameters, got {list(params)}"
            if params
            else f"Undefined non-parametrized op type UnaryOpType::{native}"
        )
        raise fatal(refusal, hint=f"ttnn.UnaryWithParam({op_type}{', …' * count})")
    plain = _inverted if name == "bitwise_not" else FUNCTIONS.get(name)
    if plain is None:
        raise fatal(
            f"{name} cannot be fused in the emulation, got {list(params)}",
            hint="leave it out, and call the operation on the result",
        )
    if params and name not in MODES:
        raise fatal(
            f"operator should support at least one parameter but op_type UnaryOpType::{native} does not",
            hint=f"ttnn.UnaryWithParam({op_type}) without a parameter",
        )
    if name == "sigmoid" and params:
        check_vector_mode(params[0])
    return plain


def check_vector_mode(mode: float) -> None:
    """Raises RuntimeError for parts of a tile that a sigmoid is not computed of."""
    if mode not in (2, 4):
        raise fatal(
            "Invalid Vector mode value. Expected vector mode C (2) or RC (4) for sigmoid",
            hint="vector_mode=4",
        )


def counted(values: Array, like: Array) -> Array:
    """Truth values as the numbers 1 and 0 of another block's type, so that the next function can compute with them."""
    return values.astype(like.dtype) if values.dtype == np.bool_ else values


def chain(activations: Sequence[Activation] | None) -> Function | None:
    """Activations one after the other; None when there are none."""
    if not activations:
        return None
    steps = [activation(a) for a in activations]

    def all_of_them(x: Array) -> Array:
        for step in steps:
            x = counted(step(x), x)
        return x

    return steps[0] if len(steps) == 1 else all_of_them
