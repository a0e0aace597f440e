"""Mathematical functions of float32 blocks that NumPy does not have: the activations and their kin.

All of them are compositions of NumPy and SciPy calls, so a value has the same bits wherever it lies in a block. In sums and products
what was computed on the way comes first: NumPy writes over it if it is large, for which it would turn the operands round, and of two NaN the
first one counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.errors import fatal
from tt_run.runtime.values.float_warnings import restore, silence

Array = npt.NDArray[Any]

# erf(x) = x * P(x*x) / Q(x*x) on |x| < 4, where float32 cannot tell it from 1 any more: an own least-squares fit in relative
# error (4e-7 when evaluated in float32), lowest power first. It ends a little above 1, so that the limits make it exactly 1.
_ERF_ABOVE = (
    1.128379140084421,
    0.19355038153592263,
    0.05309462145756851,
    0.0038818213451270954,
    0.00028423605336301414,
    1.982961503264792e-06,
)
_ERF_BELOW = (
    1.0,
    0.504862131076363,
    0.11534519522646562,
    0.015203939729567266,
    0.001184670976593365,
    3.736225027960404e-05,
)
_ROOT_HALF = np.float32(math.sqrt(0.5))
SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
_GELU_TAIL = np.float32(-2)
_ROOT_TWO_OVER_PI = np.float32(math.sqrt(2 / math.pi))


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    value = np.multiply(x, np.float32(coefficients[-1]))
    for coefficient in coefficients[-2:0:-1]:
        value += np.float32(coefficient)
        value *= x
    value += np.float32(coefficients[0])
    return value


def add_product(a: Array, b: Array, c: Array, factor: Any) -> Array:
    """a + factor b c."""
    return factor * b * c + a


def add_quotient(a: Array, b: Array, c: Array, factor: Any) -> Array:
    """a + factor b / c."""
    return factor * b / c + a


def product_and_sum(a: Array, b: Array, c: Array) -> Array:
    """a b + c."""
    return a * b + c


def at_least(x: Array, low: float, out: Array | None = None) -> Array:
    """The larger of x and a number."""
    limit = _limit(x, low, out)
    return np.maximum(x, limit, out=limit if out is None else out)


def at_most(x: Array, high: float, out: Array | None = None) -> Array:
    """The smaller of x and a number."""
    limit = _limit(x, high, out)
    return np.minimum(x, limit, out=limit if out is None else out)


def _limit(x: Array, limit: float, out: Array | None) -> Array:
    """As many limits as x has elements, which NumPy compares three times as fast as with one number."""
    room = np.empty_like(x) if out is None or out is x else out
    room.fill(_inside(x, limit))
    return room


def _inside(x: Array, limit: float) -> float:
    """A limit for integers that its type can hold: beyond the ends it limits no more than they do."""
    if x.dtype.kind not in "iu":
        return limit
    bounds = np.iinfo(x.dtype)
    return int(min(max(limit, bounds.min), bounds.max))


def limited(x: Array, low: float, high: float, out: Array | None = None) -> Array:
    """x limited to [low, high]; NaN stays NaN."""
    return at_most(at_least(x, low, out), high, out)


def relu(x: Array, out: Array | None = None) -> Array:
    """x above zero, zero below."""
    return at_least(x, 0, out)


def relu6(x: Array, out: Array | None = None) -> Array:
    """x limited to [0, 6]."""
    return limited(x, 0, 6, out)


def relu_max(x: Array, limit: float) -> Array:
    """x limited to [0, limit]; 0 where the limit is below 0."""
    return at_least(at_most(x, limit), 0)


def clamped(x: Array, low: float | None, high: float | None) -> Array:
    """x limited on one side or both; NaN stays NaN; where the limits cross, the upper one wins, as in torch.

    The limits of unsigned integers wrap, as the reference packs them.
    """
    if low is not None:
        x = at_least(x, _wrapped(x, low))
    if high is not None:
        x = at_most(x, _wrapped(x, high))
    return x


def _wrapped(x: Array, limit: float) -> float:
    if x.dtype.kind != "u" or not math.isfinite(limit):
        return limit
    return int(limit) % (1 << 8 * x.itemsize)


def erf(x: Array) -> Array:
    """Error function, within 5e-7 of the true value; exactly 1 from |x| = 4 on."""
    near = limited(x, -4, 4)
    square = near * near
    value = _polynomial(_ERF_ABOVE, square)
    value *= near
    value /= _polynomial(_ERF_BELOW, square)
    return limited(value, -1, 1)


def erfc(x: Array) -> Array:
    """1 - erf(x), right also where erf(x) is near 1."""
    from scipy import special

    return np.asarray(special.erfc(x.astype(np.float64)), np.float32)


def gelu(x: Array) -> Array:
    """x times the normal distribution function of x."""
    value = np.ascontiguousarray(erf(x * _ROOT_HALF))
    value += np.float32(1)
    value *= np.float32(0.5)
    value *= x
    # Below, 1 + erf cancels: the tail comes from the complementary function.
    tail = np.flatnonzero(x < _GELU_TAIL)
    if tail.size:
        from scipy import special

        below = x.reshape(-1)[tail].astype(np.float64)
        value.reshape(-1)[tail] = 0.5 * below * special.erfc(-below * math.sqrt(0.5))
    return value


def gelu_tanh(x: Array) -> Array:
    """The tanh form of GELU."""
    value = np.tanh(_ROOT_TWO_OVER_PI * (x + np.float32(0.044715) * x * x * x))
    value += np.float32(1)
    value *= np.float32(0.5)
    value *= x
    return value


def _one_and_exp(x: Array) -> Array:
    """1 + exp(-x); inf far below zero, which both quotients want, and of which NumPy is not to warn."""
    before = silence()
    try:
        value: Array = np.exp(-x)
    finally:
        restore(before)
    value += np.float32(1)
    return value


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x))."""
    value = _one_and_exp(x)
    return np.reciprocal(value, out=value)


