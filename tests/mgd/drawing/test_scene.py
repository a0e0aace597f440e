"""Places: every box has one, no way crosses a box, the shape of a graph shows in its rows."""

from __future__ import annotations

import itertools
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mgd
from mgd.drawing.arrangement import _divisions, arranged
from mgd.drawing.routing import LANE
from mgd.drawing.scene import Scene, scene_of
from mgd.expanding.connections import InterLink
from mgd.graph import Mesh, MeshGraph
from mgd.systems import System
from tests.mgd.fixtures import EACH_SYSTEM

RING = [(0, 1), (1, 2), (2, 3), (0, 3)]


def every_pair(count: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(count) for b in range(a + 1, count)]


def ring(count: int) -> list[tuple[int, int]]:
    return sorted({(min(a, (a + 1) % count), max(a, (a + 1) % count)) for a in range(count)})


def torus(rows: int, columns: int) -> list[tuple[int, int]]:
    found = set()
    for row in range(rows):
        for column in range(columns):
            here = row * columns + column
            for there in (row * columns + (column + 1) % columns, (row + 1) % rows * columns + column):
                found.add((min(here, there), max(here, there)))
    return sorted(found)


def neighbours(rows: tuple[tuple[int, ...], ...]) -> set[tuple[int, int]]:
    found = set()
    for row in rows:
        found |= {tuple(sorted(pair)) for pair in pairwise(row)}
    for upper, lower in pairwise(rows):
        found |= {tuple(sorted(pair)) for pair in zip(upper, lower, strict=False)}
    return {(a, b) for a, b in found}


@pytest.mark.parametrize("count", [4, 6, 8, 12, 16, 48])
def test_a_ring_goes_from_neighbour_to_neighbour(count: int) -> None:
    rows = arranged(count, ring(count), (100, 150)).rows
    assert set(ring(count)) <= neighbours(rows)


@pytest.mark.parametrize("count", [3, 5, 8, 13])
def test_a_chain_winds_from_neighbour_to_neighbour(count: int) -> None:
    chain = [(each, each + 1) for each in range(count - 1)]
    rows = arranged(count, chain, (150, 150)).rows
    assert len(rows[-1]) < len(rows[0]) or set(chain) <= neighbours(rows)


@pytest.mark.parametrize(("rows", "columns"), [(3, 5), (5, 3), (2, 4), (4, 2)])
@pytest.mark.parametrize("size", [(100, 100), (300, 50), (50, 300)])
def test_boxes_linked_as_an_open_grid_stand_in_that_grid(
    rows: int, columns: int, size: tuple[float, float]
) -> None:
    """Whatever shape the boxes have: lines then join neighbours alone."""
    numbers = [[row * columns + column for column in range(columns)] for row in range(rows)]
    across = [pair for row in numbers for pair in itertools.pairwise(row)]
    down = [pair for column in zip(*numbers, strict=True) for pair in itertools.pairwise(column)]
    found = arranged(rows * columns, [*across, *down], size)
    assert found.rows == tuple(map(tuple, numbers))


def test_a_torus_is_its_grid_a_star_hangs_from_its_middle_all_pairs_share_a_rail() -> None:
    assert arranged(12, torus(3, 4), (100, 100)).rows == ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11))
    assert arranged(5, [(0, 4), (1, 4), (2, 4), (3, 4)], (100, 100)).rows == ((4,), (0, 1, 2, 3))
    assert arranged(9, every_pair(9), (150, 900)).is_bus
    assert not arranged(4, every_pair(4), (100, 100)).is_bus


def star(count: int) -> list[tuple[int, int]]:
    return [(0, each) for each in range(1, count)]


@pytest.mark.parametrize(
    ("count", "pairs", "size", "rows"),
    [
        (1, [], (100, 100), ((0,),)),
        # Two stand side by side, unless they are so wide that the line between them would be short.
        (2, [(0, 1)], (99, 40), ((0, 1),)),
        (2, [(0, 1)], (100, 40), ((0,), (1,))),
        (2, [], (100, 40), ((0, 1),)),
        (4, [], (100, 100), ((0, 1), (2, 3))),
        # Chains whose ends are not the first and the last by number wind in their own order.
        (3, [(0, 1), (0, 2)], (100, 100), ((1, 0), (2,))),
        (4, [(0, 3), (1, 2), (1, 3)], (100, 100), ((0, 3), (2, 1))),
        (7, [(each, each + 1) for each in range(6)], (100, 100), ((0, 1, 2, 3), (6, 5, 4))),
        # With one more link it is no chain.
        (4, [(0, 1), (1, 2), (1, 3), (2, 3)], (100, 100), ((0, 1), (2, 3))),
        (6, [(0, 1), (1, 2), (1, 5), (2, 3), (3, 4), (4, 5)], (100, 100), ((0, 1, 2), (3, 4, 5))),
        # A last link that only looks like one that closes a ring.
        (
            8,
            [(1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (0, 6), (0, 7)],
            (300, 100),
            ((1, 2), (4, 3), (5, 6), (7, 0)),
        ),
        # Rings go there and back: in two rows, in two columns, in a row where boxes are tall, along rows and up the first column.
        (5, ring(5), (100, 100), ((0, 1, 2), (4, 3))),
        (6, ring(6), (100, 100), ((0, 1, 2), (5, 4, 3))),
        (8, ring(8), (300, 100), ((0, 1), (7, 2), (6, 3), (5, 4))),
        (7, ring(7), (20, 400), ((0, 1, 2, 3, 4, 5, 6),)),
        (16, ring(16), (100, 100), ((0, 1, 2, 3), (15, 6, 5, 4), (14, 7, 8, 9), (13, 12, 11, 10))),
        (9, star(9), (100, 100), ((0,), (1, 2, 3, 4, 5, 6, 7, 8))),
        (10, star(10), (100, 100), ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9))),
    ],
)
def test_where_boxes_go(
    count: int, pairs: list[tuple[int, int]], size: tuple[float, float], rows: tuple[tuple[int, ...], ...]
) -> None:
    assert arranged(count, pairs, size).rows == rows


