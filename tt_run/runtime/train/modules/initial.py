"""`ttml.init`: initial weights, drawn for the whole tensor from the context's generator and then placed.

The draw does not know how the tensor is cut, so a sharded model starts from the very numbers of the single-device one. `uniform(a, b)`
and its kind give an initialiser `f(shape, mapper=None)`; `uniform_(tensor, a, b)` and its kind fill a tensor that is there and return it.
Bounds and deviations are those of torch.nn.init; ones in front of a weight's shape do not count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

from tt_run.runtime.enums import DataType
from tt_run.runtime.errors import type_name
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.context import AutoContext
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.train.autograd.tensor import Tensor
from tt_run.runtime.train.modules.lazy import deferred
from tt_run.runtime.train.modules.parameter import Buffer, Parameter
from tt_run.runtime.train.parallel.sharded_parameters import restore, whole_sides
from tt_run.runtime.values import shapes

Array = Any
Initializer = Callable[..., Tensor]
"""`initializer(shape, mapper=None) -> Tensor`: `shape` is that of the whole tensor."""
Draw = Callable[[tuple[int, ...]], Array]
Held = TypeVar("Held", Tensor, Parameter, Buffer)

_GAINS = {"sigmoid": 1.0, "tanh": 5.0 / 3.0, "relu": math.sqrt(2.0), "selu": 0.75}
_LINEAR = (
    "linear",
    *(f"conv{n}d" for n in (1, 2, 3)),
    *(f"conv_transpose{n}d" for n in (1, 2, 3)),
)


def manual_seed(seed: int) -> None:
    """Restart the generator that initial weights and dropout are drawn from."""
    AutoContext.get_instance().set_seed(seed)


def place(array: np.ndarray, mapper: Any = None) -> Tensor:
    """An array as a parameter: bfloat16 as devices keep weights, float32 under float32 arithmetic."""
    return Tensor.from_numpy(np.asarray(array, np.float32), new_type=DataType.BFLOAT16, mapper=mapper)


def require_size(owner: str, name: str, size: Any) -> None:
    """Raise TypeError for a size of a layer that is no whole number, ValueError for one below 1."""
    if not isinstance(size, Integral) or isinstance(size, bool):
        raise TypeError(f"{owner}: {name} must be int, got {type_name(size)}; help: {name}=32")
    if size < 1:
        raise ValueError(f"{owner}: {name} must be at least 1, not {size}; help: {name}=32")


def _sides(shape: Any) -> tuple[int, ...]:
    """A shape as whole numbers. Raises TypeError for what is none."""
    sides = tuple(shape) if isinstance(shape, Iterable) and not isinstance(shape, str) else (None,)
    if any(not isinstance(side, Integral) or isinstance(side, bool) or side < 0 for side in sides):
        raise TypeError(f"a shape is a list of whole numbers, 0 or more, not {shape!r}; help: [1, 1, 32, 32]")
    return tuple(int(side) for side in sides if side is not None)


def _number(name: str, value: Any) -> float:
    if not isinstance(value, Real):
        raise TypeError(f"init: {name} is a number, not {value!r}; help: {name}=0.0")
    return float(value)


# --- what is drawn -------------------------------------------------------------------------------------------------


def _evenly(a: float, b: float) -> Draw:
    a, b = _number("a", a), _number("b", b)

    def draw(shape: tuple[int, ...]) -> Array:
        if shapes.active():
            return shapes.zeros(shape, np.float32)
        numbers = AutoContext.get_instance().generator.random(shape, np.float32)
        return numbers * np.float32(b - a) + np.float32(a)

    return draw


def _normally(mean: float, std: float) -> Draw:
    mean, std = _number("mean", mean), _number("std", std)
    if not std >= 0:
        raise ValueError(f"normal: std is at least 0, not {std}; help: std=0.02")

    def draw(shape: tuple[int, ...]) -> Array:
        if shapes.active():
            return shapes.zeros(shape, np.float32)
        numbers = AutoContext.get_instance().generator.standard_normal(shape, np.float32)
        return numbers * np.float32(std) + np.float32(mean)

    return draw


def _everywhere(value: float) -> Draw:
    number = np.float32(_number("val", value))
    return lambda shape: np.broadcast_to(number, shape)


def _xavier(gain: float, make: Callable[[float], Draw]) -> Draw:
    def draw(shape: tuple[int, ...]) -> Array:
        inputs, outputs = _fans(shape)
        return make(gain * math.sqrt(2.0 / (inputs + outputs)))(shape)

    return draw


def _kaiming(a: float, mode: str, nonlinearity: str, make: Callable[[float], Draw]) -> Draw:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(
            f"Mode {mode} not supported, please use one of ('fan_in', 'fan_out'); help: mode='fan_in'"
        )
    gain = calculate_gain(nonlinearity, a)

    def draw(shape: tuple[int, ...]) -> Array:
        return make(gain / math.sqrt(_fans(shape)[mode == "fan_out"]))(shape)

    return draw


def _even_of(deviation: float) -> Draw:
    bound = math.sqrt(3.0) * deviation
    return _evenly(-bound, bound)


def _normal_of(deviation: float) -> Draw:
    return _normally(0.0, deviation)


def _fans(shape: Sequence[int]) -> tuple[int, int]:
    sides = list(shape)
    while len(sides) > 2 and sides[0] == 1:
        sides = sides[1:]
    if len(sides) < 2:
        raise ValueError(
            f"Fan in and fan out can not be computed for tensor with fewer than 2 dimensions, got {list(shape)}; help: give weights two dimensions, or name another initialiser for a bias"
        )
    field = math.prod(sides[2:])
    return sides[1] * field, sides[0] * field


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The gain that torch.nn.init recommends for a nonlinearity. Raises ValueError for an unknown one."""
    if nonlinearity in _LINEAR:
        return 1.0
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number; help: param=0.01")
        return math.sqrt(2.0 / (1.0 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(
            f"Unsupported nonlinearity {nonlinearity}; one of {', '.join((*_LINEAR, *_GAINS, 'leaky_relu'))}; help: 'relu' for its kin"
        )
    return _GAINS[nonlinearity]


# --- initialisers of new tensors -----------------------------------------------------------------------------------


def _maker(draw: Draw) -> Initializer:
    @deferred
    def make(shape: Sequence[int], mapper: Any = None) -> Tensor:
        return place(draw(_sides(shape)), mapper)

    return make


def uniform(a: float = 0.0, b: float = 1.0) -> Initializer:
    """Evenly from [a, b)."""
    return _maker(_evenly(a, b))


def normal(mean: float = 0.0, std: float = 1.0) -> Initializer:
    """From the normal distribution."""
    return _maker(_normally(mean, std))


def constant(val: float) -> Initializer:
    """One number everywhere."""
    return _maker(_everywhere(val))


def zeros() -> Initializer:
    """Zeros."""
    return constant(0.0)


def ones() -> Initializer:
    """Ones."""
    return constant(1.0)


def xavier_uniform(gain: float = 1.0) -> Initializer:
    """Evenly, with the deviation gain * sqrt(2 / (fan in + fan out))."""
    return _maker(_xavier(gain, _even_of))


def xavier_normal(gain: float = 1.0) -> Initializer:
    """Normally, with the deviation gain * sqrt(2 / (fan in + fan out))."""
    return _maker(_xavier(gain, _normal_of))


def kaiming_uniform(a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Initializer:
    """Evenly, with the deviation gain / sqrt(fan). Raises ValueError for an unknown mode or nonlinearity."""
    return _maker(_kaiming(a, mode, nonlinearity, _even_of))


def kaiming_normal(a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Initializer:
    """Normally, with the deviation gain / sqrt(fan). Raises ValueError for an unknown mode or nonlinearity."""
    return _maker(_kaiming(a, mode, nonlinearity, _normal_of))


def fan_in(inputs: int) -> Initializer:
    """Evenly from (-k, k) with k = sqrt(1 / inputs): what linear layers start from. Raises ValueError without an input."""
    if inputs < 1:
        raise ValueError(f"a layer has at least one input, not {inputs}; help: in_features=1 or more")
    bound = math.sqrt(1.0 / inputs)
    return uniform(-bound, bound)


# --- filling tensors that are there --------------------------------------------------------------------------------


def _fill(held: Held, draw: Draw) -> Held:
    tensor = held.tensor
    value = tensor.get_value(PreferredPrecision.FULL)
    filled = restore(value, draw(tuple(whole_sides(value))), "init")
    stored = tensor.get_value(PreferredPrecision.NATIVE).dtype
    tensor.set_value(filled if filled.dtype is stored else stacks.as_dtype(filled, stored))
    return held


def uniform_(tensor: Held, a: float = 0.0, b: float = 1.0) -> Held:
    """Fill evenly from [a, b)."""
    return _fill(tensor, _evenly(a, b))


def normal_(tensor: Held, mean: float = 0.0, std: float = 1.0) -> Held:
    """Fill from the normal distribution."""
    return _fill(tensor, _normally(mean, std))


def constant_(tensor: Held, val: float) -> Held:
    """Fill with one number."""
    return _fill(tensor, _everywhere(val))


def zeros_(tensor: Held) -> Held:
    """Fill with zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor: Held) -> Held:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def xavier_uniform_(tensor: Held, gain: float = 1.0) -> Held:
    """Fill as `xavier_uniform`."""
    return _fill(tensor, _xavier(gain, _even_of))


def xavier_normal_(tensor: Held, gain: float = 1.0) -> Held:
    """Fill as `xavier_normal`."""
    return _fill(tensor, _xavier(gain, _normal_of))


def kaiming_uniform_(
    tensor: Held, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Held:
    """Fill as `kaiming_uniform`."""
    return _fill(tensor, _kaiming(a, mode, nonlinearity, _even_of))


def kaiming_normal_(
    tensor: Held, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Held:
    """Fill as `kaiming_normal`."""
    return _fill(tensor, _kaiming(a, mode, nonlinearity, _normal_of))
