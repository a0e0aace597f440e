"""Where reductions of tensors on cores lie, step by step as the reference takes them, and which pieces do not fit on the way.

Rows and columns are reduced where they are; a batch dimension takes the place of the rows first, and goes back. Each step has a place of its
own. Source: memory configurations and refusals of reference library 0.81.1.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from tt_run.runtime.enums import WIDTH_SHARDED, DataType, Layout
from tt_run.runtime.ops.data_movement.movement import stays
from tt_run.runtime.ops.declaration.operands import settle
from tt_run.runtime.ops.placement import asked_shards, fitted_shards, reordered_shards, scaled_shards
from tt_run.runtime.tensor.conversion.layouts import check_same_tile
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import DEFAULT_TILE, padded_shape
from tt_run.runtime.tensor.tensor import Tensor

_BATCHES_FIRST = (DataType.BFLOAT16, DataType.BFLOAT8_B)
_RANK, _TURNED = 4, 1  # of four dimensions, the one that is exchanged with the rows alone


class Step(NamedTuple):
    """A tensor after a step: its lengths, its place and its layout."""

    shape: tuple[int, ...]
    place: MemoryConfig
    layout: Layout


def of_total(
    name: str, tensor: Tensor, axes: Collection[int], asked: MemoryConfig | None, scalar: float = 1.0
) -> Step | None:
    """The place of a sum, mean or extreme with its ones. None where the call's own place, or its operand's, says it.

    Raises RuntimeError for pieces that do not fit on the way.
    """
    place, rank = asked or tensor.memory_config(), len(tensor.shape)
    now = Step(tuple(tensor.shape), tensor.memory_config(), tensor.layout)
    batches = sorted((axis for axis in axes if axis < rank - 2), reverse=True)
    inner = sorted((axis for axis in axes if axis >= rank - 2), reverse=True)
    first = name == "sum" and tensor.dtype in _BATCHES_FIRST and scalar == 1.0
    if not place.is_sharded():
        return None
    if rank != _RANK and not (batches and first) and now.place.is_sharded() and now.place.shard_spec is None:
        check_same_tile(tensor, DEFAULT_TILE)  # it leaves its cores to be seen in four dimensions
    tensor = in_full_tiles(tensor)
    if batches and first:
        # A program of its own sums them, one after the other, and turns nothing; what follows goes where it has put them.
        if now.layout is not Layout.TILE:
            now = _tiled(tensor, now, place)
        for axis in batches:
            now = _fitted(tensor, _with_one(now.shape, axis), place)
        batches, place = [], asked or now.place
    for axis in inner:
        now = _in_four(tensor, now, axis - rank, place, asked is None)
    for axis in batches:
        turned = _in_four(tensor, _turned(tensor, now, axis, place), -2, place, asked is None)
        now = _turned(tensor, turned, axis, place)
    return now


def of_spread(tensor: Tensor, axes: Sequence[int], asked: MemoryConfig | None) -> Step | None:
    """As `of_total`, of a variance, which takes several dimensions at once: they are brought to the end."""
    place, rank = asked or tensor.memory_config(), len(tensor.shape)
    if not place.is_sharded():
        return None
    pieces = tensor.memory_config().is_sharded() and tensor.memory_config().shard_spec is None
    if pieces and rank < _RANK and any(tensor.shape[axis] > 1 for axis in axes):
        check_same_tile(tensor, DEFAULT_TILE)
    tensor = in_full_tiles(tensor)
    now = Step(tuple(tensor.shape), tensor.memory_config(), tensor.layout)
    if all(tensor.shape[axis] == 1 for axis in axes):
        return _fitted(tensor, now.shape, place)  # of which nothing is read
    order = list(range(rank))
    if len(axes) == 1 and axes[0] < rank - 2:
        there = _turned(tensor, now, axes[0], place)
        return _turned(tensor, _reduced(tensor, there, [rank - 2], place), axes[0], place)
    if len(axes) > 1:
        now = _ordered(tensor, now, [d for d in order if d not in axes] + list(axes), place)
        return _reduced(tensor, now, range(rank - len(axes), rank), place)
    return _reduced(tensor, now, axes, place)


def in_full_tiles(tensor: Tensor) -> Tensor:
    """A tensor in smaller tiles as one that steps make of it: results of reductions are in whole ones."""
    if tensor.tile == DEFAULT_TILE:
        return tensor
    step = Step(tuple(tensor.shape), L1_MEMORY_CONFIG, tensor.layout)
    return _without_values(tensor, step, tensor.dtype)


def _without_values(tensor: Tensor, now: Step, dtype: DataType) -> Tensor:
    """What a step makes of a tensor, for its place alone."""
    nothing = tensor.shards.map(lambda stack: np.broadcast_to(stack.dtype.type(0), (len(stack), *now.shape)))
    return settle((tensor,), nothing, dtype, memory_config=now.place, layout=now.layout)


def _with_one(shape: Sequence[int], *axes: int) -> list[int]:
    return [1 if axis in axes else length for axis, length in enumerate(shape)]


def _fitted(tensor: Tensor, shape: Sequence[int], place: MemoryConfig, layout: Layout = Layout.TILE) -> Step:
    padded = padded_shape(tuple(shape), layout, tensor.tile).dims
    sharding.settled(sharding.of_matrix(place), padded, layout, tensor.tile.edges)
    return Step(tuple(shape), sharding.on_cores(place, padded, layout, tensor.tile.edges), layout)


def _reduced(
    tensor: Tensor, now: Step, axes: Collection[int], place: MemoryConfig, kept_first: bool = False
) -> Step:
    """One reduction; `kept_first`: rows are in tiles first where they lie, else where they are reduced to."""
    columns = now.place.memory_layout is WIDTH_SHARDED  # of which each has all rows
    if now.layout is not Layout.TILE and not columns:
        now = _tiled(tensor, now, now.place if kept_first or place.nameless else place)
    kept, rank = _with_one(now.shape, *axes), len(now.shape)
    back = [axis - rank for axis in axes if axis >= rank - 2]
    found = fitted_shards.of_reduction(tensor, kept, Layout.TILE, place, back, now.place)
    return _fitted(tensor, kept, found or place)


def _tiled(tensor: Tensor, now: Step, place: MemoryConfig) -> Step:
    """Rows in tiles, in no more than four dimensions."""
    there = _viewed(tensor, now, _four(now.shape) if len(now.shape) > _RANK else now.shape)
    return _viewed(tensor, _fitted(tensor, there.shape, place), now.shape)


def _in_four(tensor: Tensor, now: Step, axis: int, place: MemoryConfig, kept_first: bool) -> Step:
    """A tensor reduced along its rows or columns in four dimensions."""
    kept = _with_one(now.shape, len(now.shape) + axis)
    there = _viewed(tensor, now, _four(now.shape))
    return _viewed(tensor, _reduced(tensor, there, [_RANK + axis], place, kept_first), kept)


def _four(shape: Sequence[int]) -> tuple[int, ...]:
    """The same in four dimensions: with ones in front, or the first ones as one."""
    whole = (1,) * (_RANK - len(shape)) + tuple(shape)
    return (math.prod(whole[: 1 - _RANK]), *whole[1 - _RANK :])


def _viewed(tensor: Tensor, now: Step, shape: Sequence[int]) -> Step:
    """The same in another number of dimensions, where `reshape` puts it."""
    if len(shape) == len(now.shape):
        return now
    tiled = now.layout is Layout.TILE and now.place.shard_spec is not None
    if tiled and tuple(now.shape[-2:]) == tuple(shape[-2:]):
        return Step(tuple(shape), sharding.of_matrix(now.place), now.layout)  # which takes no more than that
    return Step(tuple(shape), reshaped(tensor, now, shape, tensor.dtype), now.layout)


def reshaped(tensor: Tensor, now: Step, shape: Sequence[int], dtype: DataType) -> MemoryConfig:
    """Where `reshape` puts a step's tensor."""
    whole = _without_values(tensor, now, dtype)
    found = asked_shards.of_reshape(whole, None, shape, stays(whole, shape))
    return found or sharding.of_matrix(whole.memory_config())


