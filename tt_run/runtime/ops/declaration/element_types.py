"""Which element types elementwise operations take, and which two of them side by side. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from mgd.lean import dataclass
from tt_run.runtime.enums import DataType, cpp
from tt_run.runtime.errors import ArgumentMismatch, as_type, fatal
from tt_run.runtime.ops.declaration import backward_integers
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, is_float, stored_dtype

_FLOATS = frozenset({DataType.FLOAT32, DataType.BFLOAT16, DataType.BFLOAT8_B, DataType.BFLOAT4_B})
_INT32 = frozenset({DataType.INT32})
_WIDE = frozenset({DataType.INT32, DataType.UINT32})
_INTEGERS = frozenset({DataType.INT32, DataType.UINT32, DataType.UINT16})
_ALL = _FLOATS | _INTEGERS | {DataType.UINT8}


@dataclass(frozen=True)
class Pair:
    """What two tensors may be: each of them one of `takes`; of different types only floating ones, and those only where `mixes`
    and none is of `apart`.

    `beside` are integers that are taken next to a floating tensor alone, whose type the result has.
    """

    takes: frozenset[DataType]
    mixes: bool = False
    apart: frozenset[DataType] = frozenset()
    beside: frozenset[DataType] = frozenset()


_ARITHMETIC = Pair(_FLOATS | _INTEGERS, mixes=True)
_COMPARISON = Pair(_ALL, mixes=True)
_REAL = Pair(_FLOATS)
_BITS = Pair(_INTEGERS)

PAIRS: dict[str, Pair] = {
    **dict.fromkeys(("ADD", "SUB", "MUL", "RSUB", "SQUARED_DIFFERENCE"), _ARITHMETIC),
    **dict.fromkeys(("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_XOR"), _ARITHMETIC),
    **dict.fromkeys(("EQ", "NE", "LT", "LE", "GT", "GE"), _COMPARISON),
    **dict.fromkeys(("POWER", "ATAN2", "HYPOT", "LOGADDEXP", "LOGADDEXP2", "LDEXP", "XLOGY"), _REAL),
    **dict.fromkeys(("BITWISE_AND", "BITWISE_OR", "BITWISE_XOR", "LEFT_SHIFT", "RIGHT_SHIFT"), _BITS),
    "LOGICAL_RIGHT_SHIFT": Pair(_WIDE),
    **dict.fromkeys(("GCD", "LCM"), Pair(_INT32)),
    **dict.fromkeys(("MAXIMUM", "MINIMUM", "REMAINDER"), Pair(_FLOATS | _WIDE)),
    "BIAS_GELU": _REAL,
    "DIV": Pair(_FLOATS | _INT32, mixes=True, beside=frozenset({DataType.UINT32})),
    "ISCLOSE": Pair(_FLOATS | _INT32, mixes=True, apart=frozenset(BLOCK_FLOATS)),
    "FMOD": Pair(_FLOATS | _INT32),
    "NEXTAFTER": Pair(frozenset({DataType.FLOAT32, DataType.BFLOAT16})),
}
"""By the reference's own names of operations."""

_NATIVE = {
    "addalpha": "ADD",
    **dict.fromkeys(("bitwise_left_shift", "logical_left_shift"), "LEFT_SHIFT"),
    "bitwise_right_shift": "RIGHT_SHIFT",
    "div_trunc": "DIV",
    "divide": "DIV",
    "floor_div": "DIV",
    "multiply": "MUL",
    "pow": "POWER",
    "subalpha": "SUB",
    "subtract": "SUB",
}


def check_pair(name: str, first: DataType, second: DataType, joins: bool = False) -> None:
    """Raises RuntimeError for two tensors that operation `name` does not take. `joins`: one goes over to the other's type."""
    native = _NATIVE.get(name, name.upper())
    pair = PAIRS.get(native, _COMPARISON)
    if pair is _COMPARISON:  # which takes 8 bits as 16
        first, second = (DataType.UINT16 if t is DataType.UINT8 else t for t in (first, second))
    for letter, dtype, other in (("A", first, second), ("B", second, first)):
        if dtype not in pair.takes and not (dtype in pair.beside and is_float(other)):
            raise _not_taken(letter, dtype, native, pair)
    if first is second:
        return
    blocks_apart = pair.mixes and {first, second} <= (_FLOATS - pair.apart)
    joined = joins and {first, second} & _WIDE and (is_float(first) or is_float(second))
    if not blocks_apart and not joined:
        raise fatal(
            f"Mixed dtype is not supported for binary operation BinaryOpType::{native}, dtype A: {cpp(first)}, dtype B: {cpp(second)}",
            hint="ttnn.typecast one of them to the other's element type",
        )


