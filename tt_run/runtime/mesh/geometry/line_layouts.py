"""Where a mesh of one row or column lies in the system mesh: neighbour after neighbour, closed to a ring where that can be.

In a system of two rows or columns a line walks around it. In a larger one it is the first ring of its length that a search from the
offset finds which goes right, down, left, up in that order; the first open line where no ring has that length (reference library 0.81.1).
"""

from __future__ import annotations

from tt_run.runtime.mesh.geometry.shape import MeshShape

Place = tuple[int, int]
_STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))
_LONGEST = 512  # devices of a line that is searched for; a longer one goes row by row
_PATIENCE = 200_000  # steps of a search; a mesh of a thousand devices has more lines than anybody can try


def line_from(outer: MeshShape, start: Place, length: int) -> list[Place] | None:
    """The places of a line of `length` devices from `start` on; None when there is no such line."""
    rows, columns = outer
    if min(rows, columns) == 1:
        at = max(start)
        whole = [(r, c) for r in range(rows) for c in range(columns)]
        return whole[at : at + length] if at + length <= len(whole) else None
    if min(rows, columns) == 2:
        border = around(rows, columns)
        at = border.index(start)
        return [border[(at + i) % len(border)] for i in range(length)]
    if length > _LONGEST:
        return None if start != (0, 0) else row_by_row(rows, columns)[:length]
    ring = _Search(rows, columns, start, length, closed=True).found() if length % 2 == 0 else None
    return ring or _Search(rows, columns, start, length, closed=False).found()


def row_by_row(rows: int, columns: int) -> list[Place]:
    """Every place, every other row backwards."""
    return [(r, c if r % 2 == 0 else columns - 1 - c) for r in range(rows) for c in range(columns)]


def around(rows: int, columns: int) -> list[Place]:
    """The places of a mesh's border, clockwise from the first."""
    right = [(r, columns - 1) for r in range(1, rows)]
    bottom = [(rows - 1, c) for c in range(columns - 2, -1, -1)]
    return [(0, c) for c in range(columns)] + right + bottom + [(r, 0) for r in range(rows - 2, 0, -1)]


class _Search:
    """Depth first, in a fixed order of steps; what cannot end well is left out, so that the first line found is the same sooner."""

    def __init__(self, rows: int, columns: int, start: Place, length: int, *, closed: bool) -> None:
        self._free = {(r, c) for r in range(rows) for c in range(columns)} - {start}
        self._path = [start]
        self._length = length
        self._closed = closed
        self._left = _PATIENCE

    def found(self) -> list[Place] | None:
        """The line; None when there is none, or none that is found in time."""
        return self._path if self._extended() else None

    def _extended(self) -> bool:
        missing = self._length - len(self._path)
        if not missing:
            return not self._closed or self._distance(self._path[-1]) == 1
        for place in _beside(self._path[-1]):
            if place not in self._free or (self._closed and self._distance(place) > missing):
                continue
            self._left -= 1
            if self._left < 0:
                return False
            self._path.append(place)
            self._free.remove(place)
            if not self._stranded(missing - 1) and self._extended():
                return True
            self._path.pop()
            self._free.add(place)
        return False

    def _distance(self, place: Place) -> int:
        start = self._path[0]
        return abs(place[0] - start[0]) + abs(place[1] - start[1])

    def _stranded(self, missing: int) -> bool:
        """Whether a ring over every place has to pass one that it cannot enter and leave any more."""
        if not self._closed or missing != len(self._free):
            return False
        open_ends = self._free | {self._path[0], self._path[-1]}
        return any(sum(beside in open_ends for beside in _beside(place)) < 2 for place in self._free)


def _beside(place: Place) -> list[Place]:
    return [(place[0] + down, place[1] + right) for down, right in _STEPS]
