"""Sums over device groups: all-reduce and reduce-scatter, in device order for any split over ranks.

Every rank sums one slice of the elements over *all* devices, so the order of the additions never depends on who holds what; partial
sums per rank would be one message shorter and give other bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ccl import buffers
from tt_run.runtime.ccl.gather import Piece
from tt_run.runtime.ccl.reduction import Rounding, ordered_sum, slices
from tt_run.runtime.ccl.rows import RowId, RowTable, Source
from tt_run.runtime.ccl.wire import Parcel

Array = npt.NDArray[Any]
# A cut of the scattered dimension, of one row.
CutId = tuple[int, RowId]


def all_reduce(source: Source, rounding: Rounding | None) -> Piece:
    """The sum over each group on every device of it."""
    table, me = source.table, source.rank
    results = buffers.empty((len(table.contents), *source.shape), source.data.dtype)
    flat = results.reshape(len(results), -1)
    if source.complete:
        rows = source.flat()
        for i, numbers in enumerate(table.numbers):
            ordered_sum([rows[number] for number in numbers], flat[i], rounding)
    else:
        cuts = slices(flat.shape[1], source.wire.size)
        arrived = _swap_slices(source, cuts)
        for content, result in zip(table.contents, flat, strict=True):
            ordered_sum([arrived[row] for row in content], result[cuts[me]], rounding)
        _complete_slices(source, flat, cuts)
    return Piece(results, table.results[me])


def _swap_slices(source: Source, cuts: Sequence[slice]) -> Mapping[RowId, Array]:
    """Slice r of every row of every rank, on rank r."""
    me, counts = source.wire.rank, source.table.counts
    rows = [source.mine(number).reshape(-1) for number in range(counts[me])]
    sends: list[Parcel] = [
        (peer, row[cuts[peer]]) for peer in range(len(counts)) if peer != me for row in rows
    ]
    remote = source.table.remote(me)
    length = cuts[me].stop - cuts[me].start
    arrived = dict(zip(remote, buffers.empty((len(remote), length), source.data.dtype), strict=True))
    source.wire.swap(sends, [(row[0], array) for row, array in arrived.items()])
    return {**arrived, **{(me, number): row[cuts[me]] for number, row in enumerate(rows)}}


def _complete_slices(source: Source, flat: Array, cuts: Sequence[slice]) -> None:
    """Give every rank the slices that the others summed."""
    me = source.wire.rank
    peers = [peer for peer in range(source.wire.size) if peer != me]
    sends: list[Parcel] = [(peer, result[cuts[me]]) for peer in peers for result in flat]
    source.wire.swap(sends, [(peer, result[cuts[peer]]) for peer in peers for result in flat])


def reduce_scatter(source: Source, dim: int, rounding: Rounding | None) -> Piece:
    """Sum over each group; member i keeps slice i of `dim`. The dimension divides by the size of the group."""
    table, me, shape = source.table, source.rank, source.shape
    length = shape[dim] // len(source.exchange.groups[0])
    wanted = _wanted(table, me)
    results = buffers.empty((len(wanted), *shape[:dim], length, *shape[dim + 1 :]), source.data.dtype)
    if source.complete:
        _sum_whole(source, dim, results, rounding)
    else:
        _sum_cuts(source, dim, results, rounding)
    return Piece(results, tuple(wanted[table.place[p]] for p in source.exchange.held[me]))


def _sum_whole(source: Source, dim: int, results: Array, rounding: Rounding | None) -> None:
    """All rows are here: sum whole groups, which takes the fewest steps, and cut the sums."""
    table, rows, length = source.table, source.flat(), results.shape[1 + dim]
    total = buffers.empty(source.shape, source.data.dtype)
    for numbers, kept in zip(table.numbers, _kept(table, source.rank), strict=True):
        ordered_sum([rows[n] for n in numbers], total.reshape(-1), rounding)
        for i, row in kept:
            results[row] = total[_slice_of(dim, i, length)]


def _sum_cuts(source: Source, dim: int, results: Array, rounding: Rounding | None) -> None:
    """Exchange the slices that each rank's devices keep, and sum those."""
    table, me, length = source.table, source.rank, results.shape[1 + dim]

    def cut(row: RowId, i: int) -> Array:
        # A view where the dimensions before `dim` are one: then nothing is copied before it is sent or added.
        return np.ascontiguousarray(source.row(row)[_slice_of(dim, i, length)])

    peers = [peer for peer in range(source.wire.size) if peer != me]
    sends: list[Parcel] = [(peer, cut(row, i)) for peer in peers for i, row in _needs(table, peer, me)]
    keys = [key for peer in peers for key in _needs(table, me, peer)]
    arrived = dict(zip(keys, buffers.empty((len(keys), *results.shape[1:]), source.data.dtype), strict=True))
    source.wire.swap(sends, [(row[0], array) for (_, row), array in arrived.items()])
    for (number, i), result in zip(_wanted(table, me), results, strict=True):
        rows = [cut(row, i) if row[0] == me else arrived[i, row] for row in table.contents[number]]
        ordered_sum([row.reshape(-1) for row in rows], result.reshape(-1), rounding)


def _slice_of(dim: int, i: int, length: int) -> tuple[slice, ...]:
    return (*(slice(None),) * dim, slice(i * length, (i + 1) * length))


@lru_cache(maxsize=1024)
def _wanted(table: RowTable, rank: int) -> dict[tuple[int, int], int]:
    """The distinct (content, member) pairs that the devices of a rank get, numbered in order of position."""
    pairs = dict.fromkeys(table.place[p] for p in table.exchange.held[rank])
    return {pair: i for i, pair in enumerate(pairs)}


@lru_cache(maxsize=1024)
def _kept(table: RowTable, rank: int) -> tuple[tuple[tuple[int, int], ...], ...]:
    """For each content: the members whose slices the devices of a rank keep, with the row of the result."""
    pairs = _wanted(table, rank).items()
    return tuple(
        tuple((i, row) for (content, i), row in pairs if content == number)
        for number in range(len(table.contents))
    )


@lru_cache(maxsize=1024)
def _needs(table: RowTable, receiver: int, sender: int) -> tuple[CutId, ...]:
    """The cuts of the sender's rows that go into the receiver's sums."""
    return tuple(
        dict.fromkeys(
            (i, row)
            for number, i in _wanted(table, receiver)
            for row in table.contents[number]
            if row[0] == sender
        )
    )