def _not_taken(letter: str, dtype: DataType, native: str, pair: Pair) -> RuntimeError:
    return fatal(
        f"Input tensor {letter} dtype {cpp(dtype)} is not supported for binary operation BinaryOpType::{native}",
        hint=f"ttnn.typecast(tensor, ttnn.{'bfloat16' if pair.takes & _FLOATS else 'int32'})",
    )


_OF_BITS = frozenset(name for name, pair in PAIRS.items() if pair is _BITS) | {"POWER"}
"""With a number they are kernels of one operand, which take other integers."""
_OF_ONE = frozenset({"FMOD", "MAXIMUM", "MINIMUM", "REMAINDER"})
"""With a number they are kernels of one operand, too."""


def scalar_among_integers(
    name: str,
    dtype: DataType,
    scalar: Any,
    real: bool = False,
    leaves: bool = False,
    paired: bool = False,
) -> Any:
    """The number beside a tensor of integers, as operation `name` computes with it; `real`: among real numbers, `leaves`: with a
    result of those, `paired`: as one of two tensors would, where the operation else has a kernel of its own for numbers.

    What has a fraction, or is no number of the type, stays a float where the type has less than 32 bits; the larger and the smaller of two
    cut it to the type. An integer of 32 bits without a sign stands for its bits. Raises RuntimeError for a type that the operation does not
    take, and for a number that is no integer of 32 bits.
    """
    native = _NATIVE.get(name, name.upper())
    pair = PAIRS.get(native, _COMPARISON)
    whole = math.isfinite(scalar) and float(scalar).is_integer()
    limits = np.iinfo(stored_dtype(dtype))
    if native not in _OF_BITS and dtype not in pair.takes | (pair.beside if leaves else frozenset()):
        if native in _OF_ONE and not paired:
            raise fatal(
                f"Unary: UnaryOpType::{native} does not support integer input dtype {cpp(dtype)}",
                hint=as_type("tensor", "int32"),
            )
        if dtype in _WIDE and not (whole and isinstance(_packed(scalar), int)):
            raise _not_an_integer(name, dtype, scalar)
        raise _not_taken("A", dtype, native, pair) if native != "BIAS_GELU" else no_integers("geglu", dtype)
    if real:
        return scalar
    if dtype not in _WIDE and native not in _OF_BITS:
        return int(scalar) if whole else float(scalar)
    if native in ("MAXIMUM", "MINIMUM") and not math.isnan(scalar):
        return int(min(max(scalar, limits.min), limits.max))
    packed = _packed(float(scalar) if native == "POWER" else scalar)
    if not whole or (
        dtype in _WIDE and not isinstance(packed, int) and not limits.min <= packed <= limits.max
    ):
        raise _not_an_integer(name, dtype, scalar)
    return of_bits(int(packed), dtype)


def _not_an_integer(name: str, dtype: DataType, scalar: Any) -> RuntimeError:
    native = "ADD" if name == "bias_gelu" else _NATIVE.get(name, name.upper())
    return fatal(
        f"Binary operation BinaryOpType::{native} with a {cpp(dtype)} tensor cannot represent the scalar {_told(scalar)}: only a finite "
        f"integer within the range of {cpp(dtype)} survives being packed as one, and this value would be changed silently. "
        "Typecast the input to a floating-point dtype first.",
        hint=as_type("tensor", "float32"),
    )


def _told(scalar: Any) -> str:
    """A number as the reference prints it: one beyond 32 bits in its shortest form as float32."""
    if not isinstance(scalar, int) or abs(scalar) < 1 << 32:
        return str(scalar)
    return np.format_float_scientific(np.float32(scalar), trim="-", exp_digits=2)


