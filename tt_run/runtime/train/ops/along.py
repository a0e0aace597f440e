"""More of `ttml.ops.unary`: sums, norms and moves along one dimension, and softplus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.kernels import functions
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.operation import recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]


@recorded
def sum_over_dim(tensor: Tensor, dim: int) -> Tensor:
    """The sum over a dimension, which stays with length 1. Raises RuntimeError for one that the tensor has not."""
    axis, x = _axis("sum_over_dim", tensor, dim), tensor.get_value()

    def forward(stack: Array) -> Array:
        total: Array = stack.sum(axis=axis, keepdims=True, dtype=np.float32)
        return total

    return result(
        stacks.compute(forward, x),
        (tensor,),
        lambda gradient: tensor.add_grad(stacks.compute(_spread_like, gradient, x)),
    )


def _spread_like(gradient: Array, x: Array) -> Array:
    return np.broadcast_to(gradient, x.shape)


@recorded
def cumsum(tensor: Tensor, dim: int) -> Tensor:
    """The sums of what lies up to each place of a dimension. Raises RuntimeError for one that the tensor has not."""
    axis = _axis("cumsum", tensor, dim)

    def forward(stack: Array) -> Array:
        return np.cumsum(stack, axis=axis, dtype=np.float32)

    def backward(gradient: Array) -> Array:
        return np.flip(np.cumsum(np.flip(gradient, axis), axis=axis, dtype=np.float32), axis)

    return result(
        stacks.compute(forward, tensor.get_value()),
        (tensor,),
        lambda gradient: tensor.add_grad(stacks.compute(backward, gradient)),
    )


@recorded
def softplus(tensor: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta, and x itself where beta x exceeds `threshold`. Raises RuntimeError for a beta of 0."""
    if beta == 0:
        raise RuntimeError("softplus: beta is 0, and the result is divided by it; help: beta=1.0")
    scale, most, x = np.float32(beta), np.float32(threshold), tensor.get_value()

    def forward(u: Array) -> Array:
        return np.where(scale * u > most, u, np.logaddexp(np.float32(0), scale * u) / scale)

    def backward(g: Array, u: Array) -> Array:
        return g * np.where(scale * u > most, np.float32(1), functions.sigmoid(scale * u))

    return result(
        stacks.elementwise(forward, x),
        (tensor,),
        lambda gradient: tensor.add_grad(stacks.elementwise(backward, gradient, x)),
    )


@recorded
def l2_norm(tensor: Tensor, epsilon: float = 1e-6) -> Tensor:
    """x / sqrt(sum of x^2 over the last dimension + epsilon)."""
    return flat_l2_norm(tensor, tensor.shape()[-1], epsilon)


@recorded
def flat_l2_norm(tensor: Tensor, head_dim: int, epsilon: float = 1e-6) -> Tensor:
    """`l2_norm` of each head of [..., H * head_dim] by itself. Raises ValueError when the width is no multiple of a head's."""
    x = tensor.get_value()
    if x.shape[-1] % head_dim:
        raise ValueError(
            f"flat_l2_norm: the width {x.shape[-1]} is no multiple of head_dim {head_dim}; help: a head_dim that divides it"
        )

    def inverse(heads: Array) -> Array:
        total = (heads * heads).sum(axis=-1, keepdims=True, dtype=np.float32)
        return np.float32(1) / np.sqrt(total + np.float32(epsilon))

    def heads_of(stack: Array) -> Array:
        return stack.reshape(*stack.shape[:-1], stack.shape[-1] // head_dim, head_dim)

    def forward(u: Array) -> Array:
        heads = heads_of(u)
        return (heads * inverse(heads)).reshape(u.shape)

    def backward(g: Array, u: Array) -> Array:
        heads, slope = heads_of(u), heads_of(g)
        by = inverse(heads)
        pull = (slope * heads).sum(axis=-1, keepdims=True, dtype=np.float32)
        return (by * (slope - heads * (by * by * pull))).reshape(u.shape)

    return result(
        stacks.compute(forward, x),
        (tensor,),
        lambda gradient: tensor.add_grad(stacks.compute(backward, gradient, x)),
    )


@recorded
def shift_along_dim(tensor: Tensor, dim: int, shift: int) -> Tensor:
    """out[t] = x[t - shift] along a dimension, zeros before the first place. Raises RuntimeError for a dimension that the tensor has not
    and for a negative shift."""
    axis = _axis("shift_along_dim", tensor, dim)
    if shift < 0:
        raise RuntimeError(
            f"shift_along_dim: the shift {shift} is negative; it moves to later places alone; help: a shift of 0 or more"
        )
    late = min(shift, tensor.shape()[axis])

    def forward(stack: Array) -> Array:
        return _moved(stack, axis, late)

    def backward(gradient: Array) -> Array:
        return np.flip(_moved(np.flip(gradient, axis), axis, late), axis)

    return result(
        stacks.moved(forward, tensor.get_value()),
        (tensor,),
        lambda gradient: tensor.add_grad(stacks.moved(backward, gradient)),
    )


def _moved(stack: Array, axis: int, late: int) -> Array:
    out = np.zeros_like(stack)
    there, here = np.moveaxis(out, axis, 0), np.moveaxis(stack, axis, 0)
    there[late:] = here[: len(here) - late]
    return out


@recorded
def transpose(tensor: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged. Raises RuntimeError for dimensions that the tensor has not."""
    first, second = _axis("transpose", tensor, dim0), _axis("transpose", tensor, dim1)

    def exchanged(stack: Array) -> Array:
        return np.swapaxes(stack, first, second)

    def rule(gradient: Value) -> None:
        tensor.add_grad(stacks.moved(exchanged, gradient))

    return result(stacks.moved(exchanged, tensor.get_value()), (tensor,), rule)


def _axis(name: str, tensor: Tensor, dim: int) -> int:
    """A dimension counted from the end, which is the same in a stack of shards."""
    rank = tensor.get_rank()
    if not -rank <= dim < rank:
        raise RuntimeError(f"{name}: dim {dim} is none of the {rank} dimensions of {tensor.shape()}")
    return dim - rank if dim >= 0 else dim
