"""Sets of rectangles of cores as plain numbers: joining, taking away, enumerating, cutting off a count.

A rectangle is `(x0, y0, x1, y1)`, both corners included. The order of results is the reference's, which programs print and
compare. Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

Rectangle = tuple[int, int, int, int]
Cell = tuple[int, int]


def size(rectangle: Rectangle) -> int:
    """Number of cores."""
    x0, y0, x1, y1 = rectangle
    return (x1 - x0 + 1) * (y1 - y0 + 1)


def overlap(a: Rectangle, b: Rectangle) -> Rectangle | None:
    """What two rectangles share; None when it is nothing."""
    shared = max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])
    return shared if shared[0] <= shared[2] and shared[1] <= shared[3] else None


def first_overlap(rectangles: Sequence[Rectangle]) -> tuple[Rectangle, Rectangle] | None:
    """The first two rectangles that share a core."""
    for number, a in enumerate(rectangles):
        for b in rectangles[number + 1 :]:
            if overlap(a, b) is not None:
                return a, b
    return None


def merged(rectangles: Iterable[Rectangle]) -> list[Rectangle]:
    """The same cores as the longest runs of each row, equal runs of adjacent rows joined; in the order of x, then y."""
    rows: dict[int, set[int]] = defaultdict(set)
    for x0, y0, x1, y1 in rectangles:
        for y in range(y0, y1 + 1):
            rows[y].update(range(x0, x1 + 1))
    growing: dict[tuple[int, int], Rectangle] = {}
    done: list[Rectangle] = []
    for y in sorted(rows):
        runs = {}
        for x0, x1 in _runs(sorted(rows[y])):
            above = growing.get((x0, x1))
            joined = above is not None and above[3] == y - 1
            runs[x0, x1] = (x0, above[1], x1, y) if above is not None and joined else (x0, y, x1, y)
        done += [old for run, old in growing.items() if run not in runs or runs[run][1] != old[1]]
        growing = runs
    return sorted([*done, *growing.values()])


def _runs(columns: list[int]) -> Iterator[tuple[int, int]]:
    start = before = columns[0]
    for x in columns[1:]:
        if x != before + 1:
            yield start, before
            start = x
        before = x
    yield start, before


def subtracted(rectangles: Iterable[Rectangle], taken: Iterable[Rectangle]) -> list[Rectangle]:
    """The cores of the first that are in none of the second: what is left, right, above and below of each cut."""
    left = merged(rectangles)
    for hole in merged(taken):
        left = [piece for rectangle in left for piece in _around(rectangle, hole)]
    return left


def _around(rectangle: Rectangle, hole: Rectangle) -> list[Rectangle]:
    shared = overlap(rectangle, hole)
    if shared is None:
        return [rectangle]
    x0, y0, x1, y1 = rectangle
    a0, b0, a1, b1 = shared
    pieces = [(x0, y0, a0 - 1, y1), (a1 + 1, y0, x1, y1), (a0, y0, a1, b0 - 1), (a0, b1 + 1, a1, y1)]
    return [p for p in pieces if p[0] <= p[2] and p[1] <= p[3]]


def cells(rectangle: Rectangle, row_wise: bool) -> list[Cell]:
    """Every core of a rectangle, row by row or column by column."""
    x0, y0, x1, y1 = rectangle
    if row_wise:
        return [(x, y) for y in range(y0, y1 + 1) for x in range(x0, x1 + 1)]
    return [(x, y) for x in range(x0, x1 + 1) for y in range(y0, y1 + 1)]


def first_cells(
    rectangles: Iterable[Rectangle], start: Cell, count: int, row_wise: bool
) -> tuple[list[Rectangle], int]:
    """`count` cores in order from `start` on, as few rectangles for each of the given ones, and how many could not be found.

    Rectangles before the one that holds `start` are passed over.
    """
    found: list[Rectangle] = []
    reached = False
    for rectangle in rectangles:
        order = cells(rectangle, row_wise)
        if not reached:
            if start not in order:
                continue
            reached = True
            order = order[order.index(start) :]
        for line in _lines(order[:count], row_wise):
            if found and (joined := _joined(found[-1], line, row_wise)) is not None:
                found[-1] = joined
            else:
                found.append(line)
        count -= min(count, len(order))
    return found, count


def _lines(order: list[Cell], row_wise: bool) -> Iterator[Rectangle]:
    """Consecutive cores of a rectangle, line by line."""
    lines: dict[int, list[Cell]] = defaultdict(list)
    for cell in order:
        lines[cell[1 if row_wise else 0]].append(cell)
    for line in lines.values():
        yield (*line[0], *line[-1])


def _joined(block: Rectangle, line: Rectangle, row_wise: bool) -> Rectangle | None:
    """A block with the line that follows it, when both are equally wide and adjacent."""
    along, across = (0, 1) if row_wise else (1, 0)
    if (block[along], block[along + 2]) != (line[along], line[along + 2]):
        return None
    return (*block[:2], *line[2:]) if line[across] == block[across + 2] + 1 else None
