"""Shapes that stretch to each other, and gradients of the stretched: summed over their dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def require_broadcast(left: Sequence[int], right: Sequence[int]) -> None:
    """Raises RuntimeError where two shapes, aligned at their ends, differ in a dimension that is 1 in neither."""
    pairs = zip(reversed(tuple(left)), reversed(tuple(right)), strict=False)
    for back, (ours, theirs) in enumerate(pairs, 1):
        if ours != theirs and 1 not in (ours, theirs):
            raise RuntimeError(
                f"shapes {list(left)} and {list(right)} do not broadcast: dimension {-back} is {ours} and {theirs}; "
                "help: sizes that are equal or 1"
            )


def sum_to_shape(stack: Array, shape: Sequence[int]) -> Array:
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
