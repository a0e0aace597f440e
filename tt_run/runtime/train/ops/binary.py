"""`ttml.ops.binary`: add, sub, mul, div, min with NumPy broadcasting; gradients of broadcast operands are summed back."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.errors import type_name
from tt_run.runtime.tensor.tensor import Tensor as Value
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.arguments import way_in
from tt_run.runtime.train.autograd.autocast import AutocastTensor
from tt_run.runtime.train.autograd.operation import Kind, recorded, result
from tt_run.runtime.train.autograd.variable import Variable
from tt_run.runtime.train.ops.broadcasting import aligned, require_broadcast, sum_to_shape

Array = npt.NDArray[Any]


@recorded
def add(a: Kind, b: Any) -> Kind:
    """a + b. `b` may be a ttnn tensor or an AutocastTensor, which then gets no gradient."""
    b = _operand(a, b)
    value = _apply(np.add, a.get_value(), b.get_value())

    def rule(gradient: Value) -> None:
        a.add_grad(_to_shape(gradient, a))
        b.add_grad(_to_shape(gradient, b))

    return result(value, (a, b), rule)


@recorded
def sub(a: Kind, b: Any) -> Kind:
    """a - b."""
    b = _operand(a, b)
    value = _apply(np.subtract, a.get_value(), b.get_value())

    def rule(gradient: Value) -> None:
        a.add_grad(_to_shape(gradient, a))
        if b.get_requires_grad():
            b.add_grad(_to_shape(stacks.elementwise(np.negative, gradient), b))

    return result(value, (a, b), rule)


@recorded
def mul(a: Kind, b: Any) -> Kind:
    """a * b; `b` may be a number."""
    if isinstance(b, Real):
        return _by_number(np.multiply, a, float(b))
    b = _operand(a, b)
    x, y = a.get_value(), b.get_value()

    def rule(gradient: Value) -> None:
        if a.get_requires_grad():
            a.add_grad(_to_shape(_apply(np.multiply, gradient, y), a))
        if b.get_requires_grad():
            b.add_grad(_to_shape(_apply(np.multiply, gradient, x), b))

    return result(_apply(np.multiply, x, y), (a, b), rule)


@recorded
def div(a: Kind, b: Any) -> Kind:
    """a / b; `b` may be a number. The backward pass of a broadcast quotient raises RuntimeError, as the reference does."""
    if isinstance(b, Real):
        return _by_number(np.divide, a, float(b))
    b = _operand(a, b)
    x, y = a.get_value(), b.get_value()

    def rule(gradient: Value) -> None:
        if tuple(x.shape) != tuple(y.shape):
            raise RuntimeError(
                "Broadcasting is not supported in the backward pass of operator/; help: operands of one shape, or a number"
            )
        if a.get_requires_grad():
            a.add_grad(stacks.elementwise(np.divide, gradient, y))
        if b.get_requires_grad():
            b.add_grad(stacks.elementwise(lambda g, u, v: -g * u / (v * v), gradient, x, y))

    return result(_apply(np.divide, x, y), (a, b), rule)


@recorded
def minimum(a: Kind, b: Any) -> Kind:
    """The smaller of a and b; of equal ones each gets half of the gradient, as in PyTorch."""
    b = _operand(a, b)
    x, y = a.get_value(), b.get_value()
    require_broadcast(tuple(x.shape), tuple(y.shape))

    def share(own: Value, other: Value, gradient: Value) -> Value:
        rank = max(len(x.shape), len(y.shape))

        def kernel(g: Array, u: Array, v: Array) -> Array:
            u, v = aligned(u, rank), aligned(v, rank)
            return g * ((u < v) + np.float32(0.5) * (u == v)).astype(np.float32)

        return stacks.compute(kernel, gradient, own, other)

    def rule(gradient: Value) -> None:
        if a.get_requires_grad():
            a.add_grad(_to_shape(share(x, y, gradient), a))
        if b.get_requires_grad():
            b.add_grad(_to_shape(share(y, x, gradient), b))

    return result(_apply(np.minimum, x, y), (a, b), rule)


def _by_number(kernel: Callable[[Array, Any], Array], a: Kind, given: float) -> Kind:
    number = np.float32(given)

    def scale(stack: Array) -> Array:
        return kernel(stack, number)

    return result(
        stacks.elementwise(scale, a.get_value()),
        (a,),
        lambda gradient: a.add_grad(stacks.elementwise(scale, gradient)),
    )


def _operand(a: Kind, b: Any) -> Kind:
    """The second operand as an autograd tensor; a bare value takes no gradient."""
    if isinstance(b, Variable):
        return b  # type: ignore[return-value]  # two autograd tensors are of one class
    if isinstance(b, AutocastTensor):
        b = b.get_tensor()
    if isinstance(b, Value):
        return a.sibling(b, requires_grad=False)
    raise TypeError(
        f"expected a ttml.autograd.Tensor or a ttnn.Tensor, got {type_name(b)}{way_in(b) or '; help: ttml.autograd.Tensor.from_numpy(array)'}"
    )


def _apply(kernel: Callable[[Array, Array], Array], x: Value, y: Value) -> Value:
    if tuple(x.shape) == tuple(y.shape):
        return stacks.elementwise(kernel, x, y)
    require_broadcast(tuple(x.shape), tuple(y.shape))
    rank = max(len(x.shape), len(y.shape))
    return stacks.compute(lambda u, v: kernel(aligned(u, rank), aligned(v, rank)), x, y)


def _to_shape(gradient: Value, operand: Variable) -> Value:
    shape = operand.shape()
    if list(gradient.shape) == shape:
        return gradient
    return stacks.compute(lambda g: sum_to_shape(g, shape), gradient)
