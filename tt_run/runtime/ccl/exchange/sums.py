"""Sums over device groups: all-reduce and reduce-scatter, in device order for any split over ranks.

Every rank sums one slice of the elements over *all* devices, so the order of the additions never depends on who holds what; partial
sums per rank would be one message shorter and give other bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ccl.exchange.peer_memory import ROOM, STRETCHES, PeerMemory
from tt_run.runtime.ccl.exchange.shard_locations import RowId, RowTable, ShardRows
from tt_run.runtime.ccl.exchange.window import PIECE, Window
from tt_run.runtime.ccl.exchange.wire import Parcel
from tt_run.runtime.kernels.device_sums import Rounding, ordered_sum, slices, sum_block
from tt_run.runtime.values import recycled_arrays
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]
_LONG = 4096  # bytes that lie together from which on it pays to read them from another rank's memory
# A cut of the scattered dimension, of one row.
CutId = tuple[int, RowId]


def all_reduce(source: ShardRows, rounding: Rounding | None) -> Shards:
    """The sum over each group on every device of it."""
    table, me, dtype, stacks = source.table, source.rank, source.data.dtype, source.stacks
    if stacks is not None:
        total = np.empty(stacks[0].shape, dtype)
        sum_block(stacks, total, rounding)
        return Shards.unchecked(total, table.results[me])
    shape = (len(table.contents), *source.shape)
    if source.complete:
        rows, results = source.flat(), recycled_arrays.empty(shape, dtype)
        if table.in_order:
            ordered_sum(rows, results.reshape(-1), rounding)
        else:
            # As lines: the elements of a stack of numbers are copies, into which nothing can be summed.
            for numbers, result in zip(
                table.numbers, results.reshape(shape[0], math.prod(source.shape)), strict=True
            ):
                ordered_sum([rows[number] for number in numbers], result, rounding)
        return Shards.unchecked(results, table.results[me])
    shared = _sum_in_window(source, shape, rounding)
    if shared is not None:
        return Shards.unchecked(shared, table.results[me])
    results = recycled_arrays.empty(shape, dtype)
    flat = results.reshape(shape[0], -1)
    cuts = slices(flat.shape[1], source.wire.size)
    arrived = _swap_slices(source, cuts)
    for content, result in zip(table.contents, flat, strict=True):
        ordered_sum([arrived[row] for row in content], result[cuts[me]], rounding)
    _complete_slices(source, flat, cuts)
    return Shards.unchecked(results, table.results[me])


def _sum_in_window(source: ShardRows, shape: tuple[int, ...], rounding: Rounding | None) -> Array | None:
    """The sums in memory that the ranks share, each of which has added a slice of every piece; None where that is not possible."""
    table, me, window = source.table, source.rank, source.wire.window
    elements, dtype = math.prod(source.shape), source.data.dtype
    line = dtype.itemsize * max(table.counts)
    if window is None or PIECE // line < 64 * window.size or not window.can_show():
        return None
    step = max(window.piece(2) // line, 64 * window.size)
    peers = window.peers()
    shared = source.share(shape, dtype)
    if shared is None:
        return None
    if peers is not None:
        slice_ = slices(elements, window.size)[me]
        reading = _Reading(source, window, peers)
        for content, result in zip(
            table.contents, shared.writable.reshape(shape[0], 1, elements), strict=True
        ):
            reading.sum_up(content, elements, slice_.start, result[:, slice_], rounding)
        if window.all_have_read():
            return shared.array
    own = [source.mine(number).reshape(-1) for number in range(table.counts[me])]
    results = shared.writable.reshape(shape[0], -1)
    for start in range(0, elements, step):
        stop = min(start + step, elements)
        cuts = slices(stop - start, window.size)
        lengths = [cut.stop - cut.start for cut in cuts]
        first, last = start + cuts[me].start, start + cuts[me].stop
        # A rank shows what the others add: its rows without its own slice.
        shown = window.show((part for row in own for part in (row[start:first], row[last:stop])), dtype)
        for content, result in zip(table.contents, results, strict=True):
            rows = []
            for rank, number in content:
                if rank == me:
                    rows.append(own[number][first:last])
                else:
                    at = number * (stop - start - lengths[rank]) + cuts[me].start
                    at -= lengths[rank] if rank < me else 0
                    rows.append(shown[rank, at : at + last - first])
            ordered_sum(rows, result[first:last], rounding)
    window.meet()
    return shared.array


def _swap_slices(source: ShardRows, cuts: Sequence[slice]) -> Mapping[RowId, Array]:
    """Slice r of every row of every rank, on rank r."""
    me, counts = source.wire.rank, source.table.counts
    rows = [source.mine(number).reshape(-1) for number in range(counts[me])]
    sends: list[Parcel] = [
        (peer, row[cuts[peer]]) for peer in range(len(counts)) if peer != me for row in rows
    ]
    remote = source.table.remote(me)
    length = cuts[me].stop - cuts[me].start
    arrived = dict(zip(remote, recycled_arrays.empty((len(remote), length), source.data.dtype), strict=True))
    source.wire.swap(sends, [(row[0], array) for row, array in arrived.items()])
    return {**arrived, **{(me, number): row[cuts[me]] for number, row in enumerate(rows)}}


def _complete_slices(source: ShardRows, flat: Array, cuts: Sequence[slice]) -> None:
    """Give every rank the slices that the others summed."""
    me = source.wire.rank
    peers = [peer for peer in range(source.wire.size) if peer != me]
    sends: list[Parcel] = [(peer, result[cuts[me]]) for peer in peers for result in flat]
    source.wire.swap(sends, [(peer, result[cuts[peer]]) for peer in peers for result in flat])


def reduce_scatter(source: ShardRows, dim: int, rounding: Rounding | None) -> Shards:
    """Sum over each group; member i keeps slice i of `dim`. The dimension divides by the size of the group."""
    table, me, shape, stacks = source.table, source.rank, source.shape, source.stacks
    if stacks is not None:
        kept, cut = _own_cut(table, me, shape, dim)
        sums = np.empty(kept, source.data.dtype)
        sum_block([stack[cut] for stack in stacks], sums, rounding)
        return Shards.unchecked(sums, (0,))
    length = shape[dim] // len(source.exchange.groups[0])
    wanted = _wanted(table, me)
    results = recycled_arrays.empty((len(wanted), *shape[:dim], length, *shape[dim + 1 :]), source.data.dtype)
    if source.complete:
        _sum_whole(source, dim, results, rounding)
    else:
        _sum_cuts(source, dim, results, rounding)
    return Shards.unchecked(results, tuple(wanted[table.place[p]] for p in source.exchange.held[me]))


def _sum_whole(source: ShardRows, dim: int, results: Array, rounding: Rounding | None) -> None:
    """All rows are here: sum whole groups, which takes the fewest steps, and cut the sums."""
    table, rows, length = source.table, source.flat(), results.shape[1 + dim]
    total = recycled_arrays.empty(source.shape, source.data.dtype)
    for numbers, kept in zip(table.numbers, _kept(table, source.rank), strict=True):
        ordered_sum([rows[n] for n in numbers], total.reshape(-1), rounding)
        for i, row in kept:
            results[row] = total[_slice_of(dim, i, length)]


def _sum_cuts(source: ShardRows, dim: int, results: Array, rounding: Rounding | None) -> None:
    """Exchange the slices that each rank's devices keep, and sum those."""
    table, me, length = source.table, source.rank, results.shape[1 + dim]

    def cut(row: RowId, i: int) -> Array:
        # A view where the dimensions before `dim` are one: then nothing is copied before it is sent or added.
        return np.ascontiguousarray(source.row(row)[_slice_of(dim, i, length)])

    if _sum_cuts_in_place(source, dim, results, rounding) or _sum_cuts_in_window(
        source, dim, results, rounding
    ):
        return
    peers = [peer for peer in range(source.wire.size) if peer != me]
    sends: list[Parcel] = [(peer, cut(row, i)) for peer in peers for i, row in _needs(table, peer, me)]
    keys = [key for peer in peers for key in _needs(table, me, peer)]
    arrived = dict(
        zip(keys, recycled_arrays.empty((len(keys), *results.shape[1:]), source.data.dtype), strict=True)
    )
    source.wire.swap(sends, [(row[0], array) for (_, row), array in arrived.items()])
    for (number, i), result in zip(_wanted(table, me), results, strict=True):
        rows = [cut(row, i) if row[0] == me else arrived[i, row] for row in table.contents[number]]
        ordered_sum([row.reshape(-1) for row in rows], result.reshape(-1), rounding)