def test_grids_that_hold_so_many_boxes_filled_ones_first() -> None:
    assert _divisions(1) == [(1, 1)]
    assert _divisions(5) == [(1, 5), (5, 1), (2, 3), (3, 2)]
    assert _divisions(6) == [(1, 6), (2, 3), (3, 2), (6, 1)]


@given(
    st.integers(1, 14).flatmap(
        lambda count: st.tuples(
            st.just(count), st.lists(st.tuples(*[st.integers(0, count - 1)] * 2), max_size=30), st.booleans()
        )
    ),
    st.sampled_from([(1, 1), (8, 1), (1, 8), (4, 4)]),
)
def test_ways_cross_no_box_whatever_is_linked(
    made: tuple[int, list[tuple[int, int]], bool], dims: tuple[int, int]
) -> None:
    count, pairs, rails = made
    meshes = tuple(
        Mesh(each, "M", "WORMHOLE_B0", dims, (1, 1), ("LINE", "LINE"), 1, "STRICT") for each in range(count)
    )
    links = tuple(InterLink(a, b, 1, "STRICT") for a, b in pairs)
    scene = scene_of(MeshGraph(meshes, links), rails=rails)
    assert sum(len(bundle.joints) for line in scene.lines for bundle in line.bundles) == len(links)
    assert_free(scene)


@pytest.mark.parametrize(("dims", "across"), [((2, 4), 1), ((8, 1), 1), ((1, 32), 0)])
def test_two_ways_between_the_same_boxes_lie_beside_each_other(dims: tuple[int, int], across: int) -> None:
    """As far from the middle on either side as the other one, and as straight: along a row, or between boxes one above the other."""
    meshes = tuple(Mesh(n, "M", "WORMHOLE_B0", dims, (1, 1), ("LINE", "LINE"), 1, "STRICT") for n in (0, 1))
    links = (InterLink(0, 1, 1, "STRICT"), InterLink(0, 1, 1, "STRICT", z_direction=True))
    [alone] = [line.strokes[0] for line in scene_of(MeshGraph(meshes, links[:1])).lines]
    both = [line.strokes[0] for line in scene_of(MeshGraph(meshes, links)).lines]
    assert len(both) == 2 and len({round(point[across], 3) for point in alone}) == 1
    beside = [{round(point[across] - alone[0][across], 3) for point in points} for points in both]
    assert sorted(map(sorted, beside)) == [[-LANE / 2], [LANE / 2]]


@pytest.mark.parametrize("system", EACH_SYSTEM)
@pytest.mark.parametrize("rails", [True, False])
def test_ways_of_a_system_cross_no_mesh(system: System, rails: bool) -> None:
    assert_free(scene_of(mgd.expand(mgd.load(system.path)), rails=rails))


def assert_free(scene: Scene) -> None:
    """No panel overlaps another, none leaves the scene, and no stroke passes through one."""
    boxes = [(at.x, at.y, at.x + at.panel.width, at.y + at.panel.height) for at in scene.panels]
    for number, (left, top, right, bottom) in enumerate(boxes):
        assert left >= -1 and top >= -1 and right <= scene.width + 1 and bottom <= scene.height + 1
        for other in boxes[number + 1 :]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
    for line in scene.lines:
        for stroke in line.strokes:
            for (x, y), (to_x, to_y) in pairwise(stroke):
                for step in range(1, 20):
                    px, py = x + (to_x - x) * step / 20, y + (to_y - y) * step / 20
                    assert -1 <= px <= scene.width + 1 and -1 <= py <= scene.height + 1
                    assert not any(
                        left + 1 < px < right - 1 and top + 1 < py < bottom - 1
                        for left, top, right, bottom in boxes
                    ), line
