"""`ttml.ops.matmul` and `ttml.ops.linear`: products with their gradients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.kernels import gemm
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.operation import Rule, recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.ops.broadcasting import aligned, require_broadcast, sum_to_shape
from tt_run.runtime.train.ops.shapes import reshape

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]


@recorded
def matmul_op(a: Tensor, b: Tensor, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """Products of the last two dimensions, batch dimensions broadcast; operands may be taken transposed.

    A vector is a row on the left and a column on the right, and its dimension is missing from the result, as in torch.matmul.
    """
    if a.get_rank() == 1 or b.get_rank() == 1:
        return _with_vectors(a, b, transpose_a, transpose_b)
    x, y = a.get_value(), b.get_value()
    rank = max(len(x.shape), len(y.shape))
    inner = x.shape[-2 if transpose_a else -1], y.shape[-1 if transpose_b else -2]
    if inner[0] != inner[1]:
        raise RuntimeError(
            f"matmul_op: the inner sizes differ, {inner[0]} and {inner[1]}: shapes {list(x.shape)}{' transposed' * transpose_a} "
            f"and {list(y.shape)}{' transposed' * transpose_b}; "
            f"help: transpose_a or transpose_b, or a second operand [..., {inner[0]}, n]"
        )
    require_broadcast(tuple(x.shape)[:-2], tuple(y.shape)[:-2])

    def forward(u: Array, v: Array) -> Array:
        return gemm.matmul(_turned(aligned(u, rank), transpose_a), _turned(aligned(v, rank), transpose_b))

    def for_a(g: Array, v: Array) -> Array:
        v = aligned(v, rank)
        product = (
            gemm.matmul(_turned(v, transpose_b), _turned(g, True))
            if transpose_a
            else gemm.matmul(g, _turned(v, not transpose_b))
        )
        return sum_to_shape(product, tuple(x.shape))

    def for_b(g: Array, u: Array) -> Array:
        u = aligned(u, rank)
        product = (
            gemm.matmul(_turned(g, True), _turned(u, transpose_a))
            if transpose_b
            else gemm.matmul(_turned(u, not transpose_a), g)
        )
        return sum_to_shape(product, tuple(y.shape))

    def rule(gradient: Value) -> None:
        if a.get_requires_grad():
            a.add_grad(stacks.compute(for_a, gradient, y))
        if b.get_requires_grad():
            b.add_grad(stacks.compute(for_b, gradient, x))

    return result(stacks.compute(forward, x, y), (a, b), rule)


def _with_vectors(a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool) -> Tensor:
    """The product with vectors as matrices of one row or one column, which are taken out of its shape again."""
    left, right = a.get_rank() == 1, b.get_rank() == 1
    row = reshape(a, (1, a.shape()[0])) if left else a
    column = reshape(b, (b.shape()[0], 1)) if right else b
    product = matmul_op(row, column, transpose_a and not left, transpose_b and not right)
    shape = product.shape()
    if right:
        del shape[-1]
    if left:
        del shape[-1 if right else -2]
    return reshape(product, shape)


def _turned(stack: Array, turn: bool) -> Array:
    return np.swapaxes(stack, -1, -2) if turn else stack


@recorded
def linear(tensor: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x @ W^T + b: x [..., in], weight [1, 1, out, in], bias [1, 1, 1, out] -> [..., out].

    Raises RuntimeError when the inner sizes differ. The weight's gradient is one product over all rows of the batch.
    """
    x, w = tensor.get_value(), weight.get_value()
    inputs, outputs = w.shape[-1], w.shape[-2]
    if x.shape[-1] != inputs:
        raise RuntimeError(
            f"linear: the input has {x.shape[-1]} features (shape {list(x.shape)}), the weight takes {inputs} (shape {list(w.shape)}); "
            f"help: an input [..., {inputs}], or a weight [1, 1, {outputs}, {x.shape[-1]}]"
        )
    if bias is not None and math.prod(bias.shape()) != outputs:
        raise RuntimeError(
            f"linear: the bias has shape {bias.shape()}, the weight has {outputs} outputs (shape {list(w.shape)}); "
            f"help: [1, 1, 1, {outputs}]"
        )
    inputs_of = (tensor, weight) if bias is None else (tensor, weight, bias)
    return result(linear_value(x, weight, bias), inputs_of, _linear_rule(tensor, weight, bias))


def linear_value(x: Value, weight: Tensor, bias: Tensor | None) -> Value:
    """x @ W^T + b of operands that fit."""
    w = weight.get_value()
    inputs, outputs = w.shape[-1], w.shape[-2]
    lead = tuple(x.shape)[:-1]
    rows = math.prod(lead)

    def forward(u: Array, v: Array, c: Array | None = None) -> Array:
        product = gemm.matmul(
            u.reshape(-1, rows, inputs), np.swapaxes(v.reshape(-1, outputs, inputs), -1, -2)
        )
        if c is not None:
            product += c.reshape(-1, 1, outputs)
        return product.reshape(-1, *lead, outputs)

    operands = (x, w) if bias is None else (x, w, bias.get_value())
    return stacks.compute(forward, *operands)


def linear_backward(tensor: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor) -> None:
    """Add what the gradient of `out`, the result of `linear`, gives to the gradients of the others: for rules written in Python.

    Raises RuntimeError where `out` has no gradient.
    """
    _linear_rule(tensor, weight, bias)(out.get_grad())


def _linear_rule(tensor: Tensor, weight: Tensor, bias: Tensor | None) -> Rule:
    gradients = LinearGradients(tensor.get_value(), weight, bias)

    def rule(gradient: Value) -> None:
        if tensor.get_requires_grad():
            tensor.add_grad(gradients.of_input(gradient))
        gradients.add_to_parameters(gradient)

    return rule


class LinearGradients:
    """The two halves of the backward pass of `linear`, which needs what its operands were."""

    def __init__(self, x: Value, weight: Tensor, bias: Tensor | None) -> None:
        self.x, self.w, self.weight, self.bias = x, weight.get_value(), weight, bias
        self.lead = tuple(x.shape)[:-1]
        self.rows = math.prod(self.lead)
        self.inputs, self.outputs = self.w.shape[-1], self.w.shape[-2]

    def of_input(self, gradient: Value) -> Value:
        """The gradient of the input."""
        return stacks.compute(self._for_input, gradient, self.w)

    def add_to_parameters(self, gradient: Value) -> None:
        """Add to the gradients of the weight and the bias that want one."""
        if self.weight.get_requires_grad():
            self.weight.add_grad(stacks.compute(self._for_weight, gradient, self.x))
        if self.bias is not None and self.bias.get_requires_grad():
            self.bias.add_grad(stacks.compute(self._for_bias, gradient))

    def _for_input(self, g: Array, v: Array) -> Array:
        product = gemm.matmul(
            g.reshape(-1, self.rows, self.outputs), v.reshape(-1, self.outputs, self.inputs)
        )
        return product.reshape(-1, *self.lead, self.inputs)

    def _for_weight(self, g: Array, u: Array) -> Array:
        flat = np.swapaxes(g.reshape(-1, self.rows, self.outputs), -1, -2)
        return gemm.matmul(flat, u.reshape(-1, self.rows, self.inputs)).reshape(-1, *self.w.shape)

    def _for_bias(self, g: Array) -> Array:
        assert self.bias is not None
        total = g.reshape(-1, self.rows, self.outputs).sum(axis=1, dtype=np.float32)
        return total.reshape(-1, *self.bias.shape())
