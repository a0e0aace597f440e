"""Quicker forms of functions of two numbers of bfloat16 that are kept in float32: 16 bits allow another way.

Quotients of such numbers are exact in float64, and have NumPy's bits in a third of its time; a logarithm of a sum has other last bits, which
rounding to bfloat16 takes away.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.values.bfloat16 import round_bfloat16

Array = npt.NDArray[Any]

_LOG_2 = np.float32(math.log(2))
_TINY = np.finfo(np.float32).tiny
_QUOTIENT = 2.0**20
"""Below, the quotient of two numbers of bfloat16 lies on the right side of every integer in float64, and a multiple of the divisor is exact."""


def squared_difference(a: Any, b: Any) -> Array:
    """The square of a - b, which is rounded to bfloat16 before, as golden functions and a device have it."""
    difference = round_bfloat16(np.subtract(a, b))
    return np.multiply(difference, difference)


def _whole_and_left(a: Any, b: Any, to_whole: np.ufunc) -> tuple[Array, Array, Array]:
    """a / b made whole, what is left of a, both exact in float64 for numbers of bfloat16, and where they are not."""
    dividend, divisor = np.asarray(a, np.float64), np.asarray(b, np.float64)
    whole = np.asarray(dividend / divisor)
    to_whole(whole, out=whole)
    left = whole * divisor
    np.subtract(dividend, left, out=left)
    # Both comparisons are false of NaN.
    return whole, left, ~((np.abs(whole) < _QUOTIENT) & (np.abs(left) < np.inf))


def _mended(found: Array, wrong: Array, function: Callable[..., Array], a: Any, b: Any) -> Array:
    """Results, those at `wrong` by NumPy's function."""
    if wrong.any():
        a, b = np.broadcast_arrays(a, b)
        found[wrong] = function(a[wrong], b[wrong])
    return found


def fmod(a: Any, b: Any) -> Array:
    """np.fmod of numbers of bfloat16 in float32, with its bits, in a third of the time."""
    _, left, wrong = _whole_and_left(a, b, np.trunc)
    return _mended(np.copysign(left.astype(np.float32), a), wrong, np.fmod, a, b)


def remainder(a: Any, b: Any) -> Array:
    """np.remainder of numbers of bfloat16 in float32, with its bits, in a third of the time."""
    _, left, wrong = _whole_and_left(a, b, np.trunc)
    found = left.astype(np.float32)
    beyond = (found != 0) & ((found < 0) != (np.asarray(b) < 0))
    # Once the divisor is added all have its sign, and so have zeros.
    found += np.multiply(b, beyond, dtype=np.float32)
    return _mended(np.copysign(found, b), wrong, np.remainder, a, b)


def floor_divide(a: Any, b: Any) -> Array:
    """np.floor_divide of numbers of bfloat16 in float32, with its bits, in a third of the time."""
    whole, _, wrong = _whole_and_left(a, b, np.floor)
    return _mended(whole.astype(np.float32), wrong, np.floor_divide, a, b)


def log_of_sum(a: Any, b: Any) -> Array:
    """log(exp(a) + exp(b)) by NumPy's fast logarithm: in float32 exact to some last bits of the part that is added to the larger one."""
    return np.where(a == b, a + _LOG_2, np.maximum(a, b) + _log1p(np.exp(-np.abs(a - b))))


def log2_of_sum(a: Any, b: Any) -> Array:
    """log2(2**a + 2**b), as `log_of_sum`."""
    return np.where(a == b, a + np.float32(1), np.maximum(a, b) + _log1p(np.exp2(-np.abs(a - b))) / _LOG_2)


def _log1p(x: Array) -> Array:
    """log(1 + x) of x from 0 to 1: what rounding takes from 1 + x comes back by the slope."""
    whole = x + np.float32(1)
    part = whole - np.float32(1)
    found = np.log(whole)
    found *= x
    found /= np.maximum(part, _TINY)
    return np.where(part == 0, x, found)
