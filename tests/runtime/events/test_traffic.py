"""What collectives cost the fabric, against the closed forms."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_run.runtime.ccl.collectives import ALL_GATHER, ALL_REDUCE, REDUCE_SCATTER
from tt_run.runtime.ccl.record import Collective
from tt_run.runtime.ccl.single_shards import BROADCAST, POINT_TO_POINT
from tt_run.runtime.traffic import BOTH_NEIGHBOURS, EXCHANGE, Fabric, Pattern, borders, cut_anew, ring_order

fabrics = st.builds(
    Fabric, st.tuples(st.integers(1, 5), st.integers(1, 5)), st.tuples(st.booleans(), st.booleans())
)


@pytest.mark.parametrize("devices", [2, 4, 8])
@pytest.mark.parametrize(
    ("collective", "factor"),
    [
        (ALL_REDUCE, lambda n: Fraction(2 * (n - 1), n)),
        (REDUCE_SCATTER, lambda n: Fraction(n - 1, n)),
        (ALL_GATHER, lambda n: Fraction(n - 1)),
    ],
)
def test_each_device_of_a_ring_sends_what_the_textbook_says(
    collective: Collective, factor: object, devices: int
) -> None:
    sent: Counter[int] = Counter()
    for message in collective.traffic.messages(range(devices), 4096, Fabric((1, devices), (False, True))):
        sent[message.source] += message.size  # type: ignore[assignment]
    assert set(sent) == set(range(devices))
    assert set(sent.values()) == {4096 * factor(devices)}  # type: ignore[operator]


def test_a_broadcast_reaches_everyone_once_and_a_message_goes_straight() -> None:
    chain = BROADCAST.traffic.messages([0, 1, 2, 3], 10, Fabric((1, 4)))
    assert [(m.source, m.target, m.size) for m in chain] == [(0, 1, 10), (1, 2, 10), (2, 3, 10)]
    (one,) = POINT_TO_POINT.traffic.messages([6, 1], 10, Fabric((2, 4)))
    assert (one.source, one.target, one.count) == (6, 1, 1)


def test_a_device_alone_sends_nothing() -> None:
    assert ALL_REDUCE.traffic.messages([3], 10, Fabric((2, 4))) == []


def test_parts_for_all_others_and_halos_for_the_next_ones() -> None:
    parts = EXCHANGE.messages([0, 1, 2], 9, Fabric((1, 3)))
    assert {(m.source, m.target) for m in parts} == {(a, b) for a in range(3) for b in range(3) if a != b}
    assert {m.size for m in parts} == {3}
    halos = BOTH_NEIGHBOURS.messages([0, 1, 2], 9, Fabric((1, 3)))
    assert [(m.source, m.target, m.size) for m in halos] == [(0, 1, 9), (1, 0, 9), (1, 2, 9), (2, 1, 9)]


def test_borders_of_several_widths_and_rows_that_are_cut_anew() -> None:
    def sent(pattern: Pattern, size: int) -> list[tuple[int, int, int]]:
        return [(m.source, m.target, int(m.size)) for m in pattern.messages([0, 1, 2], size, Fabric((1, 3)))]

    assert sent(borders(2, 1), 9) == [(0, 1, 6), (1, 0, 3), (1, 2, 6), (2, 1, 3)]
    assert sent(borders(2, 0), 8) == [(0, 1, 8), (1, 2, 8)]
    assert sent(borders(0, 3), 6) == [(1, 0, 6), (2, 1, 6)]
    assert sent(borders(0, 0), 0) == []
    # Rows 0-3, 4-7 and 8-11 become 2-4, 5-7 and 8-10: only the row 4 moves.
    assert sent(cut_anew(4, 2, 3), 30) == [(1, 0, 10)]
    # Beyond the last row nobody sends anything.
    assert sent(cut_anew(2, 3, 2), 20) == [(1, 0, 10), (2, 0, 10), (2, 1, 10)]


@given(fabrics, st.data())
def test_a_route_is_a_shortest_walk_over_links(fabric: Fabric, data: st.DataObject) -> None:
    rows, columns = fabric.dims
    source, target = (data.draw(st.integers(0, rows * columns - 1)) for _ in range(2))
    route = fabric.route(source, target)
    here = source
    for a, b in route:
        assert a == here
        steps = [abs(x - y) for x, y in zip(divmod(a, columns), divmod(b, columns), strict=True)]
        assert sorted(steps) == [0, 1] or any(
            wraps and step == extent - 1
            for wraps, step, extent in zip(fabric.wraps, steps, fabric.dims, strict=True)
        )
        here = b
    assert here == target
    distance = 0
    for dim, (x, y) in enumerate(zip(divmod(source, columns), divmod(target, columns), strict=True)):
        apart = abs(x - y)
        distance += min(apart, fabric.dims[dim] - apart) if fabric.wraps[dim] else apart
    assert len(route) == distance


@given(st.integers(1, 6), st.integers(1, 6))
def test_the_ring_visits_each_device_once_and_closes_where_it_can(rows: int, columns: int) -> None:
    group = list(range(rows * columns))
    ring = ring_order(group, columns)
    assert sorted(ring) == group
    fabric = Fabric((rows, columns))
    steps = [len(fabric.route(a, b)) for a, b in zip(ring, [*ring[1:], ring[0]], strict=True)]
    if rows > 1 and columns > 1 and rows * columns % 2 == 0:
        assert set(steps) == {1}
    else:
        assert all(step <= 1 for step in steps[:-1])


def test_a_group_that_is_no_rectangle_keeps_its_order() -> None:
    assert ring_order([5, 0, 2], 4) == [5, 0, 2]
