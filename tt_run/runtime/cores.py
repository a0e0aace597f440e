"""Cores of one chip: coordinates, rectangles, sets of them, grids. Below mesh and tensor, which both speak of them.

Source: reference library 0.81.1.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from mgd.lean import dataclass
from tt_run.runtime import rectangles
from tt_run.runtime.errors import fatal
from tt_run.runtime.native.arguments import also_named, public
from tt_run.runtime.native.classes import Native
from tt_run.runtime.native.refusals import native_class
from tt_run.runtime.native.unordered import Unordered
from tt_run.runtime.rectangles import Rectangle


class _Entries(dict[str, Any]):
    def __missing__(self, key: str) -> Any:
        raise RuntimeError(f"[json.exception.out_of_range.403] key '{key}' not found")


def json_data(text: str) -> Any:
    """What a JSON text says. Raises RuntimeError where it is none, or when an entry that is asked for is missing."""
    try:
        return json.loads(text, object_hook=_Entries)
    except json.JSONDecodeError as error:
        raise RuntimeError(f"[json.exception.parse_error.101] parse error: {error}") from None


def json_text(value: Any) -> str:
    """A value as the reference writes JSON: without blanks, keys in order."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


@native_class("ttnn._ttnn.tensor.CoreCoord")
@dataclass(frozen=True, eq=False)
class CoreCoord(Unordered, metaclass=Native):
    """Logical position of a core: column x, row y."""

    x: int
    y: int

    def __init__(self, x: int | tuple[int, int], y: int | None = None, /) -> None:
        """`CoreCoord(x, y)` or `CoreCoord((x, y))`. Raises TypeError for what is no whole number from 0 on."""
        given: tuple[Any, Any] = (x[0], x[1]) if isinstance(x, (tuple, list)) and y is None else (x, y)
        for name, value in zip("xy", given, strict=True):
            if not hasattr(value, "__index__"):
                raise TypeError(f"CoreCoord(): {name} must be a whole number, not {value!r}")
            if operator.index(value) < 0:
                raise TypeError(f"CoreCoord(): {name} must not be negative, got {value!r}")
            object.__setattr__(self, name, operator.index(value))

    @classmethod
    def _implicit(cls, given: object) -> CoreCoord | None:
        pair = isinstance(given, (tuple, list)) and len(given) == 2
        return cls(tuple(given)) if pair and all(isinstance(n, int) and n >= 0 for n in given) else None  # type: ignore[arg-type,attr-defined]

    def __str__(self) -> str:
        return f"{self.x}-{self.y}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, CoreCoord):
            return self.x == other.x and self.y == other.y
        return (self.x, self.y) == tuple(other) if isinstance(other, (tuple, list)) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.x, self.y))

    def to_json(self) -> str:
        """The JSON text that `from_json` reads."""
        return json_text(_coord_data(self))

    @classmethod
    def from_json(cls, text: str) -> CoreCoord:
        """The coordinate that a JSON text describes."""
        return _coord(json_data(text))


def core_of(given: CoreCoord | Sequence[int]) -> CoreCoord:
    """A core as programs give one: a CoreCoord, or a pair of numbers."""
    return given if isinstance(given, CoreCoord) else CoreCoord(*given)


@native_class("ttnn._ttnn.tensor.CoreRange", "contains")
@dataclass(frozen=True)
class CoreRange(metaclass=Native):
    """A rectangle of cores, both corners included."""

    start: CoreCoord
    end: CoreCoord

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            corner = getattr(self, name)
            if not isinstance(corner, CoreCoord):
                object.__setattr__(self, name, CoreCoord(corner))
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
        return rectangles.size(rectangle_of(self))

    @also_named(core="other", core_range="other", core_range_set="other")
    def contains(self, other: CoreCoord | CoreRange | CoreRangeSet) -> bool:
        """True when every core of `other` is in the rectangle."""
        return CoreRangeSet([self]).contains(other)

    def to_json(self) -> str:
        """The JSON text that `from_json` reads."""
        return json_text(_range_data(self))

    @classmethod
    def from_json(cls, text: str) -> CoreRange:
        """The rectangle that a JSON text describes."""
        return range_of(json_data(text))


@native_class("ttnn._ttnn.types.CoreGrid")
@dataclass(frozen=True, eq=False)
class CoreGrid(metaclass=Native):
    """A count of core columns x and rows y, starting at core 0-0; equal only to itself, as in the reference."""

    x: int
    y: int

    def __init__(self, *, x: int, y: int) -> None:
        for name, value in (("x", x), ("y", y)):
            if operator.index(value) < 0:
                raise TypeError(f"CoreGrid(): {name} must not be negative, got {value!r}")
            object.__setattr__(self, name, operator.index(value))

    @property
    def num_cores(self) -> int:
        """Number of cores in the grid."""
        return self.x * self.y

    def __repr__(self) -> str:
        return f"ttnn.CoreGrid(x={self.x}, y={self.y})"