class _Reading:
    """Sums for which the ranks of a window read each other's rows where they lie: from a meeting on, until `window.all_have_read()`."""

    def __init__(self, source: ShardRows, window: Window, peers: PeerMemory) -> None:
        self._me, self._window, self._peers = source.rank, window, peers
        counts = source.table.counts
        self._rows = [source.mine(number) for number in range(counts[self._me])]
        self._places = window.places(self._rows, max(counts))
        self._dtype = source.data.dtype
        peers.failed = False

    def sum_up(
        self, rows: Sequence[RowId], stride: int, at: int, out: Array, rounding: Rounding | None
    ) -> None:
        """Sum, in the order of the rows, the elements from `at` of every `stride` ones of each into a matrix, a part that fits the cache at a time."""
        runs, run = out.shape
        size, me, peers = self._dtype.itemsize, self._me, self._peers
        most = max(ROOM // size // max(sum(rank != me for rank, _ in rows), 1), 1)
        columns = min(run, most)
        high = min(max(most // run, 1), runs, STRETCHES)
        room = peers.room.view(self._dtype)
        own = {number: array.reshape(-1, stride) for number, array in enumerate(self._rows)}
        for top in range(0, runs, high):
            count = min(high, runs - top)
            for left in range(0, run, columns):
                width, begin, used = min(columns, run - left), at + left, 0
                parts = []
                for rank, number in rows:
                    if rank == me:
                        parts.append(own[number][top : top + count, begin : begin + width])
                        continue
                    place = self._places[rank][number] + (top * stride + begin) * size
                    peers.read(rank, place, stride * size, count, width * size, used * size)
                    parts.append(room[used : used + count * width].reshape(count, width))
                    used += count * width
                sum_block(parts, out[top : top + count, left : left + width], rounding)


def _sum_cuts_in_place(source: ShardRows, dim: int, results: Array, rounding: Rounding | None) -> bool:
    """The same with the others' cuts read where they lie; False where that is not possible, or they lie in small pieces."""
    table, me, window, shape = source.table, source.rank, source.wire.window, source.shape
    inner = math.prod(shape[dim + 1 :])
    run = results.shape[1 + dim] * inner
    if window is None or run * source.data.itemsize < _LONG or not window.can_show():
        return False
    peers = window.peers()
    if peers is None:
        return False
    reading = _Reading(source, window, peers)
    for (number, i), result in zip(_wanted(table, me), results, strict=True):
        out = result.reshape(-1, run)
        reading.sum_up(table.contents[number], shape[dim] * inner, i * run, out, rounding)
    return window.all_have_read()


def _sum_cuts_in_window(source: ShardRows, dim: int, results: Array, rounding: Rounding | None) -> bool:
    """The same with cuts shown in memory that the ranks share; False where that is not possible."""
    table, me, window, shape = source.table, source.rank, source.wire.window, results.shape[1:]
    # Pieces run along the first dimension that has a length, so that they lie in one stretch of the result.
    axis = next((i for i, length in enumerate(shape) if length > 1), 0)
    shown_by = [_shown(table, rank) for rank in range(source.wire.size)]
    line = math.prod(shape[axis + 1 :])
    width = max(line * max(map(len, shown_by)) * source.data.itemsize, 1)
    if window is None or width > PIECE or not window.can_show():
        return False
    step = max(window.piece(4) // width, 1)

    def cut(key: CutId) -> Array:
        i, row = key
        return source.row(row)[_slice_of(dim, i, shape[dim])][(0,) * axis]

    mine = [cut(key) for key in shown_by[me]]
    sums = []
    for (number, i), result in zip(_wanted(table, me), results, strict=True):
        # What is added: an own cut, or the place of a cut that another rank shows.
        rows = [
            (me, 0, cut((i, row))) if row[0] == me else (row[0], shown_by[row[0]][i, row], None)
            for row in table.contents[number]
        ]
        sums.append((rows, result[(0,) * axis]))
    for start in range(0, shape[axis], step):
        stop = min(start + step, shape[axis])
        size = (stop - start) * line
        piece = (stop - start, *shape[axis + 1 :])
        shown = window.show([part[start:stop] for part in mine], source.data.dtype)
        for rows, result in sums:
            found = [
                shown[rank, at * size : (at + 1) * size].reshape(piece) if own is None else own[start:stop]
                for rank, at, own in rows
            ]
            sum_block(found, result[start:stop], rounding)
    return True


def _slice_of(dim: int, i: int, length: int, start: int = 0) -> tuple[slice, ...]:
    return (*(slice(None),) * dim, slice(start + i * length, start + (i + 1) * length))


@lru_cache(maxsize=1024)
def _own_cut(
    table: RowTable, rank: int, shape: tuple[int, ...], dim: int
) -> tuple[tuple[int, ...], tuple[slice, ...]]:
    """Where each rank holds one device: the shape of what this one keeps, and where that lies in a stack of one row."""
    members = len(table.exchange.groups[0])
    length, i = shape[dim] // members, table.place[table.exchange.held[rank][0]][1]
    return (1, *shape[:dim], length, *shape[dim + 1 :]), _slice_of(dim + 1, i, length)


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


@lru_cache(maxsize=1024)
def _shown(table: RowTable, sender: int) -> dict[CutId, int]:
    """The cuts of a rank's rows that go into sums of any other rank, numbered."""
    receivers = [rank for rank in range(len(table.counts)) if rank != sender]
    return {
        cut: i for i, cut in enumerate(dict.fromkeys(c for r in receivers for c in _needs(table, r, sender)))
    }
