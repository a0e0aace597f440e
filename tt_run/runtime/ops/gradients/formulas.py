"""Formulas of gradients, element by element: what PyTorch's automatic differentiation makes, with the same bits, without the forward function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.torch_cpu import library, torch_function

Slopes = Callable[..., list[Any]]
"""Gradients by a formula: of the gradient, operands of its shape, and numbers."""
Short = Callable[..., bool]
"""With which numbers a formula rounds once at most, so that it may run on bfloat16 elements."""

_TANH_SCALE, _TANH_CUBE = math.sqrt(2 / math.pi), 0.044715
"""GELU in the tanh form is x * (1 + tanh(scale * (x + cube * x**3))) / 2."""
_LARGEST = 2.0**127


def check_rounding(rounding_mode: str | None) -> None:
    if rounding_mode not in (None, "trunc", "floor"):
        raise fatal(
            f"Incorrect rounding mode (expected None, 'trunc', or 'floor'), got {rounding_mode!r}",
            hint="rounding_mode='floor', 'trunc' or None",
        )


def squares(gradient: Any, x: Any, y: Any) -> list[Any]:
    slope = gradient * (2 * (x - y))
    return [slope, -slope]


def zeros(gradient: Any, *_: Any) -> Any:
    return [library().zeros_like(gradient)]


def always(*_: Any) -> bool:
    return True


def quotients(gradient: Any, x: Any, y: Any, rounding_mode: str | None = None) -> list[Any]:
    check_rounding(rounding_mode)
    if rounding_mode is not None:
        return zeros(gradient) * 2
    return [gradient / y, -gradient * (x / y / y)]


def quotient(gradient: Any, x: Any, y: float, rounding_mode: str | None = None) -> list[Any]:
    check_rounding(rounding_mode)
    return [gradient / y] if rounding_mode is None else zeros(gradient)


def of_power(gradient: Any, x: Any, exponent: float) -> list[Any]:
    return [gradient * (exponent * x.pow(exponent - 1)) if exponent else library().zeros_like(x)]


def tanh(gradient: Any, x: Any) -> Any:
    # Not 1 - tanh(x)**2, of which nothing is left from |x| = 9 on.
    tail = library().exp(-2 * x.abs())
    return [gradient.expand_as(x) * (4 * tail / (1 + tail).square())]


def gelu_slope(x: Any, form: str) -> Any:
    """The slope of GELU, `form` "none" or "tanh": without the differences of near numbers by which torch's own is zero far below zero."""
    torch = library()
    if form == "tanh":
        at = x.clamp(-10, 10)  # beyond, the slope is 0 or 1 in float32
        inner = _TANH_SCALE * (at + _TANH_CUBE * at**3)
        part = torch.sigmoid(2 * inner)
        rise = _TANH_SCALE * (1 + 3 * _TANH_CUBE * at.square())
        slope = part + 2 * at * part * (1 - part) * rise
        return slope.masked_fill(x >= 10, 1).masked_fill(x <= -10, 0)
    x = x.clamp(-_LARGEST, _LARGEST)  # infinity times nothing is no number
    below = 0.5 * torch.erfc(-x * math.sqrt(0.5))
    return below + x * torch.exp(-0.5 * x.square()) * (1 / math.sqrt(2 * math.pi))


def scaled(gradient: Any, alpha: float) -> Any:
    return gradient if alpha == 1 else gradient * alpha


# Gradients of functions of one operand by formulas: those that round once at most, and others.
SHORT: dict[str, Slopes] = {
    "abs": lambda gradient, x: [gradient * x.sgn()],
    "deg2rad": lambda gradient, x: [library().deg2rad(gradient)],
    "frac": lambda gradient, x: [gradient.clone()],
    "hardsigmoid": lambda gradient, x: [_aten("hardsigmoid_backward")(gradient, x)],
    "hardshrink": lambda gradient, x, limit: [_aten("hardshrink_backward")(gradient, x, limit)],
    "hardswish": lambda gradient, x: [_aten("hardswish_backward")(gradient, x)],
    "hardtanh": lambda gradient, x, *limits: _limited("hardtanh", gradient, x, *limits),
    "leaky_relu": lambda gradient, x, slope: [_aten("leaky_relu_backward")(gradient, x, slope, False)],
    "log": lambda gradient, x: [gradient / x],
    "neg": lambda gradient, x: [-gradient],
    "rad2deg": lambda gradient, x: [library().rad2deg(gradient)],
    "relu": lambda gradient, x: [_aten("threshold_backward")(gradient, x, 0)],
    "relu6": lambda gradient, x: [_aten("hardtanh_backward")(gradient, x, 0, 6)],
    "softshrink": lambda gradient, x, *limits: _limited("softshrink", gradient, x, *limits),
    "square": lambda gradient, x: [gradient * (2 * x)],
    "threshold": lambda gradient, x, limit, _: [_aten("threshold_backward")(gradient, x, limit)],
}
SLOPES: dict[str, Slopes] = {
    "cos": lambda gradient, x: [gradient * -x.sin()],
    "exp": lambda gradient, x: [gradient * x.exp()],
    "reciprocal": lambda gradient, x: [-gradient * x.reciprocal().square()],
    "rsqrt": lambda gradient, x: [-0.5 * gradient * x.rsqrt().pow(3)],
    "sin": lambda gradient, x: [gradient * x.cos()],
    "sqrt": lambda gradient, x: [gradient / x.sqrt().mul_(2)],
}


def _aten(name: str) -> Callable[..., Any]:
    """The gradient that PyTorch itself calls."""
    return torch_function(f"ops.aten.{name}")


def _limited(name: str, gradient: Any, x: Any, *limits: float) -> list[Any]:
    torch_function(f"nn.functional.{name}")(
        x.new_empty(0), *limits
    )  # which refuses limits that the gradient takes
    return [_aten(f"{name}_backward")(gradient, x, *limits)]