@native_class("ttnn._ttnn.tensor.CoreRangeSet", "contains", "merge", "subtract")
class CoreRangeSet(metaclass=Native):
    """Core rectangles that share no core: in the order they are given, or by column and row when they come as a set."""

    __slots__ = ("_ranges",)

    def __init__(self, core_ranges: Iterable[CoreRange] = ()) -> None:
        """Raises RuntimeError when two rectangles overlap."""
        if isinstance(core_ranges, (set, frozenset)):
            given = sorted(core_ranges, key=rectangle_of)
        else:
            given = list(core_ranges)
        both = rectangles.first_overlap([rectangle_of(r) for r in given])
        if both is not None:
            a, b = map(_range, both)
            raise fatal(
                f"Cannot create CoreRangeSet with specified core ranges because core ranges {a} and {b} overlap!",
                hint="name each core in one range only, or merge them: ttnn.CoreRangeSet(ranges).merge(others)",
            )
        self._ranges = tuple(given)

    def ranges(self) -> list[CoreRange]:
        """The rectangles."""
        return list(self._ranges)

    def size(self) -> int:
        """Number of rectangles."""
        return len(self._ranges)

    def empty(self) -> bool:
        """True when there are no rectangles."""
        return not self._ranges

    def num_cores(self) -> int:
        """Number of cores of all rectangles."""
        return sum(r.size() for r in self._ranges)

    def bounding_box(self) -> CoreRange:
        """The smallest rectangle that holds every core. Raises RuntimeError when there is none."""
        if not self._ranges:
            raise fatal(
                "Cannot get bounding_box of an empty CoreRangeSet!",
                "!this->ranges().empty()",
                hint="give the set a range: ttnn.CoreRangeSet([ttnn.CoreRange(first, last)])",
            )
        return CoreRange(
            CoreCoord(min(r.start.x for r in self._ranges), min(r.start.y for r in self._ranges)),
            CoreCoord(max(r.end.x for r in self._ranges), max(r.end.y for r in self._ranges)),
        )

    @also_named(core="other", core_range="other", core_range_set="other")
    def contains(self, other: CoreCoord | CoreRange | CoreRangeSet) -> bool:
        """True when every core of `other` is in one of the rectangles."""
        if isinstance(other, (CoreCoord, tuple, list)):
            other = CoreRange(core_of(other), core_of(other))
        parts = [other] if isinstance(other, CoreRange) else other.ranges()
        return not rectangles.subtracted(map(rectangle_of, parts), map(rectangle_of, self._ranges))

    def merge(self, other: CoreRangeSet) -> CoreRangeSet:
        """The cores of both, as few rectangles."""
        if not isinstance(other, CoreRangeSet):
            raise TypeError(f"merge(): other must be a CoreRangeSet, not {type(other).__name__}")
        return set_of(rectangles.merged(map(rectangle_of, (*self._ranges, *other))))

    def subtract(self, other: CoreRangeSet) -> CoreRangeSet:
        """The cores that are not in `other`."""
        return set_of(rectangles.subtracted(map(rectangle_of, self._ranges), map(rectangle_of, other)))

    def to_json(self) -> str:
        """The JSON text that `from_json` reads."""
        return json_text(set_data(self))

    @classmethod
    def from_json(cls, text: str) -> CoreRangeSet:
        """The set that a JSON text describes."""
        return CoreRangeSet([range_of(entry) for entry in json_data(text)])

    def __iter__(self) -> Iterator[CoreRange]:
        return iter(self._ranges)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CoreRangeSet) and self._ranges == other._ranges

    def __hash__(self) -> int:
        return hash(self._ranges)

    def __str__(self) -> str:
        return "{" + ", ".join(map(str, self._ranges)) + "}"

    __repr__ = __str__


def num_cores_to_corerangeset(
    target_num_cores: int, grid_size: CoreCoord | Sequence[int], row_wise: bool = False
) -> CoreRangeSet:
    """The first cores of a grid that begins at 0-0, column by column or row by row.

    Raises RuntimeError when the grid has fewer.
    """
    grid_size = core_of(grid_size)
    available = grid_size.x * grid_size.y
    if target_num_cores > available:
        raise fatal(
            f"Target number of cores {target_num_cores} is greater than total number of available cores {available}",
            "target_num_cores <= total_available_cores",
            hint=f"ask for {available} or fewer, or a larger grid",
        )
    whole = (0, 0, grid_size.x - 1, grid_size.y - 1)
    return set_of(rectangles.first_cells([whole], (0, 0), target_num_cores, row_wise)[0])


@public
def corerange_to_cores(
    core_range_set: CoreRangeSet, max_cores: int | None = None, row_wise: bool = False
) -> list[CoreCoord]:
    """The cores of a set in order, rectangle after rectangle; at most `max_cores` of them."""
    cells = (cell for r in core_range_set for cell in rectangles.cells(rectangle_of(r), row_wise))
    return [CoreCoord(*cell) for cell in cells][:max_cores]


def set_data(ranges: CoreRangeSet) -> list[Any]:
    """A set as plain data for JSON."""
    return [_range_data(r) for r in ranges]


def range_of(entry: Any) -> CoreRange:
    """The rectangle of plain data, as `set_data` has it."""
    return CoreRange(_coord(entry["start"]), _coord(entry["end"]))


def _coord(entry: Any) -> CoreCoord:
    return CoreCoord(entry["x"], entry["y"])


def _coord_data(coord: CoreCoord) -> dict[str, int]:
    return {"x": coord.x, "y": coord.y}


def _range_data(r: CoreRange) -> dict[str, Any]:
    return {"start": _coord_data(r.start), "end": _coord_data(r.end)}


def rectangle_of(r: CoreRange) -> Rectangle:
    return r.start.x, r.start.y, r.end.x, r.end.y


def _range(rectangle: Rectangle) -> CoreRange:
    return CoreRange(CoreCoord(rectangle[0], rectangle[1]), CoreCoord(rectangle[2], rectangle[3]))


def set_of(found: Collection[Rectangle]) -> CoreRangeSet:
    return CoreRangeSet([_range(rectangle) for rectangle in found])