def _turned(tensor: Tensor, now: Step, axis: int, place: MemoryConfig) -> Step:
    """A batch dimension where the rows are, and the rows where it was."""
    order = list(range(len(now.shape)))
    order[axis], order[-2] = order[-2], order[axis]
    if axis + max(0, _RANK - len(order)) == _TURNED and len(order) <= _RANK:
        after = [now.shape[d] for d in order]
        there = _viewed(tensor, now, _four(now.shape))
        whole = _four(after)
        done = _fitted(tensor, whole, _named(tensor, there, whole, place), now.layout)
        return _viewed(tensor, done, after)
    return _ordered(tensor, now, order, place)


def _named(tensor: Tensor, now: Step, after: Sequence[int], place: MemoryConfig) -> MemoryConfig:
    """A place, on cores where it names none."""
    if not place.nameless:
        return place
    before = scaled_shards.matrix(tensor, now.shape, now.layout)
    return reordered_shards.of_size(tensor, now.place, place, before, after, now.layout)


def _ordered(tensor: Tensor, now: Step, order: Sequence[int], place: MemoryConfig) -> Step:
    if list(order) == sorted(order):
        return now if place == now.place else _fitted(tensor, now.shape, place, now.layout)
    place = _named(tensor, now, [now.shape[d] for d in order], place)
    front = max(0, _RANK - len(order))
    full = (*range(front), *(d + front for d in order))
    for each in reordered_shards.exchanges_of(full):
        now = _fitted(tensor, [now.shape[d - front] for d in each[front:]], place, now.layout)
    if reordered_shards.exchanges_of(full):
        return now
    if now.place.created_with_nd_shard_spec and place.created_with_nd_shard_spec:
        place = reordered_shards.in_order(now.place, place, full)
    return _fitted(tensor, [now.shape[d] for d in order], place, now.layout)
