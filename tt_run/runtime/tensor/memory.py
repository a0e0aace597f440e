"""Where a tensor's buffer lies on one device: cores, shard specifications, memory configurations.

Emulated devices have one flat memory, so these values steer nothing; programs build, compare and print them, and the texts
are the reference's (runtime specification, section 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tt_run.runtime.enums import BufferType, ShardOrientation, TensorMemoryLayout, cpp


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


@dataclass(frozen=True)
class ShardSpec:
    """Which cores hold the pieces of one device's buffer, and the (height, width) of a piece in elements."""

    grid: CoreRangeSet
    shape: Sequence[int]
    orientation: ShardOrientation = ShardOrientation.ROW_MAJOR

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", list(self.shape))

    def num_cores(self) -> int:
        """Number of cores that hold a piece."""
        return self.grid.num_cores()

    def __hash__(self) -> int:
        return hash((self.grid, tuple(self.shape), self.orientation))

    def __str__(self) -> str:
        corners = ", ".join(
            f'{{"start":{{"x":{r.start.x},"y":{r.start.y}}},"end":{{"x":{r.end.x},"y":{r.end.y}}}'
            for r in self.grid
        )
        return f"ShardSpec{{grid=[{corners}], shape={list(self.shape)}, orientation={cpp(self.orientation)}}}"

    __repr__ = __str__


@dataclass(frozen=True)
class NdShardSpec:
    """Pieces of any rank: their shape and the cores that hold them."""

    shard_shape: Sequence[int]
    grid: CoreRangeSet
    orientation: ShardOrientation = ShardOrientation.ROW_MAJOR

    def __post_init__(self) -> None:
        object.__setattr__(self, "shard_shape", list(self.shard_shape))

    def __hash__(self) -> int:
        return hash((tuple(self.shard_shape), self.grid, self.orientation))


@dataclass(frozen=True)
class MemoryConfig:
    """Memory layout and buffer type of a tensor on each of its devices."""

    memory_layout: TensorMemoryLayout = TensorMemoryLayout.INTERLEAVED
    buffer_type: BufferType = BufferType.DRAM
    shard_spec: ShardSpec | None = None
    nd_shard_spec: NdShardSpec | None = None

    def is_sharded(self) -> bool:
        """Whether the buffer of one device is cut over cores."""
        return self.memory_layout is not TensorMemoryLayout.INTERLEAVED

    @property
    def interleaved(self) -> bool:
        """Whether the buffer of one device is spread over all banks."""
        return self.memory_layout is TensorMemoryLayout.INTERLEAVED

    def __str__(self) -> str:
        nd = "std::nullopt" if self.nd_shard_spec is None else str(self.nd_shard_spec)
        shard = "std::nullopt" if self.shard_spec is None else str(self.shard_spec)
        return (
            f"MemoryConfig(memory_layout={cpp(self.memory_layout)},buffer_type={cpp(self.buffer_type)},"
            f"shard_spec={shard},nd_shard_spec={nd},created_with_nd_shard_spec={int(self.nd_shard_spec is not None)},"
            "per_core_allocation=0,range_lockstep_allocation=0)"
        )

    __repr__ = __str__


DRAM_MEMORY_CONFIG = MemoryConfig()
L1_MEMORY_CONFIG = MemoryConfig(buffer_type=BufferType.L1)
