"""Which function of PyTorch stands for a kernel of bfloat16 elements: candidates, which `torch_bfloat16` compares with the kernel before one is taken.

Only what PyTorch has in less time than reading a table takes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tt_run.runtime.kernels import functions as f
from tt_run.runtime.kernels import short_functions as short

Twin = Callable[..., Any]
"""Takes torch tensors of the operands, and `out`."""
Kernel = Callable[..., Any]


def found(torch: Any, path: str) -> Twin:
    """The function under a path. Raises AttributeError where a release has none."""
    for name in path.split("."):
        torch = getattr(torch, name)
    return torch


def _under(path: str) -> Callable[[Any], Twin]:
    return lambda torch: found(torch, path)


def _squared_difference(torch: Any) -> Twin:
    def twin(a: Any, b: Any, *, out: Any) -> None:
        torch.sub(a, b, out=out)
        torch.mul(out, out, out=out)

    return twin


PAIRS: dict[Kernel, Callable[[Any], Twin]] = {
    np.add: _under("add"),
    np.subtract: _under("sub"),
    np.multiply: _under("mul"),
    np.divide: _under("div"),
    np.maximum: _under("maximum"),
    np.minimum: _under("minimum"),
    short.squared_difference: _squared_difference,
}
"""Of two elements."""

SINGLES: dict[Kernel, Callable[[Any], Twin]] = {
    np.negative: _under("neg"),
    np.abs: _under("abs"),
    np.square: _under("square"),
    np.sqrt: _under("sqrt"),
    np.reciprocal: _under("reciprocal"),
    np.rint: _under("round"),
    np.floor: _under("floor"),
    np.ceil: _under("ceil"),
    np.trunc: _under("trunc"),
    np.deg2rad: _under("deg2rad"),
    np.rad2deg: _under("rad2deg"),
    f.rsqrt: _under("rsqrt"),
    f.frac: _under("frac"),
    f.sign: _under("sign"),
    f.hardsigmoid: _under("_C._nn.hardsigmoid"),
}
"""Of one element."""


def _given(path: str) -> Callable[..., Twin]:
    """A function that takes its parameters after the tensor."""

    def bind(torch: Any, *params: Any) -> Twin:
        call = found(torch, path)
        return lambda x, *, out: call(x, *params, out=out)

    return bind


def _leaky_relu(torch: Any, slope: float = 0.01) -> Twin:
    # A double would multiply the elements by other digits than the kernel's.
    return _given("_C._nn.leaky_relu")(torch, float(np.float32(slope)))


def _limited(torch: Any, low: float | None = None, high: float | None = None) -> Twin:
    return partial(torch.clamp, min=low, max=high)


def _from_number(torch: Any, number: float) -> Twin:
    first = torch.tensor(number, dtype=torch.bfloat16)
    return lambda x, *, out: torch.sub(first, x, out=out)


_POWERS = {2: "square", 0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}


def _power(torch: Any, exponent: float) -> Twin:
    if exponent in _POWERS:
        return found(torch, _POWERS[exponent])
    return _given("pow")(torch, float(exponent))


BESIDE: dict[Kernel, Callable[..., Twin]] = {
    np.add: _given("add"),
    np.subtract: _given("sub"),
    np.multiply: _given("mul"),
    np.divide: _given("div"),
    np.maximum: _given("clamp_min"),
    np.minimum: _given("clamp_max"),
    f.subtract_from: _from_number,
}
"""Of an element and a number that bfloat16 holds, alike for every number (but zeros for those of `SIGNED`)."""


def _scaled(path: str) -> Callable[..., Twin]:
    """A function that takes three tensors and a factor."""

    def bind(torch: Any, factor: float) -> Twin:
        call = found(torch, path)
        return lambda a, b, c, *, out: call(a, b, c, value=factor, out=out)

    return bind


def _product_and_sum(torch: Any) -> Twin:
    return lambda a, b, c, *, out: torch.addcmul(c, a, b, out=out)


SEVERAL: dict[Kernel, Callable[..., Twin]] = {
    f.add_product: _scaled("addcmul"),
    f.add_quotient: _scaled("addcdiv"),
    f.product_and_sum: _product_and_sum,
}
"""Of three elements, and of the number that follows them."""

PRODUCTS_AND_SUMS = frozenset({f.add_product, f.product_and_sum})
"""Kernels whose products PyTorch may leave unrounded before the sum: it has them for factors of bfloat16, and for results inside of `has_edges`."""

RUNNING: dict[Kernel, str] = {np.add: "cumsum", np.multiply: "cumprod"}
"""Of the elements of a row from its first one on."""

SIGNED = frozenset({np.maximum, np.minimum})
"""Kernels that choose another zero than PyTorch of two with different signs."""

APPLIED: dict[Kernel, Callable[..., Twin]] = {
    f.leaky_relu: _leaky_relu,
    f.prelu: _leaky_relu,
    f.threshold: _given("threshold"),
    f.hardtanh: _limited,
    f.limited: _limited,
    f.clamped: _limited,
    f.at_least: _given("clamp_min"),
    f.at_most: _given("clamp_max"),
    f.hardshrink: _given("hardshrink"),
    f.softshrink: _given("_C._nn.softshrink"),
    f.power: _power,
}
"""Of an element and parameters."""
