"""Moving whole shards: all-gather, all-broadcast, and every shard to every rank.

The outcome of an exchange are the `Shards` of the devices in it that this rank holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass
from tt_run.runtime.ccl.exchange.shard_locations import RowId, RowTable, ShardRows
from tt_run.runtime.values import recycled_arrays
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]
# Where a row goes: the number of the result, and the index inside of it.
Slot = tuple[Any, ...]
Placed = tuple[RowId, tuple[Slot, ...]]


@dataclass(frozen=True)
class GatherPlan:
    """An all-gather without its data: the shape of the stack of results, and where each row goes.

    A received row lands in its first slot at once when that is contiguous memory, else in a buffer of its own. `straight` says that
    the result is the rank's stack of rows from end to end.
    """

    shape: tuple[int, ...]
    own: tuple[Placed, ...]
    remote: tuple[Placed, ...]
    in_place: bool
    straight: bool
    size: int


@lru_cache(maxsize=1024)
def gather_plan(table: RowTable, rank: int, shape: tuple[int, ...], dim: int) -> GatherPlan:
    """Plan the concatenation of shards of `shape` along `dim`."""
    length, members = shape[dim], len(table.exchange.groups[0])
    slots: dict[RowId, list[Slot]] = {}
    for number, content in enumerate(table.contents):
        for i, row in enumerate(content):
            inside = (slice(None),) * dim + (slice(i * length, (i + 1) * length),)
            slots.setdefault(row, []).append((number, *inside))
    placed = {row: tuple(places) for row, places in slots.items()}
    in_place = all(extent == 1 for extent in shape[:dim])
    whole = (len(table.contents), *shape[:dim], members * length, *shape[dim + 1 :])
    return GatherPlan(
        whole,
        tuple((row, places) for row, places in placed.items() if row[0] == rank),
        tuple((row, places) for row, places in placed.items() if row[0] != rank),
        in_place,
        in_place and table.exchange.local and table.in_order,
        math.prod(whole),
    )


def all_gather(source: ShardRows, dim: int) -> Shards:
    """Concatenate the shards of each group along `dim`, in device order: one result per distinct group content."""
    rank, table = source.rank, source.table
    plan = gather_plan(table, rank, source.shape, dim)
    if source.stacks is not None and plan.in_place:
        return Shards.unchecked(source.bodies.copy().reshape(plan.shape), table.results[rank])
    shared = None if source.complete else source.share(plan.shape, source.data.dtype)
    if shared is not None:
        # Every rank puts its rows into the one result that all of them keep.
        _place(source, plan.own, shared.writable)
        shared.meet()
        return Shards.unchecked(shared.array, table.results[rank])
    data = source.data
    if plan.straight and data.size == plan.size and data.nbytes < recycled_arrays.SMALLEST:
        return Shards.unchecked(data.reshape(plan.shape).copy(), table.results[rank])  # in half the time
    results = recycled_arrays.empty(plan.shape, data.dtype)
    if plan.straight and results.size == data.size:
        np.copyto(results.reshape(data.shape), data)
    elif source.complete:
        _place(source, plan.own + plan.remote, results)
    else:
        _receive(source, plan, results, lambda: _place(source, plan.own, results))
    return Shards.unchecked(results, table.results[rank])


def _place(source: ShardRows, rows: tuple[Placed, ...], results: Array) -> None:
    """Copy rows that are at hand into their slots."""
    for row, places in rows:
        array = source.row(row)
        for place in places:
            results[place] = array


def _receive(source: ShardRows, plan: GatherPlan, results: Array, meanwhile: Callable[[], None]) -> None:
    """Bring the rows of other ranks into all their slots."""
    if plan.in_place:
        first = {row: results[places[0]] for row, places in plan.remote}
    else:
        scratch = recycled_arrays.empty((len(plan.remote), *source.shape), source.data.dtype)
        first = {row: array for (row, _), array in zip(plan.remote, scratch, strict=True)}
    source.fetch(first, meanwhile)
    for row, places in plan.remote:
        for place in places[1:] if plan.in_place else places:
            results[place] = first[row]


def all_broadcast(source: ShardRows) -> list[Shards]:
    """For each place in the groups: the shard of the member there, on every device of the group. All see their part of one stack."""
    found = source.everything()
    numbers = {row: i for i, row in enumerate(found)}
    stack = np.stack(list(found.values()))
    table, own = source.table, source.exchange.held[source.wire.rank]
    return [
        Shards.unchecked(stack, tuple(numbers[table.contents[table.place[p][0]][i]] for p in own)).compact()
        for i in range(len(source.exchange.groups[0]))
    ]


def every_shard(source: ShardRows) -> Mapping[int, Array]:
    """The shard of each position of the exchange, on every rank."""
    found = source.everything()
    return {position: found[row] for position, row in source.table.at.items()}


def rearranged(source: ShardRows, build: Callable[[Sequence[Array], int], Array]) -> Shards:
    """For each device `build(shards of its group in device order, its place in the group)`; what is alike is built once.

    Every rank sees every shard of the groups, whatever part of them it needs.
    """
    found, table = source.everything(), source.table
    numbers: dict[tuple[int, int], int] = {}
    results: list[Array] = []
    for position in source.exchange.held[source.wire.rank]:
        content, place = key = table.place[position]
        if key not in numbers:
            numbers[key] = len(results)
            results.append(build([found[row] for row in table.contents[content]], place))
    own = source.exchange.held[source.wire.rank]
    return Shards.unchecked(np.stack(results), tuple(numbers[table.place[p]] for p in own))


def all_gather_reversed(source: ShardRows, dim: int) -> Shards:
    """Concatenate the shards of each group along `dim`, the last device first."""
    return rearranged(source, lambda shards, _: np.concatenate(shards[::-1], dim))


def all_to_all(source: ShardRows, split: int, join: int) -> Shards:
    """Device i gets slice i of dimension `split` of every shard of its group, side by side on dimension `join`."""
    length = source.shape[split] // len(source.exchange.groups[0])

    def build(shards: Sequence[Array], place: int) -> Array:
        cut = (*(slice(None),) * split, slice(place * length, (place + 1) * length))
        return np.concatenate([shard[cut] for shard in shards], join)

    return rearranged(source, build)
