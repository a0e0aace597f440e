"""Where each device's shard is: the distinct rows that the ranks of an exchange hold, and how all of them learn it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ccl import buffers
from tt_run.runtime.ccl.groups import Exchange
from tt_run.runtime.ccl.wire import Parcel, Wire

Array = npt.NDArray[Any]
# (number of the rank in the exchange, row of that rank's stack)
RowId = tuple[int, int]
Content = tuple[RowId, ...]

# Up to this many bytes per exchange, all shards travel in one message together with the table.
SMALL = 64 * 1024


class NoShard(RuntimeError):
    """A device that takes part in a collective holds no shard."""


@dataclass(frozen=True)
class RowTable:
    """`rows[r][i]` is the row of rank r's stack that its device `exchange.held[r][i]` holds."""

    exchange: Exchange
    rows: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        empty = [p for held, rows in self._pairs() for p, row in zip(held, rows, strict=True) if row < 0]
        if empty:
            raise NoShard(
                f"the devices at positions {sorted(empty)} hold no shard of the tensor: it was distributed over fewer devices "
                "than take part in the collective"
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
    def used(self) -> tuple[tuple[int, ...], ...]:
        """The distinct rows that each rank contributes."""
        return tuple(tuple(sorted(set(rows))) for rows in self.rows)

    @cached_property
    def place(self) -> Mapping[int, tuple[int, int]]:
        """For each position: the number of its group's content, and its own number in the group."""
        numbers = {content: i for i, content in enumerate(self.contents)}
        return {
            position: (numbers[content], i)
            for group, content in zip(self.exchange.groups, self.of_group, strict=True)
            for i, position in enumerate(group)
        }


@lru_cache(maxsize=1024)
def row_table(exchange: Exchange, rows: tuple[tuple[int, ...], ...]) -> RowTable:
    """The table, remembered: programs repeat the same collectives."""
    return RowTable(exchange, rows)


class Source:
    """The shards of one exchange: this rank's own stack, and those of the other ranks as they arrive.

    `data` is the rank's stack (rows, *shape); `own[i]` the row of its device `exchange.held[wire.rank][i]`.
    """

    def __init__(self, data: Array, own: tuple[int, ...], exchange: Exchange, wire: Wire) -> None:
        self.data, self.wire, self.exchange = data, wire, exchange
        self.shape = data.shape[1:]
        self._arrived: Array | None = None
        if exchange.local:
            self.table = row_table(exchange, (own,))
        elif len(exchange.ranks) * max(map(len, exchange.held)) * self.shard_bytes <= SMALL:
            self.table, self._arrived = _share_all(data, own, exchange, wire)
        else:
            self.table = row_table(exchange, _share_rows(own, exchange, wire))

    @property
    def shard_bytes(self) -> int:
        """Bytes of one shard as it is stored."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.data.itemsize

    @property
    def complete(self) -> bool:
        """Whether every row is at hand without further messages."""
        return self.exchange.local or self._arrived is not None

    def row(self, row: RowId) -> Array:
        """A row that is at hand."""
        rank, number = row
        array: Array = self.data[number] if self._arrived is None else self._arrived[rank, number]
        return array

    def fetch(self, into: Mapping[RowId, Array]) -> None:
        """Give every other rank this rank's rows, and receive theirs into the contiguous arrays of `into`.

        Every rank of the exchange calls it once; `into` names each used row of each other rank.
        """
        me = self.wire.rank
        if self.complete:
            for row, array in into.items():
                np.copyto(array, self.row(row))
            return
        rows = [np.ascontiguousarray(self.data[number]) for number in self.table.used[me]]
        peers = [peer for peer in range(self.wire.size) if peer != me]
        sends: list[Parcel] = [(peer, row) for row in rows for peer in peers]
        self.wire.swap(sends, [(rank, into[rank, number]) for rank, number in sorted(into)])

    def everything(self) -> Mapping[RowId, Array]:
        """Every used row of every rank: own rows as views, others received."""
        found = {(rank, number): None for rank, used in enumerate(self.table.used) for number in used}
        if self.complete:
            return {row: self.row(row) for row in found}
        remote = [row for row in found if row[0] != self.wire.rank]
        received = dict(zip(remote, buffers.empty((len(remote), *self.shape), self.data.dtype), strict=True))
        self.fetch(received)
        return {row: received[row] if row in received else self.row(row) for row in found}


def _share_rows(own: tuple[int, ...], exchange: Exchange, wire: Wire) -> tuple[tuple[int, ...], ...]:
    """Tell everybody which rows the own devices hold."""
    width = max(map(len, exchange.held))
    send = np.full(width, -1, np.int32)
    send[: len(own)] = own
    recv = np.empty((wire.size, width), np.int32)
    wire.allgather(send, recv)
    return _cut(recv, exchange)


def _share_all(data: Array, own: tuple[int, ...], exchange: Exchange, wire: Wire) -> tuple[RowTable, Array]:
    """One message with the table and the rows themselves, numbered in order of first use. Returns (ranks, rows, *shape)."""
    width, shape = max(map(len, exchange.held)), data.shape[1:]
    used = {number: place for place, number in enumerate(dict.fromkeys(n for n in own if n >= 0))}
    header = -(-4 * width // 8) * 8
    body_bytes = width * int(np.prod(shape, dtype=np.int64)) * data.itemsize
    send = np.zeros(header + -(-body_bytes // 8) * 8, np.uint8)
    send[: 4 * width].view(np.int32)[:] = -1
    send[: 4 * len(own)].view(np.int32)[:] = [used.get(number, -1) for number in own]
    body = send[header : header + body_bytes].view(data.dtype).reshape(width, *shape)
    for number, place in used.items():
        body[place] = data[number]
    recv = np.empty((wire.size, send.size), np.uint8)
    wire.allgather(send, recv)
    tables = np.ascontiguousarray(recv[:, : 4 * width]).view(np.int32)
    stacks = recv[:, header : header + body_bytes].view(data.dtype)
    return row_table(exchange, _cut(tables, exchange)), stacks.reshape(wire.size, width, *shape)


def _cut(table: Array, exchange: Exchange) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(row[: len(held)]) for row, held in zip(table.tolist(), exchange.held, strict=True))