def of_bits(number: int, dtype: DataType) -> int:
    """An integer of 32 bits without a sign as the number of type `dtype` that has its bits."""
    return number - (1 << 32) if dtype is DataType.INT32 and number >= 1 << 31 else number


def _packed(scalar: Any) -> int | float:
    """The number as it reaches a kernel: an integer that 32 bits hold, with a sign or without, as their bits; any other as a float32."""
    if isinstance(scalar, numbers.Integral) and -(1 << 31) <= int(scalar) < 1 << 32:
        return int(scalar)
    with np.errstate(over="ignore"):
        return float(np.float32(scalar))


_BESIDE_NUMBERS = {
    **{f"bitwise_{word}": f"BITWISE_{word.upper()}" for word in ("and", "or", "xor")},
    **dict.fromkeys(("bitwise_left_shift", "logical_left_shift"), "LEFT_SHIFT"),
    "bitwise_right_shift": "RIGHT_SHIFT",
}
"""Operations of bits that are another kernel where the second operand is a number, and its name."""


def check_bits(name: str, dtype: DataType, number: Any) -> None:
    """Raises for a number beside bits of integers: TypeError where operation `name` takes none such, RuntimeError for its tensor's type."""
    if name in ("gcd", "lcm"):
        raise ArgumentMismatch(
            f"{name} takes two tensors, not {number!r}\nhelp: ttnn.full_like(tensor, {number!r})"
        )
    if name not in _BESIDE_NUMBERS:
        if dtype not in _WIDE:
            raise fatal(
                f"Input tensor A dtype {cpp(dtype)} is not supported for binary operation BinaryOpType::{name.upper()}",
                hint=as_type("tensor", "int32"),
            )
        return
    if not isinstance(number, numbers.Integral) or not -(1 << 31) <= int(number) < 1 << 31:
        raise ArgumentMismatch(f"{name} takes an integer of 32 bits, not {number!r}")
    if is_float(dtype):
        raise fatal(
            f"Unsupported input dtype for bitwise/shift op_type UnaryOpType::{_BESIDE_NUMBERS[name]}: expected Int32, UInt32, or UInt16.",
            hint=as_type("tensor", "int32"),
        )
    if dtype is DataType.UINT8:
        raise fatal(
            f"Unary: UnaryOpType::{_BESIDE_NUMBERS[name]} does not support integer input dtype {cpp(dtype)}",
            hint=as_type("tensor", "int32"),
        )


def check_divisor(number: Any) -> None:
    """Raises RuntimeError for a divisor of numbers without a sign that is none."""
    if not isinstance(_packed(number), int):
        raise fatal(
            "Expected integer scalar divisor (uint32 or int32)", hint=f"{number:.0f}, without a point"
        )
    if int(number) <= 0:
        raise fatal(
            f"Divisor must be positive, got {number}",
            hint="a divisor from 1 on, or ttnn.typecast(tensor, ttnn.int32)",
        )


_UNARY_INTEGERS = {
    **dict.fromkeys(("eqz", "nez", "logical_not", "square"), _INTEGERS),
    **dict.fromkeys(("gez", "gtz", "lez", "ltz", "neg", "signbit"), _INT32),
    **dict.fromkeys(("heaviside", "prelu", "rpow", "sign", "threshold"), frozenset[DataType]()),
    "alt_complex_rotate90": frozenset[DataType](),
    "bitwise_not": _WIDE,
    "fill": _INTEGERS,
    "power_iterative": _INTEGERS,
    "clamp_tss": _INT32,
}
"""Integers that unary operations take, where it is not all or none of them."""

_ROOMS = frozenset({DataType.FLOAT32, DataType.BFLOAT16, DataType.BFLOAT8_B})
"""Floating types that the operand of a unary operation and the tensor made for its result may have one each of."""

