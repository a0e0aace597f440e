"""`ttml.init`: initial weights, drawn for the whole tensor from the context's generator and then placed.

The draw does not know how the tensor is cut, so a sharded model starts from the very numbers of the single-device one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tt_run.runtime.enums import DataType
from tt_run.runtime.train.context import AutoContext
from tt_run.runtime.train.tensor import Tensor

Initializer = Callable[..., Tensor]
"""`initializer(shape, mapper=None) -> Tensor`: `shape` is that of the whole tensor."""


def place(array: np.ndarray, mapper: Any = None) -> Tensor:
    """An array as a parameter: bfloat16 as devices keep weights, float32 under float32 arithmetic."""
    return Tensor.from_numpy(np.asarray(array, np.float32), new_type=DataType.BFLOAT16, mapper=mapper)


def uniform(a: float = 0.0, b: float = 1.0) -> Initializer:
    """Evenly from [a, b)."""

    def make(shape: Sequence[int], mapper: Any = None) -> Tensor:
        draw = AutoContext.get_instance().generator.random(tuple(shape), np.float32)
        return place(draw * np.float32(b - a) + np.float32(a), mapper)

    return make


def normal(mean: float = 0.0, std: float = 1.0) -> Initializer:
    """From the normal distribution."""

    def make(shape: Sequence[int], mapper: Any = None) -> Tensor:
        draw = AutoContext.get_instance().generator.standard_normal(tuple(shape), np.float32)
        return place(draw * np.float32(std) + np.float32(mean), mapper)

    return make


def constant(value: float) -> Initializer:
    """One number everywhere."""
    return lambda shape, mapper=None: place(np.full(tuple(shape), value, np.float32), mapper)


def zeros() -> Initializer:
    """Zeros."""
    return constant(0.0)


def ones() -> Initializer:
    """Ones."""
    return constant(1.0)


def fan_in(inputs: int) -> Initializer:
    """Evenly from (-k, k) with k = sqrt(1 / inputs): what linear layers start from."""
    bound = math.sqrt(1.0 / inputs)
    return uniform(-bound, bound)
