"""Where each device's shard is: the distinct rows that the ranks of an exchange hold, and how all of them learn it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ccl import buffers
from tt_run.runtime.ccl.groups import Exchange
from tt_run.runtime.ccl.wire import Parcel, Wire
from tt_run.runtime.errors import fatal

Array = npt.NDArray[Any]
# (number of the rank in the exchange, number of the row among those that the rank contributes)
RowId = tuple[int, int]
Content = tuple[RowId, ...]

# Up to this many bytes per exchange, all shards travel in one message together with the table.
SMALL = 64 * 1024


@dataclass(frozen=True, eq=False)
class RowTable:
    """`rows[r][i]` numbers the row that device `exchange.held[r][i]` of rank r holds, -1 for none.

    Between ranks the numbers follow first use; inside one they are those of its stack. `row_table` makes each table once, so that it can be a key by identity.
    """

    exchange: Exchange
    rows: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        empty = [p for held, rows in self._pairs() for p, row in zip(held, rows, strict=True) if row < 0]
        if empty:
            raise fatal(
                f"the devices at positions {sorted(empty)} hold no shard of the tensor: it was distributed over fewer devices "
                "than take part in the collective",
                "every device of the group holds a shard",
            )

    def _pairs(self) -> zip[tuple[tuple[int, ...], tuple[int, ...]]]:
        return zip(self.exchange.held, self.rows, strict=True)

    @cached_property
    def at(self) -> Mapping[int, RowId]:
        """The row of each position."""
        return {
            position: (rank, row)
            for rank, (held, rows) in enumerate(self._pairs())
            for position, row in zip(held, rows, strict=True)
        }

    @cached_property
    def contents(self) -> tuple[Content, ...]:
        """The distinct sequences of rows among the groups, in order of first appearance."""
        return tuple(dict.fromkeys(self.of_group))

    @cached_property
    def of_group(self) -> tuple[Content, ...]:
        """The rows of each group's members."""
        return tuple(tuple(self.at[p] for p in group) for group in self.exchange.groups)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """How many distinct rows each rank contributes, between ranks."""
        return tuple(1 + max(rows) for rows in self.rows)

    @cached_property
    def place(self) -> Mapping[int, tuple[int, int]]:
        """For each position: the number of its group's content, and its own number in the group."""
        numbers = {content: i for i, content in enumerate(self.contents)}
        return {
            position: (numbers[content], i)
            for group, content in zip(self.exchange.groups, self.of_group, strict=True)
            for i, position in enumerate(group)
        }

    @cached_property
    def results(self) -> tuple[tuple[int, ...], ...]:
        """For each rank: the content that each of its positions gets."""
        return tuple(tuple(self.place[p][0] for p in held) for held in self.exchange.held)

    @cached_property
    def numbers(self) -> tuple[tuple[int, ...], ...]:
        """The contents as numbers of rows when every rank's rows are stacked, `exchange.width` places for each rank."""
        width = self.exchange.width
        return tuple(tuple(rank * width + row for rank, row in content) for content in self.contents)

    def remote(self, rank: int) -> list[RowId]:
        """All rows of the other ranks, by rank and number."""
        return [(peer, n) for peer, count in enumerate(self.counts) if peer != rank for n in range(count)]


@lru_cache(maxsize=1024)
def row_table(exchange: Exchange, rows: tuple[tuple[int, ...], ...]) -> RowTable:
    """The table, remembered: programs repeat the same collectives."""
    return RowTable(exchange, rows)


