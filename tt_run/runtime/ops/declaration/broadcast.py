"""Shapes that broadcast against each other, aligned at their ends. Source: refusals of reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy.typing as npt

from tt_run.runtime.errors import fatal
from tt_run.runtime.tensor.spec.shape import Shape

Array = npt.NDArray[Any]

_BROADCAST_DIMENSIONS = 6
"""So many of the last dimensions broadcast."""
_REPEATED = "ttnn.reshape to rank 6 or less, or ttnn.repeat to the same shape first"


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
                hint=_REPEATED,
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


def check_all_broadcast(name: str, shapes: Sequence[Shape]) -> None:
    """Raises RuntimeError when shapes of operation `name`, whose kernel takes three operands, do not broadcast against each other."""
    rank = max(len(shape) for shape in shapes)
    for back in range(1, rank + 1):
        edges = [shape[-back] if back <= len(shape) else 1 for shape in shapes]
        lengths = sorted(set(edges) - {1})
        place = f"at dimension index {-back} (output rank {rank})"
        dims = ", ".join(f"dim {letter}: {edge}" for letter, edge in zip("abc", edges, strict=False))
        if len(lengths) > 1:
            between = " and ".join((", ".join(map(str, shapes[:-1])), str(shapes[-1])))
            said = f"Broadcasting rule violation {place}, {dims}"
            if back <= 2:
                said = "Invalid subtile broadcast type"
                if name == "ttnn.where" and len(shapes) == 3:
                    said = (
                        f"{name}: shapes {between} do not broadcast in a pattern the ternary kernel supports"
                    )
            one, other = (
                tuple(next(s for s in shapes if len(s) >= back and s[-back] == n)) for n in lengths[:2]
            )
            raise fatal(said, hint=_made_equal(one, other, -back))
        if back > _BROADCAST_DIMENSIONS and len(set(edges)) > 1:
            raise fatal(
                f"Broadcasting rule violation for rank >= 7 {place}. Broadcast is supported up to rank 6. {dims}",
                "a_dim == b_dim",
                hint=_REPEATED,
            )


def broadcast_shape(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...] | None:
    """What two shapes make, of dimensions that do not fit the first one's; None where the last two do not."""
    rank = max(len(a), len(b))
    pairs = list(zip((*(1,) * (rank - len(a)), *a), (*(1,) * (rank - len(b)), *b), strict=True))
    if any(1 not in pair and pair[0] != pair[1] for pair in pairs[-2:]):
        return None
    return tuple(other if one == 1 else one for one, other in pairs)


def _made_equal(left: tuple[int, ...], right: tuple[int, ...], dim: int) -> str:
    small, large = sorted((left[dim], right[dim]))
    return (
        f"shapes {list(left)} and {list(right)} differ in dimension {dim}: ttnn.pad makes {large} of {small}, "
        f"ttnn.slice {small} of {large}, and a dimension of 1 fits any"
    )
