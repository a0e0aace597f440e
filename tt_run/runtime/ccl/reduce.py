"""Sums over device groups: all-reduce and reduce-scatter, in device order for any split over ranks.

Every rank sums one slice of the elements over *all* devices, so the order of the additions never depends on who holds what; partial
sums per rank would be one message shorter and give other bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ccl import buffers
from tt_run.runtime.ccl.gather import Piece
from tt_run.runtime.ccl.reduction import Rounding, ordered_sum, slices
from tt_run.runtime.ccl.rows import Content, RowId, Source
from tt_run.runtime.ccl.wire import Parcel

Array = npt.NDArray[Any]
Cut = Callable[[Array, int], Array]


def all_reduce(source: Source, rounding: Rounding | None) -> Piece:
    """The sum over each group on every device of it."""
    table, me = source.table, source.wire.rank
    results = buffers.empty((len(table.contents), *source.shape), source.data.dtype)
    flat = results.reshape(len(results), -1)
    if source.complete:
        for content, result in zip(table.contents, flat, strict=True):
            ordered_sum([source.row(row).reshape(-1) for row in content], result, rounding)
    else:
        cuts = slices(flat.shape[1], source.wire.size)
        arrived = _swap_slices(source, cuts)
        for content, result in zip(table.contents, flat, strict=True):
            ordered_sum([arrived[row] for row in content], result[cuts[me]], rounding)
        _complete_slices(source, flat, cuts)
    return Piece(results, {p: table.place[p][0] for p in source.exchange.held[me]})


def _swap_slices(source: Source, cuts: Sequence[slice]) -> Mapping[RowId, Array]:
    """Slice r of every row of every rank, on rank r."""
    me, used = source.wire.rank, source.table.used
    rows = {number: np.ascontiguousarray(source.data[number]).reshape(-1) for number in used[me]}
    peers = [peer for peer in range(source.wire.size) if peer != me]
    sends: list[Parcel] = [(peer, rows[n][cuts[peer]]) for peer in peers for n in used[me]]
    length = cuts[me].stop - cuts[me].start
    scratch = buffers.empty((sum(len(used[peer]) for peer in peers), length), source.data.dtype)
    remote = [(peer, number) for peer in peers for number in used[peer]]
    arrived = dict(zip(remote, scratch, strict=True))
    source.wire.swap(sends, [(row[0], array) for row, array in arrived.items()])
    return {**arrived, **{(me, number): row[cuts[me]] for number, row in rows.items()}}


def _complete_slices(source: Source, flat: Array, cuts: Sequence[slice]) -> None:
    """Give every rank the slices that the others summed."""
    me = source.wire.rank
    peers = [peer for peer in range(source.wire.size) if peer != me]
    sends: list[Parcel] = [(peer, result[cuts[me]]) for peer in peers for result in flat]
    source.wire.swap(sends, [(peer, result[cuts[peer]]) for peer in peers for result in flat])


def reduce_scatter(source: Source, dim: int, rounding: Rounding | None) -> Piece:
    """Sum over each group; member i keeps slice i of `dim`. The dimension divides by the size of the group."""
    table, me, shape = source.table, source.wire.rank, source.shape
    length = shape[dim] // len(source.exchange.groups[0])
    wanted = [_wanted(source, rank) for rank in range(source.wire.size)]
    results = buffers.empty((len(wanted[me]), *shape[:dim], length, *shape[dim + 1 :]), source.data.dtype)

    def cut(row: Array, i: int) -> Array:
        return np.ascontiguousarray(row[(slice(None),) * dim + (slice(i * length, (i + 1) * length),)])

    arrived: Mapping[tuple[int, RowId], Array] = {}
    if not source.complete:
        arrived = _swap_cuts(source, wanted, cut, results.shape[1:])
    for (number, i), result in zip(wanted[me], results, strict=True):
        rows = [
            arrived[i, row] if (i, row) in arrived else cut(source.row(row), i)
            for row in table.contents[number]
        ]
        ordered_sum([row.reshape(-1) for row in rows], result.reshape(-1), rounding)
    return Piece(results, {p: wanted[me].index(table.place[p]) for p in source.exchange.held[me]})


def _wanted(source: Source, rank: int) -> list[tuple[int, int]]:
    """The distinct (content, member) pairs that the devices of a rank get, in order of position."""
    return list(dict.fromkeys(source.table.place[p] for p in source.exchange.held[rank]))


def _owned_by(content: Content, rank: int) -> list[RowId]:
    return list(dict.fromkeys(row for row in content if row[0] == rank))


def _swap_cuts(
    source: Source,
    wanted: Sequence[Sequence[tuple[int, int]]],
    cut: Cut,
    shape: tuple[int, ...],
) -> Mapping[tuple[int, RowId], Array]:
    """Cut i of each remote row that the pairs of this rank need."""
    me, contents = source.wire.rank, source.table.contents

    def needs(receiver: int, sender: int) -> list[tuple[int, RowId]]:
        pairs = ((i, row) for number, i in wanted[receiver] for row in _owned_by(contents[number], sender))
        return list(dict.fromkeys(pairs))

    peers = [peer for peer in range(source.wire.size) if peer != me]
    sends: list[Parcel] = [(peer, cut(source.row(row), i)) for peer in peers for i, row in needs(peer, me)]
    keys = [key for peer in peers for key in needs(me, peer)]
    arrived = dict(zip(keys, buffers.empty((len(keys), *shape), source.data.dtype), strict=True))
    source.wire.swap(sends, [(row[0], array) for (_, row), array in arrived.items()])
    return arrived
