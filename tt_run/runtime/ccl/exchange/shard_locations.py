"""Where each device's shard is: the distinct rows that the ranks of an exchange hold, and how all of them learn it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mgd.lean import dataclass, replace
from tt_run.runtime.ccl.exchange.groups import Exchange
from tt_run.runtime.ccl.exchange.window import BODY, HEADER, Result, Slots, Window
from tt_run.runtime.ccl.exchange.wire import Parcel, Wire
from tt_run.runtime.errors import fatal
from tt_run.runtime.values import recycled_arrays

Array = npt.NDArray[Any]
# (number of the rank in the exchange, number of the row among those that the rank contributes)
RowId = tuple[int, int]
Content = tuple[RowId, ...]

# Up to this many bytes per exchange, all shards travel in one message together with the table. Two ranks and more take part: what is
# small fits a slot of each.
SMALL = 2 * BODY


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
                hint="distribute over all devices of the mesh, or open a submesh of those that hold it: mesh_device.create_submesh",
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
    def in_order(self) -> bool:
        """Whether there is one content, of all rows one after the other."""
        return self.numbers == (tuple(range(len(self.exchange.ranks) * self.exchange.width)),)

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


def agreed_table(own: tuple[int, ...], exchange: Exchange, wire: Wire) -> RowTable:
    """The table of an exchange whose rows stay where they are; the ranks tell each other which devices hold one.

    Raises RuntimeError on every rank where a device holds none.
    """
    if exchange.local:
        return row_table(exchange, (own,))
    return row_table(exchange, _share_rows(renumbered(own)[0], exchange, wire))


@dataclass(slots=True, eq=False)
class Outline:
    """What is known of the exchange of shards without looking into them.

    `rows` numbers the rows of the own devices, `used` says where in the stack they are; `small` whether all rows travel at once; `table`
    is None while the others' rows are unknown; `slots` are those of the window; `standing` the sources over either slot, made once,
    where nothing but the rows has to be shown. `window` is the one that the outline was made for, and `shared` how many bytes of its
    result all ranks kept together the last time.
    """

    shape: tuple[int, ...]
    rows: tuple[int, ...]
    used: tuple[int, ...]
    small: bool
    table: RowTable | None
    slots: tuple[Slots, Slots] | None
    window: Window | None
    standing: tuple[ShardRows, ShardRows] | None = None
    shared: int = 0


def outline_of(
    own: tuple[int, ...], shape: tuple[int, ...], dtype: np.dtype[Any], exchange: Exchange, wire: Wire
) -> Outline:
    """The outline of shards of `shape`, of which the own devices hold the rows `own`."""
    if exchange.local:
        return Outline(shape, own, (), False, row_table(exchange, (own,)), None, wire.window)
    rows, used = renumbered(own)
    width, table = exchange.width, None
    body = width * math.prod(shape) * dtype.itemsize
    small = body * len(exchange.ranks) <= SMALL
    if width == 1:
        # One device per rank: everybody knows the table, unless there is no shard to talk of.
        known = exchange.first_rows
        if rows[0] < 0:
            known = (*known[: wire.rank], rows, *known[wire.rank + 1 :])
        table = row_table(exchange, known)
    window = wire.window
    if window is None or 4 * width > HEADER or (table is not None and not small):
        return Outline(shape, rows, used, small, table, None, window)
    slots = window.slots(width, shape if small else (0,), dtype)
    found = Outline(shape, rows, used, small, table, slots, window)
    if table is None:
        return found
    first, second = (ShardRows.over(slot, found, exchange, wire) for slot in slots)
    return replace(found, standing=(first, second))


class ShardRows:
    """The shards of one exchange: this rank's own rows, and those of the other ranks as they arrive.

    `data` is the rank's stack (rows, *shape). Making it shows the others
    what they can see without a message; `join` is for when they are known to take part.
    """

    __slots__ = (
        "_arrived",
        "_outline",
        "_slots",
        "complete",
        "data",
        "exchange",
        "rank",
        "shape",
        "stacks",
        "standing",
        "table",
        "wire",
    )

    table: RowTable

    def __init__(
        self,
        data: Array,
        outline: Outline,
        exchange: Exchange,
        wire: Wire,
    ) -> None:
        self.data, self.wire, self.exchange, self._outline = data, wire, exchange, outline
        self.shape, self.rank = outline.shape, wire.rank
        # Whether every row is at hand without further messages.
        self.complete = exchange.local
        self._arrived: Array | None = None
        self._slots: Slots | None = None
        # The rows of the only content as stacks of one, where that is known before.
        self.stacks: list[Array] | None = None
        # Whether it is used again and again, and there is nothing to learn once the ranks have met.
        self.standing = False
        if outline.table is not None:
            self.table = outline.table
        if outline.slots is not None:
            self._show(outline)

    @classmethod
    def of(cls, data: Array, own: tuple[int, ...], exchange: Exchange, wire: Wire) -> ShardRows:
        """Rows of which nothing is known before: `own[i]` is that of this rank's device `exchange.held[wire.rank][i]`."""
        return cls(data, outline_of(own, data.shape[1:], data.dtype, exchange, wire), exchange, wire)

    @classmethod
    def over(cls, slots: Slots, outline: Outline, exchange: Exchange, wire: Wire) -> ShardRows:
        """A source that is used again and again: `data` is the own slot, and joined when the ranks have met."""
        made = cls(slots.body, replace(outline, slots=None), exchange, wire)
        made._slots, made.complete, made.standing = slots, True, True
        made.stacks = list(slots.bodies) if made.table.in_order else None
        return made

    def _show(self, outline: Outline) -> None:
        """Write what the others see after the next meeting."""
        assert outline.slots is not None and self.wire.window is not None
        self._slots = slots = outline.slots[self.wire.window.next_slot()]
        if outline.table is None:
            slots.head[:] = -1
            slots.head[: len(outline.rows)] = outline.rows
        if not outline.small:
            return
        if len(outline.used) == len(self.data) == 1:
            slots.body[...] = self.data
        else:
            for place, number in enumerate(outline.used):
                slots.body[place] = self.data[number]

    def join(self, met: bool = False) -> ShardRows:
        """Learn the table, and the rows when they are small. `met` says that all ranks have met since it was made."""
        slots, outline = self._slots, self._outline
        if slots is not None:
            if not met:
                assert self.wire.window is not None
                self.wire.window.meet()
            if outline.table is None:
                self.table = _seen_table(slots.heads.tobytes(), self.exchange)
            self.complete = outline.small
        elif not self.exchange.local and (outline.table is None or outline.small or self.wire.window is None):
            self.complete = outline.small
            self.wire.open()
            self._ask()
        return self

    def _ask(self) -> None:
        """Learn by messages."""
        exchange, wire, rows, small = self.exchange, self.wire, self._outline.rows, self._outline.small
        if exchange.width > 1:
            if small:
                self._share_all(rows)
            else:
                self.table = row_table(exchange, _share_rows(rows, exchange, wire))
        elif small:
            self._arrived = np.empty((wire.size, 1, *self.shape), self.data.dtype)
            wire.allgather(self.mine(0), self._arrived)

    def share(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Result | None:
        """An array for the result that all ranks of the exchange see, or None where there is none. Every rank calls it."""
        window = self.wire.window
        found = None if window is None else window.share(shape, dtype)
        if found is not None:
            self._outline.shared = found.array.nbytes
        return found

    def mine(self, number: int) -> Array:
        """A contiguous row of this rank."""
        return np.ascontiguousarray(self.data[self._outline.used[number]])

    @property
    def bodies(self) -> Array:
        """The rows of all ranks as one array (ranks, rows, *shape); only where there are `stacks`."""
        assert self._slots is not None
        return self._slots.bodies

    def row(self, row: RowId) -> Array:
        """A row that is at hand."""
        rank, number = row
        array: Array
        if self.complete and self._slots is not None:
            array = self._slots.bodies[rank, number]
        elif self._arrived is not None:
            array = self._arrived[rank, number]
        else:
            array = self.data[number if self.exchange.local else self._outline.used[number]]
        return array

    def flat(self) -> Sequence[Array] | Array:
        """All rows, each as a line of elements, numbered as in `RowTable.numbers`; only when `complete`."""
        if self._slots is not None:
            return self._slots.rows
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
            # Slots are written again while the caller still holds the rows.
            return {row: self.row(row) if self._slots is None else self.row(row).copy() for row in found}
        remote = self.table.remote(self.wire.rank)
        received = dict(
            zip(remote, recycled_arrays.empty((len(remote), *self.shape), self.data.dtype), strict=True)
        )
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
        for place, number in enumerate(self._outline.used):
            body[place] = data[number]
        recv = np.empty((self.wire.size, send.size), np.uint8)
        self.wire.allgather(send, recv)
        self.table = row_table(
            exchange, _cut(np.ascontiguousarray(recv[:, : 4 * width]).view(np.int32), exchange)
        )
        stacks = recv[:, header : header + body_bytes].view(data.dtype)
        self._arrived = stacks.reshape(self.wire.size, width, *self.shape)


@lru_cache(maxsize=1024)
def _seen_table(heads: bytes, exchange: Exchange) -> RowTable:
    """The table that the heads of the slots say."""
    return row_table(exchange, _cut(np.frombuffer(heads, np.int32).reshape(-1, exchange.width), exchange))


def _share_rows(rows: tuple[int, ...], exchange: Exchange, wire: Wire) -> tuple[tuple[int, ...], ...]:
    """Tell everybody which rows the own devices hold."""
    send = np.full(exchange.width, -1, np.int32)
    send[: len(rows)] = rows
    recv = np.empty((wire.size, exchange.width), np.int32)
    wire.allgather(send, recv)
    return _cut(recv, exchange)


def _cut(table: Array, exchange: Exchange) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(row[: len(held)]) for row, held in zip(table.tolist(), exchange.held, strict=True))
