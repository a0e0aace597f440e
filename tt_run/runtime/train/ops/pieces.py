"""Cutting and joining tensors, heads, and two activations with gradients: what models of experts and latent attention are made of."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
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
def cut(tensor: Tensor, start: Sequence[int], end: Sequence[int]) -> Tensor:
    """The part from `start` up to `end`, one number for each dimension. Raises ValueError for a part that is not inside."""
    shape = tensor.shape()
    if len(start) != len(shape) or any(
        not 0 <= a < b <= n for a, b, n in zip(start, end, shape, strict=True)
    ):
        raise ValueError(f"cut: {list(start)} to {list(end)} is no part of {shape}")
    where = (slice(None), *(slice(a, b) for a, b in zip(start, end, strict=True)))

    def back(stack: Array) -> Array:
        out = np.zeros((len(stack), *shape), np.float32)
        out[where] = stack
        return out

    return result(
        stacks.moved(lambda x: x[where], tensor.get_value()),
        (tensor,),
        lambda gradient: tensor.add_grad(stacks.moved(back, gradient)),
    )


@recorded
def concat(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """Tensors side by side on a dimension. Raises ValueError without any."""
    if not tensors:
        raise ValueError("concat: no tensors given")
    axis = dim % tensors[0].get_rank() + 1
    ends = list(itertools.accumulate(tensor.shape()[axis - 1] for tensor in tensors))
    value = stacks.compute(lambda *parts: np.concatenate(parts, axis=axis), *(t.get_value() for t in tensors))

    def rule(gradient: Value) -> None:
        for tensor, first, last in zip(tensors, [0, *ends], ends, strict=False):
            tensor.add_grad(stacks.moved(partial(_between, axis, first, last), gradient))

    return result(value, tuple(tensors), rule)


def _between(axis: int, first: int, last: int, stack: Array) -> Array:
    where = (*(slice(None),) * axis, slice(first, last))
    found: Array = stack[where]
    return found


def split(tensor: Tensor, sizes: Sequence[int], dim: int) -> tuple[Tensor, ...]:
    """Consecutive parts of a dimension. Raises ValueError for a dimension that there is not, and for sizes that do not fill it."""
    shape = tensor.shape()
    if not -len(shape) <= dim < len(shape):
        raise ValueError(
            f"autograd_split dim {dim} out of range for rank-{len(shape)} tensor; help: {len(shape) - 1} for the last"
        )
    axis = dim % len(shape)
    if sum(sizes) != shape[axis]:
        raise ValueError(
            f"autograd_split sizes {list(sizes)} must tile dim {axis} (size {shape[axis]}); help: sizes whose sum is {shape[axis]}"
        )
    ends = list(itertools.accumulate(sizes))
    found = []
    for first, last in zip([0, *ends], ends, strict=False):
        start, end = [0] * len(shape), list(shape)
        start[axis], end[axis] = first, last
        found.append(cut(tensor, start, end))
    return tuple(found)


@recorded
def split_heads(tensor: Tensor, num_heads: int) -> Tensor:
    """[B, 1, S, H * E] -> [B, H, S, E]. Raises ValueError when the features do not divide."""
    batch, _, length, width = tensor.shape()
    if width % num_heads:
        raise ValueError(
            f"split_heads: {width} features do not divide into {num_heads} heads; help: a multiple of {num_heads}"
        )
    each = width // num_heads
    return result(
        stacks.moved(
            lambda x: x.reshape(-1, batch, length, num_heads, each).transpose(0, 1, 3, 2, 4),
            tensor.get_value(),
        ),
        (tensor,),
        lambda gradient: tensor.add_grad(
            stacks.moved(lambda g: g.transpose(0, 1, 3, 2, 4).reshape(-1, batch, 1, length, width), gradient)
        ),
    )


@recorded
def shared_by_heads(tensor: Tensor, num_heads: int) -> Tensor:
    """[B, 1, S, E] -> [B, H, S, E]: the same for every head; the gradient is the sum over heads."""

    def back(g: Array) -> Array:
        total: Array = g.sum(axis=2, keepdims=True, dtype=np.float32)
        return total

    return result(
        stacks.moved(lambda x: np.repeat(x, num_heads, axis=2), tensor.get_value()),
        (tensor,),
        lambda gradient: tensor.add_grad(stacks.compute(back, gradient)),
    )


@recorded
def picked(tensor: Tensor, numbers: Value) -> Tensor:
    """The entries `numbers` [..., K] of the last dimension; the gradient goes back to those entries."""
    x = tensor.get_value()
    width = x.shape[-1]

    def back(g: Array, chosen: Array) -> Array:
        out = np.zeros((*g.shape[:-1], width), np.float32)
        np.put_along_axis(out, chosen.astype(np.int64), g, axis=-1)
        return out

    def there(stack: Array, chosen: Array) -> Array:
        return np.take_along_axis(stack, chosen.astype(np.int64), axis=-1)

    return result(
        stacks.compute(there, x, numbers, dtype=x.dtype),
        (tensor,),
        lambda gradient: tensor.add_grad(stacks.compute(back, gradient, numbers, dtype=x.dtype)),
    )


@recorded
def sigmoid(tensor: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    value = stacks.elementwise(functions.sigmoid, tensor.get_value())
    return result(
        value,
        (tensor,),
        lambda gradient: tensor.add_grad(
            stacks.elementwise(lambda g, y: g * y * (np.float32(1) - y), gradient, value)
        ),
    )


@recorded
def softmax(tensor: Tensor) -> Tensor:
    """The softmax over the last dimension."""

    def forward(x: Array) -> Array:
        weights = np.exp(x - x.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True, dtype=np.float32)
        return weights

    def backward(g: Array, y: Array) -> Array:
        found: Array = y * (g - (g * y).sum(axis=-1, keepdims=True, dtype=np.float32))
        return found

    value = stacks.compute(forward, tensor.get_value())
    return result(
        value, (tensor,), lambda gradient: tensor.add_grad(stacks.compute(backward, gradient, value))
    )


@recorded
def share_out(scores: Tensor, mask: Value, scale: float, epsilon: float = 1e-20) -> Tensor:
    """Routing weights mask * scale * scores / (sum of masked scores + epsilon) over the last dimension; `mask` holds ones and zeros."""
    x = scores.get_value()
    factor = np.float32(scale)

    def forward(s: Array, m: Array) -> Array:
        chosen = s * m
        return chosen * (
            factor / (chosen.sum(axis=-1, keepdims=True, dtype=np.float32) + np.float32(epsilon))
        )

    def backward(g: Array, s: Array, m: Array) -> Array:
        chosen = s * m
        total = chosen.sum(axis=-1, keepdims=True, dtype=np.float32) + np.float32(epsilon)
        mean = (g * chosen).sum(axis=-1, keepdims=True, dtype=np.float32) / total
        return m * factor * (g - mean) / total

    return result(
        stacks.compute(forward, x, mask),
        (scores,),
        lambda gradient: scores.add_grad(stacks.compute(backward, gradient, x, mask)),
    )
