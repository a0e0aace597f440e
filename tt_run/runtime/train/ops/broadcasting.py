"""Gradients of broadcast operands: summed over the dimensions that were stretched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def reduced(stack: Array, shape: Sequence[int]) -> Array:
    """A stack (shards, *broadcast shape) summed to (shards, *shape). Shapes align at their ends."""
    target = tuple(shape)
    if stack.shape[1:] == target:
        return stack
    padded = (1,) * (stack.ndim - 1 - len(target)) + target
    axes = tuple(
        i + 1 for i, (wide, narrow) in enumerate(zip(stack.shape[1:], padded, strict=True)) if wide != narrow
    )
    summed = stack.sum(axis=axes, keepdims=True, dtype=np.float32) if axes else stack
    return summed.reshape(stack.shape[0], *target)


def aligned(stack: Array, rank: int) -> Array:
    """A stack whose shards have `rank` dimensions, ones in front."""
    missing = rank + 1 - stack.ndim
    return stack if missing <= 0 else stack.reshape(stack.shape[0], *(1,) * missing, *stack.shape[1:])