_UNARY_NATIVE = {
    **{
        name: name.upper()
        for name in ("digamma", "erfinv", "hardmish", "i0", "i1", "lgamma", "logit", "polygamma")
    },
    **{name: name.upper() for name in ("rdiv", "softcap", "xielu")},
    **dict.fromkeys(("deg2rad", "rad2deg"), "MUL_UNARY_SFPU"),
    "geglu": "GELU",
    **dict.fromkeys(("glu", "sigmoid_accurate"), "SIGMOID"),
    "log_sigmoid": "LOGSIGMOID",
    "logical_not": "LOGICAL_NOT_UNARY",
    "multigammaln": "LGAMMA",
    "prelu": "PRELU_SFPU",
    "reciprocal": "RECIP",
    **dict.fromkeys(("swiglu", "swish"), "SILU"),
}
"""The kernels of operations that refuse integers, or their first ones, where they are named otherwise or are rows of a table."""

_IN_OTHER_WORDS = {
    "ema": "Input tensor must be BFLOAT16, got: {}",
    "rotate": "Input tensor dtype must be bfloat16 or float32, got {}",
    **dict.fromkeys(
        ("normalize_global", "normalize_hw", "std_hw", "var_hw"),
        "ttnn.mean does not support integer inputs - got {}.",
    ),
}


def no_integers(name: str, dtype: DataType) -> RuntimeError:
    """What operation `name` says of integers, of which it takes none."""
    step = backward_integers.refusal(name, dtype)
    if step is not None:
        return fatal(step, hint=as_type("tensor", "float32"))
    usual = f"Unary: UnaryOpType::{_UNARY_NATIVE[name]}" if name in _UNARY_NATIVE else name
    said = _IN_OTHER_WORDS.get(name, f"{usual} does not support integer input dtype {{}}")
    return fatal(said.format(cpp(dtype)), hint=as_type("tensor", "float32"))


def check_unary(name: str, dtype: DataType, integers: bool = True) -> None:
    """Raises RuntimeError for integers that unary operation `name` does not take; `integers`: what it does where no table says."""
    if name == "bitwise_not" and is_float(dtype):
        raise fatal(
            f"bitwise_not is of integers, got {cpp(dtype)}: a device would turn round the bits of its registers",
            hint="ttnn.typecast(tensor, ttnn.int32)",
        )
    taken = name not in _UNARY_INTEGERS or dtype in _UNARY_INTEGERS[name]
    if is_float(dtype) or (integers and taken):
        return
    raise fatal(
        f"Unary: UnaryOpType::{_UNARY_NATIVE.get(name, name.upper())} does not support integer input dtype {cpp(dtype)}",
        hint="ttnn.typecast(tensor, ttnn.float32)",
    )


def unary_result(given: DataType, room: DataType) -> DataType:
    """The type of a unary result: that of the tensor made for it. Raises RuntimeError where the operand's does not go over into it."""
    if given is not room and not {given, room} <= _ROOMS:
        raise fatal(
            f"Preallocated output dtype {cpp(room)} is not compatible with input dtype {cpp(given)}. Integer and float dtypes cannot be "
            "mixed; mixed floating-point output is limited to BFLOAT16, FLOAT32, and BFLOAT8_B.",
            hint="leave output_tensor out, then ttnn.typecast the result",
        )
    return room


def check_nearest(name: str, dtype: DataType, asked: bool) -> None:
    """Raises RuntimeError for a sum whose rounding to the nearest number is asked for in another type than BFLOAT16."""
    if asked and dtype is not DataType.BFLOAT16:
        raise fatal(
            "fast_and_approximate_mode=false is only supported for a BFLOAT16 output on binary operation "
            f"{name.upper()}, got output dtype {cpp(dtype)}",
            hint="leave fast_and_approximate_mode out: results of other types are rounded alike in both modes",
        )


def check_summed(dtype: DataType, *, signed: bool) -> None:
    """Raises RuntimeError for a type that reductions do not take; `signed`: those that take INT32."""
    taken = {DataType.FLOAT32, DataType.BFLOAT16, DataType.BFLOAT8_B, DataType.UINT32}
    if dtype not in taken and not (signed and dtype is DataType.INT32):
        raise fatal(
            "Only FLOAT32, BFLOAT16, BFLOAT8_B, and UINT32 are supported for generic reduction "
            f"(INT32 is supported for MAX/MIN/SUM) - got {cpp(dtype)}.",
            hint="ttnn.typecast(tensor, ttnn.float32)",
        )
