"""What is known of an exchange of shards before its data: whether they travel at once, in which memory, and who has to ask."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.runtime.ccl.fakes import Switch, on_threads
from tests.runtime.ccl.reference import device_groups
from tt_run.runtime.ccl.exchange.groups import exchanges
from tt_run.runtime.ccl.exchange.shard_locations import ShardRows, agreed_table, outline_of, renumbered
from tt_run.runtime.ccl.exchange.window import BODY, HEADER, Slots
from tt_run.runtime.ccl.exchange.wire import Alone

BYTE = np.dtype(np.uint8)


def of(owners):
    return exchanges(device_groups((1, len(owners)), None), owners)[0]


class Window:
    """Two slots of every rank, as rows of nothing."""

    rank = 0

    def __init__(self, ranks):
        self.ranks = ranks
        self.asked = []

    def slots(self, width, shape, dtype):
        self.asked.append((width, shape))
        bodies = np.zeros((self.ranks, width, *shape), dtype)
        heads = np.zeros((self.ranks, width), np.int32)
        slots = Slots(heads, heads[0], bodies, bodies[0], list(bodies.reshape(self.ranks * width, -1)))
        return slots, slots

    def next_slot(self):
        return 0

    def meet(self):
        pass


def wire(exchange, window=None):
    return SimpleNamespace(rank=0, size=len(exchange.ranks), window=window, same_host=True)


@pytest.mark.parametrize(
    ("owners", "size", "small"),
    [
        ((0, 1), BODY, True),
        ((0, 1), BODY + 1, False),
        ((0, 0, 1), BODY // 2, True),
        ((0, 0, 1), BODY // 2 + 1, False),
        ((0, 1, 2, 3), BODY // 2, True),
        ((0, 1, 2, 3), BODY // 2 + 1, False),
    ],
)
def test_what_is_small_fits_a_slot_of_each_rank_and_one_message(owners, size, small):
    exchange = of(owners)
    assert outline_of((0,) * exchange.width, (size,), BYTE, exchange, wire(exchange)).small is small


@pytest.mark.parametrize(
    ("owners", "size", "asked", "table", "standing"),
    [
        # One device each: everybody knows the table, and rows that are large need no slot.
        ((0, 1), 8, (1, (8,)), True, True),
        ((0, 1), BODY + 1, None, True, False),
        # Several: the table is written into the slots, with the rows where they are small.
        ((0, 0, 1), 8, (2, (8,)), False, False),
        ((0, 0, 1), BODY, (2, (0,)), False, False),
        # As many devices as the head of a slot has room for, and one more.
        ((0,) * (HEADER // 4) + (1,), BODY, (HEADER // 4, (0,)), False, False),
        ((0,) * (HEADER // 4 + 1) + (1,), BODY, None, False, False),
    ],
)
def test_slots_take_the_table_and_what_is_small(owners, size, asked, table, standing):
    exchange = of(owners)
    window = Window(2)
    found = outline_of(tuple(range(exchange.width)), (size,), BYTE, exchange, wire(exchange, window))
    assert window.asked == ([] if asked is None else [asked])
    assert (found.slots is None, found.table is None, found.standing is None) == (
        asked is None,
        not table,
        not standing,
    )
    assert found.window is window
    for rows in found.standing or ():
        assert (rows.complete, rows.standing) == (
            True,
            True,
        )  # once the ranks have met, there is nothing to ask


def test_a_rank_alone_has_its_table_and_no_slots():
    exchange = of((0, 0))
    found = outline_of((0, 1), (8,), BYTE, exchange, Alone())
    assert (found.small, found.used, found.slots, found.standing) == (False, (), None, None)
    assert found.table is agreed_table((0, 1), exchange, Alone())


@pytest.mark.parametrize(
    ("own", "rows", "used"),
    [((3, 1, 3), (0, 1, 0), (3, 1)), ((-1, 2), (-1, 0), (2,)), ((0, 0), (0, 0), (0,)), ((-1,), (-1,), ())],
)
def test_rows_are_numbered_in_order_of_first_use(own, rows, used):
    assert renumbered(own) == (rows, used)


@pytest.mark.parametrize(
    ("owners", "length", "sent"),
    [
        ((0, 1), 3, [[12, 12]]),  # one device each: the rows alone
        ((0, 1), BODY, [[], []]),  # and what is large is asked for by those that need it
        ((0, 0, 1), 3, [[8 + 24, 8 + 24]]),  # several: a table of eight bytes before them
        ((0, 0, 1), BODY, [[8, 8]]),  # and the table alone
        ((0, 0, 0, 1), 1, [[16 + 16, 16 + 16]]),  # both end at a whole word
    ],
)
def test_one_message_tells_the_table_and_what_is_small(owners, length, sent):
    exchange = of(owners)
    switch, opened, messages = Switch(2), [], []

    def rank(number):
        end = switch.wire(number)
        gather = end.allgather
        end.allgather = lambda send, recv: messages.append(send.nbytes) or gather(send, recv)
        end.open = lambda: opened.append(number)
        held = len(exchange.held[number])
        stack = np.arange(held, dtype=np.float32)[:, None].repeat(length, 1) + 10 * number
        return ShardRows.of(stack, tuple(range(held)), exchange, end).join()

    found = on_threads([lambda number=number: rank(number) for number in range(2)])
    assert sorted(opened) == [0, 1]  # each makes the memory that they share from the next exchange on
    assert messages == (sent[0] if len(sent) == 1 else [])
    for source in found:
        assert source.complete is (length * 4 * exchange.width <= BODY)
        assert source.table.counts == tuple(len(held) for held in exchange.held)
        if source.complete:
            for place, row in source.table.at.items():
                first = place - exchange.held[row[0]][0]
                assert source.row(row).tolist() == [10 * row[0] + first] * length


def test_without_values_ranks_tell_each_other_which_devices_hold_a_row():
    exchange = of((0, 0, 1))
    switch = Switch(2)
    tables = on_threads(
        [
            lambda rank=rank, own=own: agreed_table(own, exchange, switch.wire(rank))
            for rank, own in enumerate([(5, 5), (2,)])
        ]
    )
    assert [table.rows for table in tables] == [((0, 0), (0,))] * 2
    assert tables[0] is tables[1]
