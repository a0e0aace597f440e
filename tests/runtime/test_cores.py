"""Sets of cores against the reference's recorded answers, and against counting cores one by one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tt_run.runtime.core_work import (
    grid_to_cores,
    num_cores_to_corerangeset_in_subcoregrids,
    split_work_to_cores,
)
from tt_run.runtime.cores import (
    CoreCoord,
    CoreGrid,
    CoreRange,
    CoreRangeSet,
    corerange_to_cores,
    num_cores_to_corerangeset,
)
from tt_run.runtime.rectangles import Rectangle, cells, merged, subtracted


def cores(*rectangles: Rectangle) -> CoreRangeSet:
    return CoreRangeSet([CoreRange(CoreCoord(a, b), CoreCoord(c, d)) for a, b, c, d in rectangles])


GRIDS = cores((1, 0, 3, 9), (5, 0, 6, 9))


@pytest.mark.parametrize(
    ("count", "row_wise", "expected"),
    [
        (9, True, "{[0-0 - 7-0], [0-1 - 0-1]}"),
        (9, False, "{[0-0 - 0-7], [1-0 - 1-0]}"),
        (64, True, "{[0-0 - 7-7]}"),
        (16, True, "{[0-0 - 7-1]}"),
        (3, True, "{[0-0 - 2-0]}"),
        (19, False, "{[0-0 - 1-7], [2-0 - 2-2]}"),
        (0, True, "{}"),
    ],
)
def test_first_cores_of_a_grid(count: int, row_wise: bool, expected: str) -> None:
    assert str(num_cores_to_corerangeset(count, CoreCoord(8, 8), row_wise)) == expected


@pytest.mark.parametrize(
    ("start", "count", "row_wise", "expected"),
    [
        ((1, 0), 10, True, "{[1-0 - 3-2], [1-3 - 1-3]}"),
        ((2, 3), 10, True, "{[2-3 - 3-3], [1-4 - 3-5], [1-6 - 2-6]}"),
        ((2, 3), 10, False, "{[2-3 - 2-9], [3-0 - 3-2]}"),
        ((1, 0), 35, True, "{[1-0 - 3-9], [5-0 - 6-1], [5-2 - 5-2]}"),
        ((1, 0), 35, False, "{[1-0 - 3-9], [5-0 - 5-4]}"),
    ],
)
def test_first_cores_of_a_set(start: tuple[int, int], count: int, row_wise: bool, expected: str) -> None:
    found = num_cores_to_corerangeset_in_subcoregrids(CoreCoord(start), count, GRIDS, row_wise=row_wise)
    assert str(found) == expected


@pytest.mark.parametrize(
    ("start", "count", "message"),
    [
        ((1, 0), 51, "Target number of cores 51 is greater than total available cores 50"),
        ((7, 0), 5, "Start core must be inside sub_core_grids"),
        ((5, 0), 21, "Failed to assign all 21 requested cores"),
    ],
)
def test_cores_that_are_not_there(start: tuple[int, int], count: int, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        num_cores_to_corerangeset_in_subcoregrids(CoreCoord(start), count, GRIDS)


def test_cores_in_order() -> None:
    both = cores((1, 0, 2, 1), (5, 0, 5, 1))
    assert str(corerange_to_cores(both)) == "[1-0, 1-1, 2-0, 2-1, 5-0, 5-1]"
    assert str(corerange_to_cores(both, 3, True)) == "[1-0, 2-0, 1-1]"


def test_joining_and_taking_away() -> None:
    assert str(cores((0, 0, 1, 1)).merge(cores((2, 0, 3, 1)))) == "{[0-0 - 3-1]}"
    assert str(cores((0, 0, 1, 1)).merge(cores((1, 1, 3, 1)))) == "{[0-0 - 1-0], [0-1 - 3-1]}"
    ring = "{[0-0 - 0-3], [3-0 - 3-3], [1-0 - 2-0], [1-3 - 2-3]}"
    assert str(cores((0, 0, 3, 3)).subtract(cores((1, 1, 2, 2)))) == ring


def test_order_overlap_and_text() -> None:
    given = cores((5, 0, 5, 1), (1, 0, 2, 1))
    assert str(given) == "{[5-0 - 5-1], [1-0 - 2-1]}"
    assert str(CoreRangeSet(set(given.ranges()))) == "{[1-0 - 2-1], [5-0 - 5-1]}"
    assert (given.size(), given.num_cores(), given.empty()) == (2, 6, False)
    assert given.contains(CoreCoord(5, 1))
    assert not given.contains(CoreRange(CoreCoord(2, 0), CoreCoord(3, 0)))
    with pytest.raises(RuntimeError, match=r"\[0-0 - 1-1\] and \[1-1 - 3-1\] overlap"):
        cores((0, 0, 1, 1), (1, 1, 3, 1))
    with pytest.raises(RuntimeError, match="empty CoreRangeSet"):
        CoreRangeSet().bounding_box()
    with pytest.raises(TypeError, match=r"x must be a whole number, not 1\.0"):
        CoreCoord(1.0, 2)  # type: ignore[arg-type]


def test_json() -> None:
    text = '[{"end":{"x":1,"y":1},"start":{"x":0,"y":0}}]'
    assert cores((0, 0, 1, 1)).to_json() == text
    assert CoreRangeSet.from_json(text) == cores((0, 0, 1, 1))
    assert CoreCoord.from_json('{"x":1,"y":2}') == CoreCoord(1, 2)
    assert CoreRange.from_json(text[1:-1]).to_json() == text[1:-1]


corner = st.integers(0, 5)
rectangle = st.tuples(corner, corner, corner, corner).map(
    lambda r: (min(r[0], r[2]), min(r[1], r[3]), max(r[0], r[2]), max(r[1], r[3]))
)


def counted(rectangles: list[Rectangle]) -> list[tuple[int, int]]:
    return [cell for r in rectangles for cell in cells(r, True)]


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(rectangle, max_size=4), st.lists(rectangle, max_size=3))
def test_sets_hold_each_core_once(first: list[Rectangle], second: list[Rectangle]) -> None:
    whole, rest = merged(first), subtracted(first, second)
    assert sorted(counted(whole)) == sorted(set(counted(first)))
    assert sorted(counted(rest)) == sorted(set(counted(first)) - set(counted(second)))


@pytest.mark.parametrize(
    ("grid", "units", "row_wise", "expected"),
    [
        (
            CoreCoord(8, 8),
            100,
            False,
            "64 {[0-0 - 7-7]} {[0-0 - 3-7], [4-0 - 4-3]} {[4-4 - 4-7], [5-0 - 7-7]} 2 1",
        ),
        (
            CoreCoord(8, 8),
            100,
            True,
            "64 {[0-0 - 7-7]} {[0-0 - 7-3], [0-4 - 3-4]} {[4-4 - 7-4], [0-5 - 7-7]} 2 1",
        ),
        (CoreCoord(8, 8), 5, False, "5 {[0-0 - 0-4]} {[0-0 - 0-4]} {} 1 0"),
        (cores((1, 1, 2, 3)), 8, False, "6 {[1-1 - 2-3]} {[1-1 - 1-2]} {[1-3 - 1-3], [2-1 - 2-3]} 2 1"),
        (CoreCoord(8, 8), 0, False, "0 {} {} {} 0 0"),
    ],
)
def test_work_over_cores(grid: CoreCoord | CoreRangeSet, units: int, row_wise: bool, expected: str) -> None:
    assert " ".join(map(str, split_work_to_cores(grid, units, row_wise))) == expected


def test_cores_of_a_grid() -> None:
    assert str(grid_to_cores(4, 3, 2)) == "[0-0, 0-1, 1-0, 1-1]"
    assert str(grid_to_cores(4, 3, 2, row_wise=True)) == "[0-0, 1-0, 2-0, 0-1]"
    assert str(grid_to_cores(CoreCoord(1, 1), CoreCoord(2, 2))) == "[1-1, 1-2, 2-1, 2-2]"
    with pytest.raises(TypeError, match="of two CoreCoords"):
        grid_to_cores(CoreCoord(1, 1), 3)


def test_cores_as_pairs_of_numbers() -> None:
    grid = CoreRangeSet([CoreRange((0, 0), [7, 6])])  # type: ignore[arg-type]
    assert CoreCoord(1, 2) == (1, 2) and CoreCoord(1, 2) == [1, 2] and CoreCoord(1, 2) != (2, 1)
    assert str(num_cores_to_corerangeset(56, [8, 7], True)) == "{[0-0 - 7-6]}"
    assert str(num_cores_to_corerangeset_in_subcoregrids((1, 0), 2, grid, True)) == "{[1-0 - 2-0]}"
    assert grid.contains((7, 6)) and not grid.contains([8, 6])
    assert list(map(str, grid_to_cores((0, 0), (1, 1)))) == ["0-0", "0-1", "1-0", "1-1"]
    assert split_work_to_cores((8, 8), 10)[0] == 10
    assert CoreGrid(x=2, y=3) != CoreGrid(x=2, y=3)
