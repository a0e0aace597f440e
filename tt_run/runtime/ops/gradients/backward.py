"""Backward operations: from the gradient of a result and the operands, the gradients of the operands. Source: reference library 0.81.1.

PyTorch's automatic differentiation computes them, since each is defined as the gradient of a forward function that PyTorch has, and
since the golden functions are the same calls. A gradient that a caller does not ask for (`are_required_outputs`) is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tt_run.runtime.enums import Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.kernels.torch_cpu import gradients, library, torch_function
from tt_run.runtime.kernels.torch_elements import ByElement
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import Operation, no_tensor
from tt_run.runtime.ops.declaration.rows import PLACED, Row, declare
from tt_run.runtime.ops.goldens import common as goldens
from tt_run.runtime.ops.gradients import formulas, gradient_places, gradient_shapes
from tt_run.runtime.ops.gradients.formulas import Short, Slopes, always
from tt_run.runtime.tensor.tensor import Tensor

Function = Callable[..., Any]

_TAIL = f"*, {PLACED}"
_INTO = f"{_TAIL}, input_grad: Tensor | None = None"
_ROOMS = frozenset(["exp", "neg", "rsqrt", "silu", "sqrt", "tanh", "fill"])
"""The functions of one operand whose gradient can be written into a tensor of the caller."""
_LOOKED_AT = 16384
"""From how many elements on to look for the least one pays: in a tenth of the time it may save filling some in."""
_ONE = "grad_tensor: Tensor, input_tensor: Tensor"
_TWO = "grad_tensor: Tensor, input_tensor_a: Tensor, input_tensor_b: Tensor"
_OTHER = "grad_tensor: Tensor, input_tensor: Tensor, other_tensor: Tensor | float"
_ASKED = f"*, are_required_outputs: Sequence[bool] = (True, True), {PLACED}"
_INTO_AB = f"{_ASKED}, input_a_grad: Tensor | None = None, input_b_grad: Tensor | None = None"
_INTO_OTHER = f"{_ASKED}, input_grad: Tensor | None = None, other_grad: Tensor | None = None"


def _declared(*rows: Row) -> dict[str, Operation]:
    """Enter backward operations, each with the types, places and layouts of its gradients."""
    placed = [replace(row, **gradient_places.of(row.name.removesuffix("_bw"))) for row in rows]
    return declare(families.BACKWARD, *placed, check=gradient_shapes.check)


def _unary(
    name: str,
    forward: Function | str,
    extra: str = "",
    tail: str = "",
    slopes: Slopes | None = None,
    short: Short | None = None,
) -> Row:
    """A row whose result is the gradient of one operand. `extra`: parameters after the operands, `tail`: after the star."""
    head = _ONE + (f", {extra}" if extra else "")
    placed = _INTO if name in _ROOMS else _TAIL
    signature = f"({head}, {placed})" if not tail else f"({head}, *, {tail}, {placed[3:]})"
    text = f"The gradient of `{name}`'s operand."
    backward = gradients(forward) if slopes is None else _alike(slopes, forward, short=short)
    return Row(f"{name}_bw", signature, backward, text, integers=False)


def _binary(
    name: str,
    forward: Function | str,
    extra: str = "",
    into: str = _TAIL,
    slopes: Slopes | None = None,
    short: Short | None = None,
) -> Row:
    """A row whose results are the gradients of two tensors. `into`: the parameters that say where they go."""
    head = _TWO + (f", {extra}" if extra else "")
    text = f"The gradients of `{name}`'s two operands."
    backward = gradients(forward, 2) if slopes is None else _alike(slopes, forward, 2, short=short)
    return Row(f"{name}_bw", f"({head}, {into})", backward, text, integers=False)


def _either(
    name: str,
    forward: Function,
    extra: str = "",
    operands: str = _OTHER,
    into: str = _INTO_OTHER,
    slopes: Slopes | None = None,
    beside: Slopes | None = None,
    short: Short | None = None,
) -> Row:
    """A row whose second operand is a tensor (two gradients, `slopes`) or a number (one, `beside`)."""
    of_tensors = gradients(forward, 2) if slopes is None else _alike(slopes, forward, 2)
    of_one = gradients(forward, 1) if beside is None else _alike(beside, forward)

    def backward(gradient: Any, first: Any, other: Any, *rest: Any) -> Any:
        return (of_tensors if hasattr(other, "requires_grad") else of_one)(gradient, first, other, *rest)

    signature = f"({operands}{f', {extra}' if extra else ''}, {into})"
    text = f"The gradients of `{name}`'s operands; of the first alone where the second is a number."
    by_formula = slopes is not None and beside is not None
    function = ByElement(backward, (2, 3), short) if by_formula else backward
    return Row(f"{name}_bw", signature, function, text, integers=False)


def _alike(slopes: Slopes, forward: Function | str, count: int = 1, short: Short | None = None) -> ByElement:
    """Gradients by their formula where all shapes are one, which saves the forward function; else by differentiation, with the same bits."""
    differentiated = gradients(forward, count)

    def backward(gradient: Any, *values: Any) -> list[Any]:
        operands = [value for value in values if hasattr(value, "shape")]
        if len(operands) == count and all(x.shape == gradient.shape for x in operands):
            return slopes(gradient, *values)
        return differentiated(gradient, *values)

    return ByElement(backward, (count + 1,), short)


def _zero(name: str, extra: str = "") -> Row:
    """A row of a function that is constant between its steps."""
    head = _ONE + (f", {extra}" if extra else "")
    return Row(
        f"{name}_bw", f"({head}, {_INTO if name in _ROOMS else _TAIL})", ByElement(formulas.zeros, (2,), always),
        f"Zeros: `{name}` is constant between its steps.", integers=False,
    )  # fmt: skip


def _divided(x: Any, y: Any, rounding_mode: str | None = None) -> Any:
    formulas.check_rounding(rounding_mode)
    result = library().div(x, y, rounding_mode=rounding_mode)
    return result if rounding_mode is None else result.detach()


def _reversed_division(gradient: Any, x: Any, scalar: float, rounding_mode: str | None = None) -> Any:
    formulas.check_rounding(rounding_mode)
    if rounding_mode is not None:
        return [library().zeros_like(gradient)]
    # A quotient: torch makes a number over a tensor of a reciprocal, whose slope is infinite where the quotient's is not yet.
    return gradients(lambda value: library().div(library().tensor(scalar), value))(gradient, x)


def _divided_or_nothing(gradient: Any, x: Any, scalar: float) -> list[Any]:
    found = gradient.expand_as(x) / scalar if scalar else library().zeros_like(x)
    return [found.masked_fill(found.isnan(), 0)]


_raised = _alike(formulas.of_power, "pow")


def _power(below: float) -> ByElement:
    """The gradient of a power's base, `below` where that is negative."""

    def backward(gradient: Any, x: Any, exponent: float) -> list[Any]:
        (found,) = _raised(gradient, x, exponent)
        if not exponent or (x.numel() >= _LOOKED_AT and x.device.type == "cpu" and bool(x.amin() >= 0)):
            return [found]
        return [library().where(x < 0, below, found)]

    return ByElement(backward, (2,), lambda exponent: exponent in (1, 2))


