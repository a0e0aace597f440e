"""Moving whole shards: all-gather, all-broadcast, and every shard to every rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ccl import buffers
from tt_run.runtime.ccl.rows import RowId, Source

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Piece:
    """The outcome of one exchange on one rank: a stack of distinct results, and the row that each of its positions gets."""

    data: Array
    rows: Mapping[int, int]


def all_gather(source: Source, dim: int) -> Piece:
    """Concatenate the shards of each group along `dim`, in device order: one result per distinct group content."""
    table, shape = source.table, source.shape
    members = len(source.exchange.groups[0])
    length = shape[dim]
    results = buffers.empty(
        (len(table.contents), *shape[:dim], members * length, *shape[dim + 1 :]), source.data.dtype
    )
    slots: dict[RowId, list[Array]] = {}
    for content, result in zip(table.contents, results, strict=True):
        for i, row in enumerate(content):
            slot = result[(slice(None),) * dim + (slice(i * length, (i + 1) * length),)]
            slots.setdefault(row, []).append(slot)
    _fill(source, slots)
    return Piece(results, {p: table.place[p][0] for p in _own(source)})


def _fill(source: Source, slots: Mapping[RowId, list[Array]]) -> None:
    """Bring each row into all its slots, received where it belongs when the slot is contiguous."""
    first: dict[RowId, Array] = {}
    for row, places in slots.items():
        if source.complete or row[0] == source.wire.rank:
            for place in places:
                place[...] = source.row(row)
        elif places[0].flags.c_contiguous:
            first[row] = places[0]
        else:
            first[row] = buffers.empty(source.shape, source.data.dtype)
    if source.complete:
        return
    source.fetch(first)
    for row, array in first.items():
        for place in slots[row]:
            if place is not array:
                place[...] = array


def all_broadcast(source: Source) -> list[Piece]:
    """For each place in the groups: the shard of the member there, on every device of the group. All share one stack."""
    found = source.everything()
    numbers = {row: i for i, row in enumerate(found)}
    stack = _stack(source, found)
    table = source.table
    own = _own(source)
    members = len(source.exchange.groups[0])
    return [
        Piece(stack, {p: numbers[table.contents[table.place[p][0]][i]] for p in own}) for i in range(members)
    ]


def every_shard(source: Source) -> Mapping[int, Array]:
    """The shard of each position of the exchange, on every rank."""
    found = source.everything()
    return {position: found[row] for position, row in source.table.at.items()}


def _stack(source: Source, found: Mapping[RowId, Array]) -> Array:
    """The rows as one array; this rank's own stack where it already is that."""
    if source.exchange.local and len(found) == len(source.data):
        return source.data
    return np.stack(list(found.values()))


def _own(source: Source) -> tuple[int, ...]:
    return source.exchange.held[source.wire.rank]
