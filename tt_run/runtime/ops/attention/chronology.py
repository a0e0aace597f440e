"""Where the tokens of a sequence lie that is cut over an axis of the mesh and begins anywhere in a rank. Source: reference library 0.81.1 and its tests.

The rank that holds the first token holds what follows first, its head; the rows behind are its tail, the last tokens of all, after those of
the other ranks. One rank alone has no tail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import as_type, fatal, in_range, in_rows
from tt_run.runtime.ops.declaration.operands import on_device
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.shards import Shards, combine_all

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Chronology:
    """One rank's rows: `step` ranks begin before it, `head` rows are its head, the first `valid` rows hold tokens, `split` where it has a tail.

    `owner`: the rank that holds the last token, as one of `last` that follow each other there. `apart`: that token is in a tail.
    """

    rank: int
    first: int
    step: int
    rows: int
    head: int
    valid: int
    split: bool
    owner: int
    last: int
    apart: bool

    @property
    def tail(self) -> bool:
        """Whether tokens lie in a tail here."""
        return self.split and self.valid > self.head

    def head_chunks(self) -> int:
        """Chunks of 32 rows, of those that hold tokens, that belong to the head."""
        return -(-min(self.valid, self.head) // TILE_SIZE)

    def chunks(self) -> int:
        """Chunks of 32 rows that hold tokens."""
        return -(-self.valid // TILE_SIZE)


def chronology(rank: int, members: int, rows: int, start: int, end: int | None) -> Chronology:
    """Of a sequence from `start` to `end`, or of all rows where that is not told."""
    first, inside = start // rows % members, start % rows
    cut = members > 1 and inside != 0
    head = rows - inside if cut else rows
    step = (rank - first) % members
    length = members * rows if end is None else end - start
    before = 0 if step == 0 else head + (step - 1) * rows
    behind = head + (members - 1) * rows
    valid = max(min(length - before, head if step == 0 else rows), 0)
    if step == 0:
        valid += max(length - behind, 0)
    last = 0 if length <= head else 1 + (length - head - 1) // rows
    owner = (first + last) % members
    recent = length if length <= head else (length - head - 1) % rows + 1
    split, apart = cut and step == 0, cut and length > behind
    return Chronology(rank, first, step, rows, head if split else rows, valid, split, owner, recent, apart)


def members_along(name: str, tensor: Tensor, axis: int) -> int:
    """Over how many devices a sequence is cut. Raises RuntimeError for an axis that the mesh does not have."""
    extents = tuple(on_device(tensor, kind="kda").shape)
    if not 0 <= axis < len(extents):
        raise fatal(
            "KDA: invalid sequence_parallel_axis",
            hint=f"{name} got {axis}: {in_range('sequence_parallel_axis', len(extents))}",
        )
    return extents[axis]


def on_each_rank(
    name: str,
    axis: int,
    rows: int,
    bounds: Sequence[Tensor],
    function: Callable[..., Sequence[Array]],
    *given: Tensor,
) -> list[Shards]:
    """The results of `function(chronology, shard, …)` on each device; `bounds` are the start, or start and end."""
    members = members_along(name, given[0], axis)
    _check_bounds(name, bounds)
    coords = given[0].site.local_coords
    places = Shards.from_each([np.array([at[axis]]) for at in coords], like=np.empty((0, 1), np.intp))

    def one(place: Array, *shards: Array) -> Sequence[Array]:
        numbers = [int(shard.reshape(-1)[0]) for shard in shards[: len(bounds)]]
        start, end = (*numbers, None)[:2] if numbers else (0, None)
        at = chronology(int(place[0]), members, rows, start or 0, end)
        return function(at, *shards[len(bounds) :])

    def compute(*stacks: Array) -> list[Array]:
        if not len(stacks[0]):  # a run in shapes: what comes of zeros has the shape
            bare = one(*(np.zeros(stack.shape[1:], stack.dtype) for stack in stacks))
            return [values[None][:0] for values in bare]
        results = [one(*shards) for shards in zip(*stacks, strict=True)]
        return [np.stack(values) for values in zip(*results, strict=True)]

    return combine_all(compute, places, *(t.shards for t in (*bounds, *given)))


def _check_bounds(name: str, bounds: Sequence[Tensor]) -> None:
    """Raises RuntimeError for a start and an end that are not one number each."""
    for word, tensor in zip(("actual_start", "actual_end"), bounds, strict=False):
        if tensor.dtype is not DataType.UINT32:
            raise fatal(
                f"{name}: {word} must be UINT32, got {cpp(tensor.dtype)}", hint=as_type(word, "uint32")
            )
        if tensor.layout is not Layout.ROW_MAJOR:
            raise fatal(
                f"{name}: {word} must use ROW_MAJOR layout, got {cpp(tensor.layout)}", hint=in_rows(word)
            )
        if tensor.logical_volume() != 1:
            raise fatal(f"{name}: {word} must be a scalar", hint="a tensor of shape [1]")


def check_rows(name: str, rows: int, groups: int = 1) -> None:
    """Raises RuntimeError where groups have no whole chunks."""
    if rows < 1 or rows % (TILE_SIZE * groups):
        what = (
            "must be positive and 32-aligned"
            if name == "chain_affine_transforms"
            else "must contain a positive whole number of 32-token chunks per group"
        )
        raise fatal(
            f"{name}: local_rows {what}",
            hint=f"local_rows={max(-(-rows // (TILE_SIZE * groups)), 1) * TILE_SIZE * groups}",
        )
