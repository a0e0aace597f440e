"""Functions of two operands: their NumPy kernels, and what they need of integers. A new one is an entry of `RULES`.

Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels import functions as f
from tt_run.runtime.kernels import short_functions as short
from tt_run.runtime.values.bfloat16 import round_bfloat16

Array = npt.NDArray[Any]
Kernel = Callable[[Any, Any], Array]


@dataclass(frozen=True)
class BinaryFunction:
    """A binary function: the NumPy kernel, and what it needs of integers."""

    name: str
    kernel: Kernel
    doc: str
    # Integers go through float32: the function leaves the integers.
    real: bool = False
    # Integers whose quotients are float32, as the reference's division makes them.
    widens: tuple[DataType, ...] = ()
    # The function is one of bits: floating-point tensors are refused.
    integer: bool = False
    # Element types of tensors that a float scalar takes to float32.
    promotes: tuple[DataType, ...] = ()
    # A tensor of 32-bit integers goes over to the type of a floating-point one after it.
    follows: bool = False
    # Comparisons answer in 16 bits where the operands have 8.
    compares: bool = False
    # A number beside a BFLOAT16 tensor is rounded to it first, as the golden function and a device have it.
    narrows: bool = False
    # The kernel of BFLOAT16: where golden functions and a device round the first step of several, or where 16 bits allow a quicker one.
    stepwise: Kernel | None = None


WIDE = (DataType.INT32, DataType.UINT32)
"""The integers of 32 bits."""


def squared_difference(a: Any, b: Any) -> Array:
    """(a - b) squared."""
    difference = np.subtract(a, b)
    return np.multiply(difference, difference)


def _xlogy(a: Any, b: Any) -> Array:
    return np.where((a == 0) & ~np.isnan(b), np.float32(0), np.log(b) * a)


def xlogy_in_steps(a: Any, b: Any) -> Array:
    with np.errstate(all="ignore"):
        logarithm = round_bfloat16(np.log(np.asarray(b)))
    return np.where((a == 0) & ~np.isnan(b), np.float32(0), logarithm * a)


def _gelu_of_sum(a: Any, b: Any) -> Array:
    return f.gelu(np.add(a, b))


def _gelu_in_steps(a: Any, b: Any) -> Array:
    return f.gelu(round_bfloat16(np.add(a, b)))


def _shifted_down(a: Any, b: Any) -> Array:
    """A shift down that keeps the sign: counts end at 31, and a negative one is as many.

    A device has the same one for the 32 bits of UINT32, of which the highest is a sign to it.
    """
    first, amount = np.asarray(a), np.asarray(b)
    if first.dtype == np.uint32:
        return _shifted_down(first.view(np.int32), amount.view(np.int32)).view(np.uint32)
    if amount.dtype == first.dtype and _all_below(amount, 32):
        return np.asarray(np.right_shift(first, amount))
    if first.dtype.kind == "u":
        return np.asarray(np.right_shift(first, np.minimum(amount, first.dtype.type(31))))
    return np.asarray(np.right_shift(first, np.where((amount >= 0) & (amount < 32), amount, 31)))


def _all_below(amount: Array, bits: int) -> bool:
    """Whether counts are from 0 to `bits`, without it, as they mostly are."""
    return bool(amount.size) and int(amount.view(f"u{amount.dtype.itemsize}").max()) < bits


def _shifted(shift: Kernel) -> Kernel:
    """A shift of the bits as they are, without a sign; none are left when it is as wide as the element."""

    def compute(a: Any, b: Any) -> Array:
        first, amount = np.asarray(a), np.asarray(b)
        bits = first.dtype.itemsize * 8
        unsigned = first.view(f"u{first.dtype.itemsize}")
        if amount.dtype == first.dtype and _all_below(amount, bits):
            return np.asarray(shift(unsigned, amount.view(unsigned.dtype))).view(first.dtype)
        moved = shift(unsigned, amount.astype(unsigned.dtype) % unsigned.dtype.type(bits))
        inside = (amount >= 0) & (amount < bits)
        return np.where(inside, moved, unsigned.dtype.type(0)).view(first.dtype)

    return compute


RULES = {
    rule.name: rule
    for rule in (
        BinaryFunction("add", np.add, "a + b.", narrows=True),
        BinaryFunction("subtract", np.subtract, "a - b.", narrows=True),
        BinaryFunction("multiply", np.multiply, "a * b.", promotes=WIDE, follows=True),
        BinaryFunction("eq", np.equal, "1 where a = b, else 0.", compares=True, narrows=True),
        BinaryFunction("ne", np.not_equal, "1 where a differs from b, else 0.", compares=True, narrows=True),
        BinaryFunction("lt", np.less, "1 where a < b, else 0.", compares=True, narrows=True),
        BinaryFunction("le", np.less_equal, "1 where a <= b, else 0.", compares=True, narrows=True),
        BinaryFunction("gt", np.greater, "1 where a > b, else 0.", compares=True, narrows=True),
        BinaryFunction("ge", np.greater_equal, "1 where a >= b, else 0.", compares=True, narrows=True),
        BinaryFunction("logical_and", np.logical_and, "1 where both are not zero, else 0."),
        BinaryFunction("logical_or", np.logical_or, "1 where one is not zero, else 0."),
        BinaryFunction("logical_xor", np.logical_xor, "1 where exactly one is not zero, else 0."),
        BinaryFunction(
            "squared_difference",
            squared_difference,
            "(a - b) squared.",
            narrows=True,
            stepwise=short.squared_difference,
        ),
        BinaryFunction("ldexp", lambda a, b: np.exp2(b) * a, "a * 2**b.", real=True),
        BinaryFunction(
            "logaddexp",
            np.logaddexp,
            "log(exp(a) + exp(b)).",
            real=True,
            narrows=True,
            stepwise=short.log_of_sum,
        ),
        BinaryFunction(
            "logaddexp2",
            np.logaddexp2,
            "log2(2**a + 2**b).",
            real=True,
            narrows=True,
            stepwise=short.log2_of_sum,
        ),
        BinaryFunction("hypot", np.hypot, "sqrt(a*a + b*b).", real=True),
        BinaryFunction("atan2", np.arctan2, "The angle of the point (b, a).", real=True),
        BinaryFunction(
            "xlogy",
            _xlogy,
            "a * log(b), 0 where a is 0 and b a number.",
            real=True,
            narrows=True,
            stepwise=xlogy_in_steps,
        ),
        BinaryFunction("bitwise_and", np.bitwise_and, "The bits that both have.", integer=True),
        BinaryFunction("bitwise_or", np.bitwise_or, "The bits that one has.", integer=True),
        BinaryFunction("bitwise_xor", np.bitwise_xor, "The bits that exactly one has.", integer=True),
        BinaryFunction(
            "bitwise_left_shift", _shifted(np.left_shift), "a moved b bits up; 0 from 32 on.", integer=True
        ),
        BinaryFunction(
            "bitwise_right_shift",
            _shifted_down,
            "a moved b bits down, the sign coming in; counts end at 31.",
            integer=True,
        ),
        BinaryFunction(
            "logical_left_shift", _shifted(np.left_shift), "a moved b bits up; 0 from 32 on.", integer=True
        ),
        BinaryFunction(
            "logical_right_shift",
            _shifted(np.right_shift),
            "a moved b bits down, zeros coming in; 0 from 32 on.",
            integer=True,
        ),
        BinaryFunction("gcd", np.gcd, "The greatest common divisor.", integer=True),
        BinaryFunction("lcm", lambda a, b: np.abs(np.lcm(a, b)), "The least common multiple.", integer=True),
        BinaryFunction(
            "bias_gelu", _gelu_of_sum, "GELU of a + b.", real=True, narrows=True, stepwise=_gelu_in_steps
        ),
        BinaryFunction(
            "remainder",
            np.remainder,
            "What is left of a after the floor of a / b times b.",
            promotes=(DataType.INT32,),
            stepwise=short.remainder,
        ),
        BinaryFunction(
            "fmod",
            np.fmod,
            "What is left of a after a / b cut towards zero times b.",
            promotes=(DataType.INT32,),
            stepwise=short.fmod,
        ),
    )
}