@lru_cache(maxsize=1024)
def renumbered(own: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Rows of a stack in order of first use: the new numbers, and the stack's row behind each."""
    used = {number: place for place, number in enumerate(dict.fromkeys(n for n in own if n >= 0))}
    return tuple(used.get(number, -1) for number in own), tuple(used)


class Source:
    """The shards of one exchange: this rank's own rows, and those of the other ranks as they arrive.

    `data` is the rank's stack (rows, *shape); `own[i]` the row of its device `exchange.held[wire.rank][i]`.
    """

    __slots__ = ("_arrived", "_used", "complete", "data", "exchange", "rank", "shape", "table", "wire")

    def __init__(self, data: Array, own: tuple[int, ...], exchange: Exchange, wire: Wire) -> None:
        self.data, self.wire, self.exchange = data, wire, exchange
        self.shape, self.rank = data.shape[1:], wire.rank
        # Whether every row is at hand without further messages.
        self.complete = exchange.local
        self._arrived: Array | None = None
        if exchange.local:
            self.table = row_table(exchange, (own,))
            return
        rows, self._used = renumbered(own)
        ranks, width = len(exchange.ranks), exchange.width
        small = ranks * width * math.prod(self.shape) * data.itemsize <= SMALL
        if width == 1:
            # One device per rank: everybody knows the table, unless there is no shard to talk of.
            table = exchange.first_rows
            if rows[0] < 0:
                table = (*table[: self.rank], rows, *table[self.rank + 1 :])
            self.table = row_table(exchange, table)
            if small:
                self.complete = True
                self._arrived = np.empty((ranks, 1, *self.shape), data.dtype)
                wire.allgather(self.mine(0), self._arrived)
        elif small:
            self.complete = True
            self._share_all(rows)
        else:
            self.table = row_table(exchange, _share_rows(rows, exchange, wire))

    def mine(self, number: int) -> Array:
        """A contiguous row of this rank."""
        return np.ascontiguousarray(self.data[self._used[number]])

    def row(self, row: RowId) -> Array:
        """A row that is at hand."""
        rank, number = row
        array: Array
        if self._arrived is not None:
            array = self._arrived[rank, number]
        else:
            array = self.data[number if self.exchange.local else self._used[number]]
        return array

    def flat(self) -> Array:
        """All rows as one array (rows, elements), numbered as in `RowTable.numbers`; only when `complete`."""
        if self._arrived is None:
            return self.data.reshape(len(self.data), -1)
        return self._arrived.reshape(self._arrived.shape[0] * self._arrived.shape[1], -1)

    def fetch(self, into: Mapping[RowId, Array], meanwhile: Callable[[], None] | None = None) -> None:
        """Give every other rank this rank's rows, and receive theirs into the contiguous arrays of `into`.

        Every rank of the exchange calls it once; `into` names all rows of the other ranks. `meanwhile` runs while data moves.
        """
        if self.complete:
            for row, array in into.items():
                np.copyto(array, self.row(row))
            if meanwhile is not None:
                meanwhile()
            return
        me = self.wire.rank
        rows = [self.mine(number) for number in range(self.table.counts[me])]
        sends: list[Parcel] = [(peer, row) for row in rows for peer in range(self.wire.size) if peer != me]
        self.wire.swap(sends, [(row[0], into[row]) for row in sorted(into)], meanwhile)

    def everything(self) -> Mapping[RowId, Array]:
        """Every row of every rank: own rows as views, others received."""
        found = dict.fromkeys(row for content in self.table.contents for row in content)
        if self.complete:
            return {row: self.row(row) for row in found}
        remote = self.table.remote(self.wire.rank)
        received = dict(zip(remote, buffers.empty((len(remote), *self.shape), self.data.dtype), strict=True))
        self.fetch(received)
        return {row: received[row] if row in received else self.row(row) for row in found}

    def _share_all(self, rows: tuple[int, ...]) -> None:
        """One message with the table and the rows themselves: (ranks, rows, *shape) arrive."""
        exchange, data, width = self.exchange, self.data, self.exchange.width
        header = -(-4 * width // 8) * 8
        body_bytes = width * math.prod(self.shape) * data.itemsize
        send = np.zeros(header + -(-body_bytes // 8) * 8, np.uint8)
        send[: 4 * width].view(np.int32)[:] = [*rows, *[-1] * (width - len(rows))]
        body = send[header : header + body_bytes].view(data.dtype).reshape(width, *self.shape)
        for place, number in enumerate(self._used):
            body[place] = data[number]
        recv = np.empty((self.wire.size, send.size), np.uint8)
        self.wire.allgather(send, recv)
        self.table = row_table(
            exchange, _cut(np.ascontiguousarray(recv[:, : 4 * width]).view(np.int32), exchange)
        )
        stacks = recv[:, header : header + body_bytes].view(data.dtype)
        self._arrived = stacks.reshape(self.wire.size, width, *self.shape)


def _share_rows(rows: tuple[int, ...], exchange: Exchange, wire: Wire) -> tuple[tuple[int, ...], ...]:
    """Tell everybody which rows the own devices hold."""
    send = np.full(exchange.width, -1, np.int32)
    send[: len(rows)] = rows
    recv = np.empty((wire.size, exchange.width), np.int32)
    wire.allgather(send, recv)
    return _cut(recv, exchange)


def _cut(table: Array, exchange: Exchange) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(row[: len(held)]) for row, held in zip(table.tolist(), exchange.held, strict=True))
