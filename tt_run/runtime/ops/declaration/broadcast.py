"""Shapes that broadcast against each other, aligned at their ends. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy.typing as npt

from tt_run.runtime.errors import fatal

Array = npt.NDArray[Any]

_BROADCAST_DIMENSIONS = 6
"""So many of the last dimensions broadcast."""


def align(stack: Array, rank: int) -> Array:
    """A stack whose shards have `rank` dimensions: ones are put in front of the shard's own."""
    missing = rank - (stack.ndim - 1)
    return stack.reshape(stack.shape[0], *(1,) * missing, *stack.shape[1:]) if missing > 0 else stack


def check_broadcast(a: Iterable[int], b: Iterable[int]) -> None:
    """Raises RuntimeError when two shard shapes do not broadcast against each other."""
    left, right = tuple(a), tuple(b)
    for back in range(1, min(len(left), len(right)) + 1):
        ours, theirs = left[-back], right[-back]
        if ours != theirs and back > _BROADCAST_DIMENSIONS:
            raise fatal(
                f"Broadcasting rule violation for rank >= 7 at dimension index {-back} (output rank {max(len(left), len(right))}). "
                f"Broadcast is supported up to rank 6. dim a: {ours}, dim b: {theirs}",
                "a_dim == b_dim",
                hint="ttnn.reshape to rank 6 or less, or ttnn.repeat to the same shape first",
            )
        if ours == theirs or ours == 1 or theirs == 1:
            continue
        if back <= 2:
            raise fatal(
                "Invalid subtile broadcast type",
                hint=_made_equal(left, right, -back),
            )
        raise fatal(
            f"Broadcasting rule violation at dimension index {-back} (output rank {max(len(left), len(right))}), "
            f"dim a: {ours}, dim b: {theirs}",
            hint=_made_equal(left, right, -back),
        )


def _made_equal(left: tuple[int, ...], right: tuple[int, ...], dim: int) -> str:
    small, large = sorted((left[dim], right[dim]))
    return (
        f"shapes {list(left)} and {list(right)} differ in dimension {dim}: ttnn.pad makes {large} of {small}, "
        f"ttnn.slice {small} of {large}, and a dimension of 1 fits any"
    )