def silu(x: Array) -> Array:
    """x * sigmoid(x)."""
    value = _one_and_exp(x)
    return np.divide(x, value, out=value)


def rsqrt(x: Array) -> Array:
    """1 / sqrt(x)."""
    value = np.sqrt(x)
    return np.reciprocal(value, out=value)


def softplus(x: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """log(1 + exp(beta x)) / beta; x itself where beta x exceeds the threshold."""
    scaled = x * np.float32(beta)
    return np.where(scaled > np.float32(threshold), x, np.log1p(np.exp(scaled)) / np.float32(beta))


def mish(x: Array) -> Array:
    """x * tanh(softplus(x))."""
    return np.tanh(softplus(x)) * x


def hardsigmoid(x: Array) -> Array:
    """x / 6 + 1/2, limited to [0, 1]."""
    return limited(x + np.float32(3), 0, 6) / np.float32(6)


def hardswish(x: Array) -> Array:
    """x * hardsigmoid(x)."""
    return hardsigmoid(x) * x


def hardtanh(x: Array, min_val: float = -1.0, max_val: float = 1.0) -> Array:
    """x limited to [min_val, max_val]."""
    return limited(x, min_val, max_val)


def leaky_relu(x: Array, negative_slope: float = 0.01) -> Array:
    """x, times the slope below zero."""
    if x.dtype.kind == "u":
        return x.copy()
    if 0 < negative_slope <= 1:
        below = x * np.float32(negative_slope)
        return np.maximum(x, below, out=below)
    return np.where(x >= 0, x, x * np.float32(negative_slope))


def prelu(x: Array, weight: Any) -> Array:
    """x above zero, the weight times x elsewhere."""
    return np.where(x > 0, x, weight * x)


def elu(x: Array, alpha: float = 1.0) -> Array:
    """x above zero, alpha * (exp(x) - 1) below."""
    return np.where(x > 0, x, np.float32(alpha) * np.expm1(at_most(x, 0)))


def selu(x: Array, scale: float = SELU_SCALE, alpha: float = SELU_ALPHA) -> Array:
    """Scaled ELU."""
    return np.float32(scale) * elu(x, alpha)


def rounded(x: Array, decimals: float = 0) -> Array:
    """x rounded to `decimals` places, ties to even; what is whole already (2**23 and more) stays, and is not scaled past the largest."""
    scale, whole = np.float32(10.0**decimals), 2.0**23 if decimals > 0 else np.inf
    return np.where(np.abs(x) < whole, np.rint(x * scale) / scale, x)


def celu(x: Array, alpha: float = 1.0) -> Array:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    return at_least(x, 0) + at_most(np.float32(alpha) * np.expm1(x / np.float32(alpha)), 0)


def log_sigmoid(x: Array) -> Array:
    """log(sigmoid(x)), without overflow."""
    return at_most(x, 0) - np.log1p(np.exp(-np.abs(x)))


def softsign(x: Array) -> Array:
    """x / (1 + |x|)."""
    return x / (np.float32(1) + np.abs(x))


def tanhshrink(x: Array) -> Array:
    """x - tanh(x); near zero, where the two are almost equal, by the first terms of its series and in float64."""
    result = np.asarray(x - np.tanh(x))
    near = np.abs(x) < np.float32(0.5)
    if near.any():
        exact = x[near].astype(np.float64)
        cubic = exact**3 * (1 / 3 - exact**2 * (2 / 15))
        result[near] = np.where(np.abs(exact) < 1e-3, cubic, exact - np.tanh(exact))
    return result


def softshrink(x: Array, lambd: float = 0.5) -> Array:
    """x moved towards zero by lambd; NaN stays NaN."""
    return np.where(
        x > np.float32(lambd),
        x - np.float32(lambd),
        np.where(x < np.float32(-lambd), x + np.float32(lambd), np.where(np.isnan(x), x, np.float32(0))),
    )


def hardshrink(x: Array, lambd: float = 0.5) -> Array:
    """x, zero within lambd of zero; NaN stays NaN."""
    return np.where(np.abs(x) <= np.float32(lambd), np.float32(0), x)


def sign(x: Array) -> Array:
    """-1, 0 or 1 by the sign of x; 0 for NaN, as in torch."""
    found = np.sign(x)
    return np.where(np.isnan(x), found.dtype.type(0), found) if x.dtype.kind == "f" else found


def frac(x: Array) -> Array:
    """The part of x behind the point, with its sign."""
    return x - np.trunc(x)


def number(x: Array, value: Any) -> Any:
    """A parameter in the type that a block is computed in."""
    return x.dtype.type(value)


def hardmish(x: Array) -> Array:
    """x times x / 2 + 1 limited to [0, 1]."""
    return limited(x * np.float32(0.5) + np.float32(1), 0, 1) * x


def xielu(x: Array, alpha_p: float, alpha_n: float) -> Array:
    """A parabola above zero, an exponential below, both with the slope 1/2 at zero."""
    up, down, half = np.float32(alpha_p), np.float32(alpha_n), np.float32(0.5)
    below = down * np.expm1(at_most(x, -1e-6)) - down * x + half * x
    return np.where(x > 0, up * x * x + half * x, below)


def logit(x: Array, eps: float | None) -> Array:
    """log(x / (1 - x)), of x limited to [eps, 1 - eps] if there is an eps."""
    if eps is not None:
        low, high = (1 - eps, eps) if eps > 0.5 else (eps, 1 - eps)
        x = limited(x, low, high)
    wide = x.astype(np.float64)  # near 1/2 the quotient is near 1, whose logarithm needs the digits
    return np.log(wide / (1 - wide)).astype(np.float32)


def divided(x: Array, value: float, rounding_mode: str | None) -> Array:
    """value / x; rounding_mode floor or trunc rounds the quotient."""
    divisions: dict[str | None, Callable[[Any, Any], Any]] = {
        None: np.divide,
        "floor": floor_divide,
        "trunc": trunc_divide,
    }
    if rounding_mode not in divisions:
        raise fatal(
            f"Incorrect rounding mode (expected None, 'trunc', or 'floor'), got '{rounding_mode}'",
            hint="rounding_mode='floor'",
        )
    found: Array = divisions[rounding_mode](number(x, value), x)
    return found


def floor_divide(a: Any, b: Any) -> Array:
    """The floor of a / b: of integers the exact one, of others as in torch (infinity over a number has none: NaN)."""
    if np.result_type(a, b).kind == "f":
        return np.asarray(np.floor_divide(a, b))
    # The quotient of 32 bits by 32 bits is on the right side of every integer in float64.
    return np.floor(np.divide(a, b, dtype=np.float64))


def subtract_from(a: Any, b: Any) -> Array:
    """b - a."""
    return np.asarray(np.subtract(b, a))


def trunc_divide(a: Any, b: Any) -> Array:
    """a / b cut towards zero: of integers the exact quotient."""
    if np.result_type(a, b).kind == "f":
        return np.trunc(np.divide(a, b))
    return np.trunc(np.divide(a, b, dtype=np.float64))


def softcap(x: Array, beta: float) -> Array:
    """beta tanh(x / beta)."""
    return np.float32(beta) * np.tanh(x / np.float32(beta))


def heaviside(x: Array, value: float) -> Array:
    """0 below zero, 1 above, `value` at zero; 0 for NaN, as in torch."""
    return np.where(x == 0, number(x, value), x > 0).astype(x.dtype, copy=False)


def threshold(x: Array, limit: float, value: float) -> Array:
    """x above the limit, `value` elsewhere; NaN stays NaN."""
    return np.where(x <= number(x, limit), number(x, value), x)


def rpow(x: Array, base: float) -> Array:
    """`base` to the power of x."""
    if x.dtype.kind == "f":
        return np.power(number(x, base), x)
    if float(base).is_integer():
        return whole_power(np.array(int(base)).astype(x.dtype), x)
    return np.power(float(base), x.astype(np.float64)).astype(x.dtype)


def power(a: Any, b: Any) -> Array:
    """a to the power of b; a half as a number means the square root, as in torch: that of -inf is NaN."""
    if np.ndim(b) or abs(b) != 0.5:
        return np.asarray(np.power(a, b))
    root = np.sqrt(a)
    return np.asarray(root if b > 0 else np.reciprocal(root))


def whole_power(a: Any, b: Any) -> Array:
    """Powers of integers, which wrap; negative exponents leave nothing but of 1 and -1."""
    base, exponent = np.asarray(a), np.asarray(b)
    zero, one = base.dtype.type(0), base.dtype.type(1)
    raised = np.power(base, np.maximum(exponent, exponent.dtype.type(0)))
    if exponent.dtype.kind == "u":
        return np.asarray(raised)
    unit = np.where(exponent & 1, base, one)
    return np.where(exponent >= 0, raised, np.where(np.abs(base) == 1, unit, zero))


def special(name: str, *before: float) -> Callable[..., Array]:
    """A function of SciPy's, computed in float64 and rounded once."""

    def compute(x: Array, *parameters: float) -> Array:
        from scipy import special as functions

        return np.asarray(getattr(functions, name)(*before, *parameters, x.astype(np.float64)), np.float32)

    return compute


_OVERFLOWS = np.log(np.finfo(np.float32).max)
BESSEL_LIMIT = 88.5
"""A device's Bessel function of order 1 looks at no more of its argument on either side."""


def bessel_i0(x: Array) -> Array:
    """The modified Bessel function of order 0; infinite where exp(x) is so in float32, as in the golden function."""
    values = special("i0")(x)
    return np.where(np.abs(x) > _OVERFLOWS, np.float32(np.inf), values)


def bessel_i1(x: Array) -> Array:
    """The modified Bessel function of order 1, of x limited as a device does."""
    return special("i1")(np.clip(x, -BESSEL_LIMIT, BESSEL_LIMIT))
