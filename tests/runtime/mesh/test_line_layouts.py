"""Where meshes of one row or column lie; rings and lines of an 8x4 system as the reference 0.81.1 opens them."""

from __future__ import annotations

import itertools

import pytest

from tt_run.runtime.mesh.geometry.line_layouts import line_from
from tt_run.runtime.mesh.geometry.shape import MeshShape

GALAXY = MeshShape(8, 4)


def text(start: tuple[int, int], length: int) -> str:
    """A line as its steps: right, down, left, up."""
    line = line_from(GALAXY, start, length)
    assert line is not None
    assert line[0] == start
    assert len(set(line)) == length
    names = {(0, 1): "r", (1, 0): "d", (0, -1): "l", (-1, 0): "u"}
    return "".join(names[b[0] - a[0], b[1] - a[1]] for a, b in itertools.pairwise(line))


@pytest.mark.parametrize(
    ("start", "length", "steps"),
    [
        ((0, 0), 2, "r"),
        ((7, 3), 2, "l"),
        ((0, 3), 2, "d"),
        ((0, 2), 3, "rd"),
        ((0, 0), 4, "rdl"),
        ((3, 2), 4, "rdl"),
        ((7, 2), 5, "rull"),
        ((0, 0), 8, "rrrdlll"),
        ((0, 0), 16, "rrrdddddllluuuu"),
        ((1, 1), 13, "rrddddddlllu"),
        ((0, 0), 31, "rrrdddddddlllurrullurrullurrul"),
        ((0, 0), 32, "rrrdddddddlllurrullurrullurrull"),
    ],
)
def test_a_line_is_the_first_ring_of_its_length_or_the_first_open_line(
    start: tuple[int, int], length: int, steps: str
) -> None:
    assert text(start, length) == steps


def test_a_whole_system_is_a_ring_from_anywhere() -> None:
    for start in ((r, c) for r in range(8) for c in range(4)):
        line = line_from(GALAXY, start, 32)
        assert line is not None
        assert sum(abs(a - b) for a, b in zip(line[-1], line[0], strict=True)) == 1


def test_a_long_line_goes_row_by_row_every_other_one_backwards() -> None:
    large = MeshShape(32, 32)
    whole = line_from(large, (0, 0), 1024)
    assert whole is not None and len(set(whole)) == 1024
    assert whole[31:33] == [(0, 31), (1, 31)] and whole[-1] == (31, 0)
    steps = [abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in itertools.pairwise(whole)]
    assert set(steps) == {1}
    assert line_from(large, (0, 0), 513) == whole[:513]
    assert line_from(large, (0, 1), 513) is None


def test_the_longest_line_that_is_searched_for_is_a_ring() -> None:
    ring = line_from(MeshShape(32, 32), (0, 0), 512)
    assert ring is not None and len(set(ring)) == 512 and ring[32] == (1, 31)
    assert sum(abs(a - b) for a, b in zip(ring[-1], ring[0], strict=True)) == 1


def test_one_dimension_has_an_end_and_two_rows_have_none() -> None:
    for shape, turned in ((MeshShape(1, 4), False), (MeshShape(4, 1), True)):
        found = line_from(shape, (2, 0) if turned else (0, 2), 2)
        assert found == ([(2, 0), (3, 0)] if turned else [(0, 2), (0, 3)])
        assert line_from(shape, (2, 0) if turned else (0, 2), 3) is None
    assert line_from(MeshShape(2, 3), (1, 1), 6) == [(1, 1), (1, 0), (0, 0), (0, 1), (0, 2), (1, 2)]
    assert line_from(MeshShape(3, 2), (2, 0), 4) == [(2, 0), (1, 0), (0, 0), (0, 1)]


def test_where_there_is_no_line_there_is_none() -> None:
    """Of nine places every line over all begins at a corner or in the middle."""
    small = MeshShape(3, 3)
    assert line_from(small, (0, 1), 9) is None and line_from(small, (1, 2), 9) is None
    for start in ((0, 0), (1, 1), (2, 2)):
        line = line_from(small, start, 9)
        assert line is not None and len(set(line)) == 9 and line[0] == start
    ring = line_from(small, (1, 1), 8)
    assert ring is not None and abs(ring[-1][0] - 1) + abs(ring[-1][1] - 1) == 1
