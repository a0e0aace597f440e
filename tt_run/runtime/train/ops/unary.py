"""`ttml.ops.unary`: activations and the mean of everything."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.kernels import bfloat16_tables, functions
from tt_run.runtime.ops.elementwise.unary import GeluVariant
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.operation import recorded, result
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.values.copying import lines

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]

_ROOT_HALF = np.float32(math.sqrt(0.5))
_DENSITY = np.float32(1 / math.sqrt(2 * math.pi))


def _unary(
    tensor: Tensor, forward: Callable[[Array], Array], backward: Callable[[Array, Array], Array]
) -> Tensor:
    """An elementwise operation; `backward(gradient, input)`."""
    x = tensor.get_value()
    return result(
        stacks.elementwise(forward, x),
        (tensor,),
        lambda gradient: tensor.add_grad(stacks.elementwise(backward, gradient, x)),
    )


@recorded
def relu(tensor: Tensor) -> Tensor:
    """max(x, 0)."""
    return _unary(tensor, lambda x: np.maximum(x, np.float32(0)), lambda g, x: g * (x > 0))


@recorded
def gelu(tensor: Tensor, variant: GeluVariant = GeluVariant.Accurate) -> Tensor:
    """x times the normal distribution function of x, or its form by tanh; the gradient is that of the same form."""
    if variant is GeluVariant.Tanh:
        return _unary(tensor, functions.gelu_tanh, lambda g, x: g * _tanh_slope(x))
    x = tensor.get_value()
    half = x.dtype is DataType.BFLOAT16 and math.prod(x.shape) >= bfloat16_tables.SMALLEST

    def from_result(g: Array, u: Array, y: Array) -> Array:
        slope = _gelu_slope_of(u, y)
        slope *= g
        return slope

    if half:
        value = x.derive(
            x.shards.map(lambda stack: bfloat16_tables.look_up(functions.gelu, stack)), layout=Layout.TILE
        )
    else:
        value = stacks.elementwise(functions.gelu, x)

    def rule(gradient: Value) -> None:
        if half:
            slope = stacks.elementwise(lambda g, u: _table_of_slopes(u) * g, gradient, x)
        elif value.dtype is DataType.FLOAT32:
            slope = stacks.elementwise(from_result, gradient, x, value)
        else:
            slope = stacks.elementwise(lambda g, u: _gelu_slope(u) * g, gradient, x)
        tensor.add_grad(slope)

    return result(value, (tensor,), rule)


def _tanh_slope(x: Array) -> Array:
    """The slope of x / 2 * (1 + tanh(k * (x + c * x^3)))."""
    scale, cube = np.float32(math.sqrt(2 / math.pi)), np.float32(0.044715)
    square = x * x
    bent = np.tanh(scale * x * (np.float32(1) + cube * square))
    inner = scale * (np.float32(1) + np.float32(3) * cube * square)
    return np.float32(0.5) * (np.float32(1) + bent + x * (np.float32(1) - bent * bent) * inner)


def _gelu_slope(x: Array) -> Array:
    """Phi(x) + x * phi(x)."""
    slope = functions.erf(x * _ROOT_HALF)
    slope += np.float32(1)
    slope *= np.float32(0.5)
    return _with_bell(slope, x)


def _with_bell(slope: Array, x: Array) -> Array:
    """Phi(x), changed in place, plus x * phi(x)."""
    bell = x * x
    bell *= np.float32(-0.5)
    np.exp(bell, out=bell)
    bell *= x
    bell *= _DENSITY
    slope += bell
    return slope


def _gelu_slope_of(x: Array, y: Array) -> Array:
    """The slope where y = gelu(x) is at hand: Phi(x) is y / x, which costs a division instead of an error function."""
    zero = x == 0
    slope: Array = np.divide(y, x)
    if zero.any():
        slope[zero] = np.float32(0.5)
    return _with_bell(slope, x)


@cache
def _slopes() -> Array:
    """The slope at every bfloat16 number, by its 16 bits: what computing it gives, found once."""
    numbers = (np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)).view(np.float32)
    with np.errstate(all="ignore"):
        return _gelu_slope(numbers)


def _table_of_slopes(x: Array) -> Array:
    return bfloat16_tables.read(_slopes(), x)


@recorded
def silu(tensor: Tensor, use_composite_bw: bool = False) -> Tensor:
    """x * sigmoid(x); `use_composite_bw` chooses a kernel on devices and changes nothing here."""
    return _unary(tensor, functions.silu, _silu_backward)


def _silu_backward(gradient: Array, x: Array) -> Array:
    gate = functions.sigmoid(x)
    slope = np.subtract(np.float32(1), gate)
    slope *= x
    slope += np.float32(1)
    gate *= gradient
    slope *= gate
    return slope


@recorded
def tanh(tensor: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    value = stacks.compute(np.tanh, tensor.get_value())

    def slope(g: Array, y: Array) -> Array:
        return g * (np.float32(1) - y * y)

    return result(value, (tensor,), lambda gradient: tensor.add_grad(stacks.compute(slope, gradient, value)))


@recorded
def exp(tensor: Tensor) -> Tensor:
    """e to the power of x."""
    value = stacks.compute(np.exp, tensor.get_value())
    return result(
        value, (tensor,), lambda gradient: tensor.add_grad(stacks.compute(np.multiply, gradient, value))
    )


@recorded
def clip(tensor: Tensor, low: float, high: float) -> Tensor:
    """x limited to [low, high]; the gradient passes where x was inside. Raises RuntimeError when low exceeds high."""
    if low > high:
        raise RuntimeError(
            f"clip: the lower limit {low} exceeds the upper one {high}; help: clip(x, {high}, {low})"
        )
    least, most = np.float32(low), np.float32(high)
    return _unary(tensor, lambda x: np.clip(x, least, most), lambda g, x: g * ((x >= least) & (x <= most)))


@recorded
def mean(tensor: Tensor) -> Tensor:
    """The mean of all elements of a shard, with shape [1, 1, 1, 1]."""
    x = tensor.get_value()
    shape, count = tuple(x.shape), np.float32(math.prod(x.shape))

    def forward(stack: Array) -> Array:
        return (lines(stack).sum(axis=1, dtype=np.float32) / count).reshape(-1, 1, 1, 1, 1)

    def rule(gradient: Value) -> None:
        tensor.add_grad(
            stacks.compute(
                lambda g: np.broadcast_to(g.reshape(-1, *(1,) * len(shape)) / count, (len(g), *shape)),
                gradient,
            )
        )

    return result(stacks.compute(forward, x), (tensor,), rule)


@recorded
def broadcast_batch(tensor: Tensor, new_batch_dim: int) -> Tensor:
    """[1, ...] as [new_batch_dim, ...]: the same for each; the gradient is the sum over them. Raises RuntimeError for another batch than 1."""
    x = tensor.get_value()
    if x.shape[0] != 1 or new_batch_dim < 1:
        raise RuntimeError(
            f"broadcast_batch: {list(x.shape)} has no batch of 1 to make {new_batch_dim} of; help: a tensor [1, …]"
        )

    def back(g: Array) -> Array:
        total: Array = g.sum(axis=1, keepdims=True, dtype=np.float32)
        return total

    return result(
        stacks.moved(lambda stack: np.repeat(stack, new_batch_dim, axis=1), x),
        (tensor,),
        lambda gradient: tensor.add_grad(stacks.compute(back, gradient)),
    )


@recorded
def log_softmax(tensor: Tensor, dim: int = -1) -> Tensor:
    """The logarithm of the softmax over a dimension. Raises RuntimeError for one that the tensor has not."""
    rank = tensor.get_rank()
    if not -rank <= dim < rank:
        raise RuntimeError(
            f"log_softmax: dim {dim} is none of the {rank} dimensions of {tensor.shape()}; help: -1"
        )
    axis = dim - rank if dim >= 0 else dim
    value = stacks.compute(lambda x: log_softmax_of(x, axis), tensor.get_value())

    def backward(g: Array, y: Array) -> Array:
        return g - np.exp(y) * g.sum(axis=axis, keepdims=True, dtype=np.float32)

    return result(
        value, (tensor,), lambda gradient: tensor.add_grad(stacks.compute(backward, gradient, value))
    )


def log_softmax_of(x: Array, axis: int = -1) -> Array:
    """log(softmax(x)) of float32 arrays over a dimension, without overflow."""
    shifted = x - x.max(axis=axis, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=axis, keepdims=True, dtype=np.float32))
    return shifted
