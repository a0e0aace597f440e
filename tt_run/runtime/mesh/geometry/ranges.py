"""Rectangles of mesh coordinates, sets of them, and the devices that a distribution takes.

Ranges and their sets compare by value. Those of reference library 0.81.1 compare by identity, which versions after it mend.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from tt_run.runtime.errors import fatal, incompatible
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate, fits_as_submesh, row_major
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.native.arguments import also_named, public
from tt_run.runtime.native.classes import Native, native

_RANGE_CONSTRUCTORS = (
    "__init__(self, start: ttnn._ttnn.multi_device.MeshCoordinate, end: ttnn._ttnn.multi_device.MeshCoordinate) -> None",
    "__init__(self, shape: ttnn._ttnn.multi_device.MeshShape) -> None",
)


@native("ttnn._ttnn.multi_device.MeshCoordinateRange")
class MeshCoordinateRange(metaclass=Native):
    """A rectangle of coordinates, both corners included: `(start, end)`, or `(shape)` from the origin. Iterates row-major.

    Raises RuntimeError when the start lies beyond the end or their dimensions differ.
    """

    __slots__ = ("end", "start")
    _bound_name = "ttnn._ttnn.multi_device.MeshCoordinateRange"

    def __init__(self, *args: object, **kwargs: object) -> None:
        bounds = _bounds(args, kwargs)
        if bounds is None:
            raise incompatible("__init__", _RANGE_CONSTRUCTORS, (self, *args), kwargs)
        self.start, self.end = bounds
        if self.start.dims() != self.end.dims():
            raise fatal(
                f"Start and end dimensions of a coordinate range do not match: {self.start.dims()} != {self.end.dims()}",
                "start.dims() == end.dims()",
                hint="write both ends with as many numbers",
            )
        if any(a > b for a, b in zip(self.start, self.end, strict=True)):
            raise fatal(
                f"Start coordinate is greater than end coordinate: {self.start} > {self.end}",
                "start[i] <= end[i]",
                hint="start is the upper left corner, end the lower right: both are part of the range",
            )

    def dims(self) -> int:
        """The number of dimensions."""
        return self.start.dims()

    def shape(self) -> MeshShape:
        """The extents of the rectangle."""
        return MeshShape([b - a + 1 for a, b in zip(self.start, self.end, strict=True)])

    def contains(self, coord: MeshCoordinate) -> bool:
        """True when the coordinate lies in the rectangle."""
        return all(a <= c <= b for a, c, b in zip(self.start, coord, self.end, strict=True))

    def __iter__(self) -> Iterator[MeshCoordinate]:
        spans = (range(a, b + 1) for a, b in zip(self.start, self.end, strict=True))
        return (MeshCoordinate(values) for values in product(*spans))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MeshCoordinateRange) and self.start == other.start and self.end == other.end

    def __hash__(self) -> int:
        return hash((self.start, self.end))

    def __repr__(self) -> str:
        return f"MeshCoordinateRange(start={self.start}, end={self.end})"


@native("ttnn._ttnn.multi_device.MeshCoordinateRangeSet")
class MeshCoordinateRangeSet(metaclass=Native):
    """Ranges of coordinates that do not overlap; ranges that form a larger rectangle are joined."""

    __slots__ = ("_ranges",)
    _bound_name = "ttnn._ttnn.multi_device.MeshCoordinateRangeSet"

    def __init__(self, *ranges: MeshCoordinateRange, range: MeshCoordinateRange | None = None) -> None:
        self._ranges: list[MeshCoordinateRange] = []
        ranges = ranges if range is None else (*ranges, range)
        if not all(isinstance(entry, MeshCoordinateRange) for entry in ranges):
            raise incompatible(
                "__init__",
                (
                    "__init__(self) -> None",
                    "__init__(self, range: ttnn._ttnn.multi_device.MeshCoordinateRange) -> None",
                ),
                (self, *ranges),
            )
        for entry in ranges:
            self.merge(entry)

    @also_named(range="added")
    def merge(self, added: MeshCoordinateRange) -> None:
        """Add a range: parts already present count once, and what then forms one rectangle becomes one range."""
        if not isinstance(added, MeshCoordinateRange):
            raise incompatible(
                "merge",
                ("merge(self, range: ttnn._ttnn.multi_device.MeshCoordinateRange) -> None",),
                (self, added),
            )
        points = {tuple(c) for r in (*self._ranges, added) for c in r}
        for candidate in (*self._ranges, added):
            if candidate.dims() != added.dims():
                raise fatal(
                    f"Cannot merge ranges of {candidate.dims()} and {added.dims()} dimensions.",
                    hint="keep ranges of other dimensions in a set of their own",
                )
        pending = [added]
        kept = list(self._ranges)
        while pending:
            current = pending.pop()
            partner = next((r for r in kept if _joins(r, current)), None)
            if partner is None:
                kept.append(current)
            else:
                kept.remove(partner)
                pending.append(_hull(partner, current))
        self._ranges = kept if _covers_once(kept, points) else _rows(points)

    def ranges(self) -> list[MeshCoordinateRange]:
        """The ranges."""
        return list(self._ranges)

    def coords(self) -> list[MeshCoordinate]:
        """Every coordinate, range by range."""
        return [c for r in self._ranges for c in r]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MeshCoordinateRangeSet) and set(self._ranges) == set(other._ranges)

    def __hash__(self) -> int:
        return hash(frozenset(self._ranges))

    def empty(self) -> bool:
        """True when there is no range."""
        return not self._ranges

    def size(self) -> int:
        """The number of ranges."""
        return len(self._ranges)

    def __repr__(self) -> str:
        return f"MeshCoordinateRangeSet([{', '.join(map(str, self._ranges))}])"


@public
def compute_distribution_to_mesh_mapping(
    distribution_shape: MeshShape, mesh_shape: MeshShape
) -> list[MeshCoordinate]:
    """The mesh coordinates of a distribution, in its order (reference library 0.81.1).

    A distribution of the mesh's rank that fits dimension by dimension takes the top-left sub-rectangle; any other takes the first
    devices of the mesh in row-major order, at most all of them.
    """
    if fits_as_submesh(distribution_shape, mesh_shape):
        return list(MeshCoordinateRange(distribution_shape)) if distribution_shape.mesh_size() else []
    return row_major(mesh_shape)[: distribution_shape.mesh_size()]


def _bounds(
    args: tuple[object, ...], kwargs: dict[str, object]
) -> tuple[MeshCoordinate, MeshCoordinate] | None:
    values = [*args, *(kwargs[name] for name in ("start", "end", "shape") if name in kwargs)]
    if len(values) != len(args) + len(kwargs):
        return None
    if len(values) == 1 and isinstance(values[0], MeshShape):
        return MeshCoordinate([0] * values[0].dims()), MeshCoordinate(
            [max(extent - 1, 0) for extent in values[0]]
        )
    if len(values) == 2 and isinstance(values[0], MeshCoordinate) and isinstance(values[1], MeshCoordinate):
        return values[0], values[1]
    return None


def _joins(a: MeshCoordinateRange, b: MeshCoordinateRange) -> bool:
    """True when the union of two ranges is a rectangle: one contains the other, or they differ in one touching dimension."""
    apart = [i for i in range(a.dims()) if (a.start[i], a.end[i]) != (b.start[i], b.end[i])]
    if all(a.start[i] <= b.start[i] and b.end[i] <= a.end[i] for i in apart):
        return True
    if all(b.start[i] <= a.start[i] and a.end[i] <= b.end[i] for i in apart):
        return True
    return (
        len(apart) == 1
        and a.start[apart[0]] <= b.end[apart[0]] + 1
        and b.start[apart[0]] <= a.end[apart[0]] + 1
    )


def _hull(a: MeshCoordinateRange, b: MeshCoordinateRange) -> MeshCoordinateRange:
    return MeshCoordinateRange(
        MeshCoordinate([min(x, y) for x, y in zip(a.start, b.start, strict=True)]),
        MeshCoordinate([max(x, y) for x, y in zip(a.end, b.end, strict=True)]),
    )


def _covers_once(ranges: list[MeshCoordinateRange], points: set[tuple[int, ...]]) -> bool:
    return sum(r.shape().mesh_size() for r in ranges) == len(points)


def _rows(points: set[tuple[int, ...]]) -> list[MeshCoordinateRange]:
    """Cut overlapping ranges anew: runs along the last dimension, then equal neighbouring runs joined."""
    runs: list[MeshCoordinateRange] = []
    for point in sorted(points):
        single = MeshCoordinateRange(MeshCoordinate(point), MeshCoordinate(point))
        if runs and point[:-1] == tuple(runs[-1].end)[:-1] and point[-1] == runs[-1].end[-1] + 1:
            runs[-1] = _hull(runs[-1], single)
        else:
            runs.append(single)
    joined: list[MeshCoordinateRange] = []
    for run in runs:
        partner = next((r for r in joined if _joins(r, run)), None)
        if partner is not None:
            joined.remove(partner)
            run = _hull(partner, run)
        joined.append(run)
    return joined