def _gelu_form(variant: Any) -> str:
    return "tanh" if getattr(variant, "name", "") == "Tanh" else "none"


def _gelu(gradient: Any, x: Any, variant: Any = None) -> Any:
    return [gradient.expand_as(x) * formulas.gelu_slope(x, _gelu_form(variant))]


def _check_second(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    """Raises TypeError for a second operand that is no tensor, and as all gradients do."""
    second = arguments["input_tensor_b"]
    if second is not None and not isinstance(second, Tensor):
        raise no_tensor("input_tensor_b", second)
    gradient_shapes.check(name, given, arguments)


def _bias_gelu(gradient: Any, x: Any, bias: Any, variant: Any = None, approximate: str | None = None) -> Any:
    if approximate not in (None, "none", "tanh"):
        raise fatal(
            f"Incorrect approximation type (expected 'none', 'tanh'), got {approximate!r}",
            hint="approximate='tanh' or 'none'",
        )
    count = 2 if hasattr(bias, "requires_grad") else 1
    slope = formulas.gelu_slope(x + bias, approximate or _gelu_form(variant))
    return gradients(lambda value, added: (value + added) * slope, count)(gradient, x, bias)


def _angle(gradient: Any, x: Any, y: Any) -> list[Any]:
    # Releases of torch differ in what they say of the origin, where there is no slope.
    origin = (x == 0) & (y == 0)
    return [found.masked_fill(origin, float("nan")) for found in gradients("atan2", 2)(gradient, x, y)]


def _check_limits(name: str, given: Sequence[Tensor], arguments: Mapping[str, Any]) -> None:
    if arguments.get("min") is None and arguments.get("max") is None:
        raise fatal(
            "Only one of 'min' or 'max' can be None. Please provide one value", hint="min=…, max=… or both"
        )
    gradient_shapes.check(name, given, arguments)


def _clamped(gradient: Any, x: Any, low: Any = None, high: Any = None) -> list[Any]:
    # Not by torch's own gradient: releases differ in what they say of elements that lie on a bound.
    inside = x == x
    for bound, within in ((low, library().ge), (high, library().le)):
        if bound is not None:
            inside = inside & within(x, bound)
    return [gradient.expand_as(x).where(inside, 0)]


def _product(x: Any, dim: int | None = None) -> Any:
    return x.prod().reshape((1,) * x.ndim) if dim is None else x.prod(dim, keepdim=True)


def _product_slope(gradient: Any, x: Any, dim: int | None = None) -> Any:
    if dim is None:  # the product of everything is one number, so a device reads one of its gradient
        gradient = gradient.flatten()[:1].reshape((1,) * x.ndim)
    elif (
        dim % x.ndim >= x.ndim - 2 and gradient.ndim == x.ndim
    ):  # of a gradient in tiles, the first row or column
        gradient = gradient.narrow(dim, 0, 1)
    return gradients(_product)(gradient, x, dim)


def _repeated(x: Any, shape: Any) -> Any:
    return x.repeat(tuple(shape))


def _chosen(gradient: Any, condition: Any, x: Any, y: Any) -> Any:
    mask = condition != 0
    return gradients(lambda a, b: library().where(mask, a, b), 2)(gradient, x, y)


def _mixed(gradient: Any, x: Any, y: Any, weight: Any) -> Any:
    count = 3 if hasattr(weight, "requires_grad") else 2
    return gradients("lerp", count)(gradient, x, y, weight)


def _added(gradient: Any, x: Any, y: Any, z: Any, alpha: float, *, forward: str) -> Any:
    return gradients(lambda a, b, c: torch_function(forward)(a, b, c, value=alpha), 3)(gradient, x, y, z)


def _with_alpha(forward: str) -> Function:
    return lambda x, y, alpha=1.0: torch_function(forward)(x, y, alpha=alpha)


def _looked_up(indices: Any, weight: Any, gradient: Any) -> Any:
    def forward(table: Any) -> Any:
        found = torch_function("nn.functional.embedding")(indices.long(), table)
        return found.reshape(gradient.shape)

    return gradients(forward)(gradient, weight.reshape(-1, weight.shape[-1]))[0][None, None]


_F = "nn.functional."

# Functions of one operand whose forward PyTorch has under the path.
_PLAIN = {
    "abs": "abs", "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh", "atan": "atan", "atanh": "atanh",
    "cos": "cos", "cosh": "cosh", "deg2rad": "deg2rad", "digamma": "digamma", "erf": "erf", "erfc": "erfc",
    "erfinv": "erfinv", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "hardsigmoid": _F + "hardsigmoid",
    "hardswish": _F + "hardswish", "i0": "i0", "lgamma": "lgamma", "log": "log", "log10": "log10", "log1p": "log1p",
    "log2": "log2", "log_sigmoid": _F + "logsigmoid", "logit": "logit", "neg": "neg", "rad2deg": "rad2deg",
    "reciprocal": "reciprocal", "relu": "relu", "relu6": _F + "relu6", "rsqrt": "rsqrt", "selu": "selu",
    "sigmoid": "sigmoid", "silu": _F + "silu", "sin": "sin", "sinh": "sinh", "softsign": _F + "softsign",
    "sqrt": "sqrt", "square": "square", "tan": "tan", "tanhshrink": _F + "tanhshrink", "frac": "frac",
}  # fmt: skip


def _plain(name: str, forward: Function | str, extra: str = "", tail: str = "") -> Row:
    """A row of a function of one operand, by its formula where there is one."""
    if name in formulas.SHORT:
        return _unary(name, forward, extra, tail, formulas.SHORT[name], always)
    return _unary(name, forward, extra, tail, formulas.SLOPES.get(name))


UNARY = _declared(
    *(_plain(name, path) for name, path in _PLAIN.items()),
    *map(_zero, ("ceil", "floor", "round", "sign", "trunc", "fill", "fill_zero")),
    _unary("multigammaln", lambda x: x.mvlgamma(4)),
    _unary("celu", _F + "celu", tail="alpha: float = 1.0"),
    _unary("elu", _F + "elu", tail="alpha: float = 1.0"),
    _plain("hardshrink", _F + "hardshrink", tail="lambd: float = 0.5"),
    _plain("softshrink", _F + "softshrink", tail="lambd: float = 0.5"),
    _plain("hardtanh", _F + "hardtanh", tail="min: float = -1.0, max: float = 1.0"),
    _plain("leaky_relu", _F + "leaky_relu", tail="negative_slope: float = 0.01"),
    _unary("logiteps", lambda x, eps: torch_function("logit")(x, eps), tail="eps: float = 0.0"),
    _unary("softplus", _F + "softplus", tail="beta: float = 1.0, threshold: float = 20.0"),
    _plain("threshold", _F + "threshold", "min: float, max: float"),
    _unary("polygamma", lambda x, n: torch_function("polygamma")(n, x), "n: int"),
    Row("div_no_nan_bw", f"({_ONE}, scalar: float, {_TAIL})", _divided_or_nothing,
        "The gradient of `div_no_nan`'s operand; zeros where the divisor is zero, and in the place of NaN.", integers=False),
    Row("prod_bw", f"({_ONE}, *, dim: int | None = None, {PLACED})", _product_slope,
        "The gradient of `prod`'s operand; where all is multiplied, of the gradient's first element.", integers=False,
        layout=Layout.TILE),
    _unary("repeat", _repeated, "shape: Sequence[int]"),
    Row("pow_bw", f"({_ONE}, exponent: float, {_INTO})", _power(math.inf),
        "The gradient of a power's base; infinite where the base is negative, as on a device.", integers=False),
    Row("rpow_bw", f"({_ONE}, exponent: float, {_TAIL})", _power(math.nan),
        "The gradient of a power's base; NaN where the base is negative.", integers=False),
    Row("rdiv_bw", f"({_ONE}, scalar: float, *, rounding_mode: str | None = None, {PLACED})", _reversed_division,
        "The gradient of the divisor of a number; zeros for a rounded quotient.", integers=False),
    Row("tanh_bw", f"({_ONE}, {_INTO})", ByElement(formulas.tanh, (2,)), "The gradient of `tanh`'s operand.", integers=False,
        golden=goldens.rounded_once(formulas.tanh)),
    Row("gelu_bw", f"({_ONE}, *, variant: GeluVariant | None = None, {_INTO[3:]})", ByElement(_gelu, (2,)),
        "The gradient of `gelu`'s operand, by the error function or in the tanh form.", integers=False,
        golden=goldens.rounded_once(_gelu)),
    *(Row(f"{name}_bw", f"({_ONE}, min: Tensor | float | None = None, max: Tensor | float | None = None, {_TAIL})", _clamped,
          "The gradient of what is limited: that of the result inside the limits, zero outside.", integers=False,
          check=_check_limits)
      for name in ("clamp", "clip")),
)  # fmt: skip

BINARY = _declared(
    Row("atan2_bw", f"({_TWO}, {_TAIL})", _angle, "The gradients of `atan2`'s two operands; NaN at the origin.", integers=False),
    _binary("hypot", "hypot"),
    _binary("ldexp", "ldexp"),
    _binary("logaddexp", "logaddexp"),
    _binary("logaddexp2", "logaddexp2"),
    _binary("max", "max"),
    _binary("min", "min"),
    _binary("squared_difference", lambda x, y: (x - y).square(), slopes=formulas.squares),
    _binary("xlogy", "xlogy"),
    _binary("rsub", lambda x, y: y - x, into=_INTO_OTHER,
            slopes=lambda gradient, x, y: [-gradient, gradient], short=always),
    _binary("addalpha", _with_alpha("add"), extra="alpha: float = 1.0", into=_INTO_AB,
            slopes=lambda gradient, x, y, alpha: [gradient, formulas.scaled(gradient, alpha)], short=always),
    _binary("subalpha", _with_alpha("sub"), extra="alpha: float = 1.0", into=_INTO_OTHER,
            slopes=lambda gradient, x, y, alpha: [gradient, formulas.scaled(-gradient, alpha)], short=always),
    _binary("concat", lambda x, y, dim=0: library().concat((x, y), dim), extra="dim: int = 0", into=_INTO_AB),
    _either("add", lambda x, y: x + y, slopes=lambda gradient, x, y: [gradient, gradient],
            beside=lambda gradient, x, y: [gradient], short=always),
    _either("sub", lambda x, y: x - y, slopes=lambda gradient, x, y: [gradient, -gradient],
            beside=lambda gradient, x, y: [gradient], short=always),
    _either("mul", lambda x, y: x * y, slopes=lambda gradient, x, y: [gradient * y, gradient * x],
            beside=lambda gradient, x, y: [gradient * y], short=always),
    _either("div", _divided, "rounding_mode: str | None = None", slopes=formulas.quotients, beside=formulas.quotient),
    _either("fmod", lambda x, y: library().fmod(x, y), operands=f"{_TWO} | float", into=_TAIL),
    _either("remainder", lambda x, y: library().remainder(x, y), operands=f"{_TWO} | float", into=_TAIL),
    Row("assign_bw", f"({_ONE}, input_tensor_b: Tensor | None = None, {_INTO_AB})",
        ByElement(lambda gradient, *operands: [gradient.clone() for x in operands if x is not None], (2, 3), always),
        "The gradient itself, for each operand.", integers=False, check=_check_second),
    Row("bias_gelu_bw",
        f"({_ONE}, bias: Tensor | float, *, variant: GeluVariant | None = None, approximate: str | None = None, {PLACED})",
        _bias_gelu, "The gradients of `bias_gelu`'s operands.", integers=False),
)  # fmt: skip

TERNARY = _declared(
    Row("where_bw", f"({_TWO}, input_tensor_c: Tensor, {_INTO_AB})", _chosen,
        "The gradients of the two tensors between which a condition chooses.", integers=False),
    Row("lerp_bw", f"({_TWO}, weight: Tensor | float, *, {PLACED})", _mixed,
        "The gradients of what is mixed, and of a weight that is a tensor.", integers=False),
    *(Row(f"{name}_bw", f"({_TWO}, input_tensor_c: Tensor, alpha: float, *, {PLACED})",
          lambda *values, forward=name: _added(*values, forward=forward),
          f"The gradients of `{name}`'s three operands.", integers=False)
      for name in ("addcdiv", "addcmul")),
    Row("embedding_bw",
        "(input_tensor: Tensor, weight_tensor: Tensor, output_gradient_tensor: Tensor, *, dtype: DataType | None = None, "
        f"{PLACED}, output_tensor: Tensor | None = None)", _looked_up,
        "The gradient of an embedding's table, (1, 1, rows, width): each row's gradients summed.", layout=Layout.TILE, like=2,
        place=lambda given: given[2].memory_config()),
)  # fmt: skip
