"""In which row and column the boxes of a graph go: a chain winds, a ring closes, a torus is a grid, a star hangs from its middle."""

from __future__ import annotations

import math
from collections.abc import Iterable

from mgd.lean import dataclass

Pair = tuple[int, int]
WIDE = 1.6
"""Width over height that a picture should have."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The numbers of the boxes by row, left to right; `is_bus` when every pair is linked and a rail shows that better than lines."""

    rows: tuple[tuple[int, ...], ...]
    is_bus: bool = False


def arranged(count: int, pairs: Iterable[Pair], size: tuple[float, float]) -> Arrangement:
    """Places for `count` boxes of about this width and height that are linked in these pairs (lower number first)."""
    linked = {pair for pair in pairs if pair[0] != pair[1]}
    if count < 3:
        shapes = [(1, count)] if not linked or size[0] < 2.5 * size[1] else [(count, 1)]
        return _rows(range(count), *shapes[0])
    if len(linked) == count * (count - 1) // 2 and count > 3:
        shape = _best(_divisions(count), size)
        return _rows(range(count), *shape, is_bus=shape != (2, 2))
    order = _line(count, linked)
    if order is not None:
        closes = (min(order[0], order[-1]), max(order[0], order[-1])) in linked
        return _ring(order, size) if closes else _winding(order, _best(_divisions(count), size))
    hub = _hub(count, linked)
    if hub is not None and count <= 9:
        return Arrangement(((hub,), tuple(each for each in range(count) if each != hub)))
    grid = next((shape for shape in _divisions(count) if _is_grid(shape, linked)), None)
    return _rows(range(count), *(grid or _best(_divisions(count), size)))


def _divisions(count: int) -> list[tuple[int, int]]:
    """Rows and columns that hold so many boxes; ragged ones after those that are filled."""
    return sorted(
        ((rows, -(-count // rows)) for rows in range(1, count + 1) if (rows - 1) * -(-count // rows) < count),
        key=lambda shape: shape[0] * shape[1] - count,
    )


def _best(shapes: Iterable[tuple[int, int]], size: tuple[float, float]) -> tuple[int, int]:
    """The shape whose picture is nearest to WIDE."""
    return min(shapes, key=lambda shape: (_strain(shape, size), shape))


def _strain(shape: tuple[int, int], size: tuple[float, float]) -> float:
    return abs(math.log(shape[1] * size[0] / (shape[0] * size[1]) / WIDE))


def _rows(order: Iterable[int], rows: int, columns: int, *, is_bus: bool = False) -> Arrangement:
    numbers = tuple(order)
    cut = [numbers[row * columns : (row + 1) * columns] for row in range(rows)]
    return Arrangement(tuple(row for row in cut if row), is_bus)


def _winding(order: list[int], shape: tuple[int, int]) -> Arrangement:
    """A chain that turns at the end of each row, so that neighbours stay neighbours."""
    rows = _rows(order, *shape).rows
    return Arrangement(tuple(row[::-1] if number % 2 else row for number, row in enumerate(rows)))


def _ring(order: list[int], size: tuple[float, float]) -> Arrangement:
    """A closed walk over a grid of an even number of rows: along the rows and back up the first column."""
    count = len(order)
    even = [(rows, count // rows) for rows in range(2, count // 2 + 1, 2) if count % rows == 0]
    if not even or min(_strain(shape, size) for shape in even) > 2:
        half = -(-count // 2)
        if _strain((1, count), size) < _strain((2, half), size):
            return Arrangement((tuple(order),))
        return Arrangement((tuple(order[:half]), tuple(order[half:][::-1])))
    rows, columns = _best(even, size)
    if columns == 2 or rows == 2:
        lanes = [order[:columns], order[columns:][::-1]] if rows == 2 else None
        return (
            Arrangement(tuple(map(tuple, lanes)))
            if lanes
            else Arrangement(tuple((order[-row] if row else order[0], order[row + 1]) for row in range(rows)))
        )
    inner = _winding(order[1 : 1 + rows * (columns - 1)], (rows, columns - 1)).rows
    back = [order[0], *order[:-rows:-1]]
    return Arrangement(tuple((back[row], *inner[row]) for row in range(rows)))


def _line(count: int, linked: set[Pair]) -> list[int] | None:
    """The boxes along a chain or ring that has all of them, None when they are neither."""
    near: dict[int, list[int]] = {number: [] for number in range(count)}
    for a, b in sorted(linked):
        near[a].append(b)
        near[b].append(a)
    if any(not 1 <= len(each) <= 2 for each in near.values()):
        return None
    here = next((number for number in range(count) if len(near[number]) == 1), 0)
    order = [here]
    while True:
        following = [each for each in near[here] if each not in order[-2:] and each not in order[:1]]
        if not following or len(order) > count:
            return order if len(order) == count else None
        here = following[0]
        order.append(here)


def _hub(count: int, linked: set[Pair]) -> int | None:
    """The box to which all others are linked and nothing else is."""
    return next(
        (hub for hub in range(count) if len(linked) == count - 1 and all(hub in pair for pair in linked)),
        None,
    )


def _is_grid(shape: tuple[int, int], linked: set[Pair]) -> bool:
    """True when the boxes in rows are linked as a grid is, with or without wraps."""
    rows, columns = shape
    if rows < 2 or columns < 2:
        return False
    inner, wraps = set[Pair](), set[Pair]()
    for row in range(rows):
        for column in range(columns):
            here = row * columns + column
            for there, wraps_here in (
                (row * columns + (column + 1) % columns, column + 1 == columns),
                ((row + 1) % rows * columns + column, row + 1 == rows),
            ):
                (wraps if wraps_here else inner).add((min(here, there), max(here, there)))
    return inner <= linked <= inner | wraps
