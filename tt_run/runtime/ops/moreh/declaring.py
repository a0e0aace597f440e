"""What the rows of the family share: how they are published, the arguments that tune them, and the shape a reduction leaves.

Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tt_run.runtime.ops.declaration.operands import in_places_of, in_rank_of
from tt_run.runtime.ops.declaration.rows import PLACED, Row
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards

KERNELS = "compute_kernel_config: object = None"
TUNED = f"{PLACED}, {KERNELS}"
OUT = f"output: Tensor | None = None, {TUNED}"
DIM = "dim: int | Sequence[int] | None = None"


def row(name: str, signature: str, function: Callable[..., Any], doc: str, **more: Any) -> Row:
    """A row of the family, published below `ttnn.operations.moreh` too."""
    return Row(
        f"moreh_{name}", signature, function, doc, aliases=[f"operations.moreh.{_short(name)}"], **more
    )


def by_tiles(arguments: Mapping[str, Any], room: Tensor, result: Shards) -> Shards:
    """A result for a room that has as many tiles, each as large: kernels write them one after the other."""
    return in_places_of(room, result)


def by_kept(arguments: Mapping[str, Any], room: Tensor, result: Shards) -> Shards:
    """A reduction that keeps its dimensions, for a room that has fewer or more of length 1 in front."""
    return in_rank_of(room, result) if arguments["keepdim"] else result


def _short(name: str) -> str:
    return "abs" if name == "abs_pow" else name


def dimensions(rank: int, dim: int | Sequence[int] | None) -> tuple[int, ...]:
    """The dimensions that are reduced, counted from the front; all of them for None or no names."""
    wanted = (dim,) if isinstance(dim, int) else dim or range(rank)
    return tuple(sorted({d % rank for d in wanted}))


def kept_shape(shape: Sequence[int], dims: Sequence[int], keepdim: bool) -> list[int]:
    """The shape after a reduction: the last two dimensions stay as ones, since tiles have them."""
    left = list(shape)
    for d in reversed(dims):
        if keepdim or d >= len(left) - 2:
            left[d] = 1
        else:
            del left[d]
    return left
