"""Cores of one chip: coordinates, rectangles, grids. Below mesh and tensor, which both speak of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class CoreCoord:
    """Logical position of a core: column x, row y."""

    x: int
    y: int

    def __str__(self) -> str:
        return f"{self.x}-{self.y}"

    __repr__ = __str__


@dataclass(frozen=True)
class CoreRange:
    """A rectangle of cores, both corners included."""

    start: CoreCoord
    end: CoreCoord

    def __post_init__(self) -> None:
        if self.end.x < self.start.x or self.end.y < self.start.y:
            raise RuntimeError(f"Invalid core range for start_coord: {self.start}, end_coord: {self.end}")

    def __str__(self) -> str:
        return f"[{self.start} - {self.end}]"

    __repr__ = __str__

    def grid_size(self) -> CoreCoord:
        """Columns and rows of the rectangle."""
        return CoreCoord(self.end.x - self.start.x + 1, self.end.y - self.start.y + 1)

    def size(self) -> int:
        """Number of cores."""
        size = self.grid_size()
        return size.x * size.y


@dataclass(frozen=True)
class CoreGrid:
    """A count of core columns x and rows y, starting at core 0-0."""

    x: int
    y: int

    def __init__(self, *, x: int, y: int) -> None:
        object.__setattr__(self, "x", x)
        object.__setattr__(self, "y", y)

    @property
    def num_cores(self) -> int:
        """Number of cores in the grid."""
        return self.x * self.y

    def __repr__(self) -> str:
        return f"ttnn.CoreGrid(x={self.x}, y={self.y})"


class CoreRangeSet:
    """A set of core rectangles, ordered by their first core."""

    __slots__ = ("_ranges",)

    def __init__(self, ranges: CoreRange | Iterable[CoreRange] = ()) -> None:
        given = [ranges] if isinstance(ranges, CoreRange) else list(ranges)
        self._ranges = tuple(sorted(set(given), key=lambda r: (r.start.y, r.start.x, r.end.y, r.end.x)))

    def ranges(self) -> list[CoreRange]:
        """The rectangles."""
        return list(self._ranges)

    def num_cores(self) -> int:
        """Number of cores of all rectangles."""
        return sum(r.size() for r in self._ranges)

    def bounding_box(self) -> CoreRange:
        """The smallest rectangle that holds every core."""
        return CoreRange(
            CoreCoord(min(r.start.x for r in self._ranges), min(r.start.y for r in self._ranges)),
            CoreCoord(max(r.end.x for r in self._ranges), max(r.end.y for r in self._ranges)),
        )

    def __iter__(self) -> Iterator[CoreRange]:
        return iter(self._ranges)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CoreRangeSet) and self._ranges == other._ranges

    def __hash__(self) -> int:
        return hash(self._ranges)

    def __str__(self) -> str:
        return "{" + ", ".join(map(str, self._ranges)) + "}"

    __repr__ = __str__
