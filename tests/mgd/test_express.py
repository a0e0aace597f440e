"""The chords of express links, pair by pair."""

from __future__ import annotations

import pytest

from mgd.descriptor import ExpressLink, ExpressPattern, TorusTopologyType
from mgd.expanding.express import express_links

LINE, RING = TorusTopologyType.LINE, TorusTopologyType.RING
OPEN, CLOSED = (False, False), (True, True)


def entry(along: int, step: int, start: int = 0, wrap: TorusTopologyType | None = None) -> ExpressLink:
    return ExpressLink(along, ExpressPattern(start, step), *([] if wrap is None else [wrap]))


@pytest.mark.parametrize(
    ("dims", "wraps", "entries", "pairs"),
    [
        # Along the columns of three: 0 with 9, 1 with 10, 2 with 11.
        ((4, 3), OPEN, [entry(0, 4)], {(0, 9): 1, (1, 10): 1, (2, 11): 1}),
        ((3, 4), OPEN, [entry(1, 4)], {(0, 3): 1, (4, 7): 1, (8, 11): 1}),
        # Two blocks in each line.
        ((6, 2), OPEN, [entry(0, 3)], {(0, 4): 1, (1, 5): 1, (6, 10): 1, (7, 11): 1}),
        ((1, 6), OPEN, [entry(1, 3)], {(0, 2): 1, (3, 5): 1}),
        # Two devices are neighbours in the grid already.
        ((1, 6), OPEN, [entry(1, 2)], {}),
        # A line of six closes nowhere: the block that begins at 4 would end behind it.
        ((1, 6), OPEN, [entry(1, 3, start=1)], {(1, 3): 1}),
        ((1, 6), CLOSED, [entry(1, 3, start=1)], {(1, 3): 1, (0, 4): 1}),
        ((1, 6), OPEN, [entry(1, 3, start=1, wrap=RING)], {(1, 3): 1, (0, 4): 1}),
        ((1, 6), CLOSED, [entry(1, 3, start=1, wrap=LINE)], {(1, 3): 1}),
        # Only the remainder of the start counts.
        ((1, 6), OPEN, [entry(1, 3, start=7)], {(1, 3): 1}),
        # In a ring the ends of a whole line are neighbours; behind such a block another begins.
        ((1, 4), CLOSED, [entry(1, 4)], {}),
        ((1, 4), OPEN, [entry(1, 4)], {(0, 3): 1}),
        ((4, 1), (True, False), [entry(0, 4)], {}),
        ((4, 1), (False, True), [entry(0, 4)], {(0, 3): 1}),
        # Blocks of neighbours beside one that goes over the end.
        ((1, 8), CLOSED, [entry(1, 2, start=7), entry(1, 4, start=6)], {(2, 5): 1, (1, 6): 1}),
        # Behind blocks of neighbours one that closes a line.
        ((1, 8), OPEN, [entry(1, 2, start=1, wrap=RING)], {(0, 7): 1}),
        # Given twice, two channels.
        ((1, 4), OPEN, [entry(1, 4), entry(1, 4)], {(0, 3): 2}),
    ],
)  # fmt: skip
def test_the_chords_of_a_mesh(
    dims: tuple[int, int],
    wraps: tuple[bool, bool],
    entries: list[ExpressLink],
    pairs: dict[tuple[int, int], int],
) -> None:
    found = express_links(dims, wraps, entries)
    assert {(each.a, each.b): each.channels for each in found} == pairs
    assert [(each.a, each.b) for each in found] == sorted(pairs) and {each.direction for each in found} <= {
        "Z"
    }
