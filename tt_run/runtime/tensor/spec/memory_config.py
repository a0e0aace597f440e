"""Where a tensor's buffer lies on one device: cores, shard specifications, memory configurations.

Emulated devices have one flat memory, so these values steer nothing; programs build, compare and print them, and the texts
are the reference's (reference library 0.81.1).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from mgd.lean import dataclass, field
from tt_run.runtime.cores import CoreCoord as CoreCoord
from tt_run.runtime.cores import CoreGrid as CoreGrid
from tt_run.runtime.cores import CoreRange as CoreRange
from tt_run.runtime.cores import CoreRangeSet as CoreRangeSet
from tt_run.runtime.cores import json_data, json_text, range_of, set_data
from tt_run.runtime.enums import (
    BufferType,
    ShardDistributionStrategy,
    ShardOrientation,
    ShardStrategy,
    TensorMemoryLayout,
    cpp,
)
from tt_run.runtime.errors import fatal
from tt_run.runtime.native.classes import Native
from tt_run.runtime.native.fields import Checked
from tt_run.runtime.native.refusals import native_class
from tt_run.runtime.tensor.spec.shape import Shape
from tt_run.runtime.tile import TILE_SIZE


@native_class("ttnn._ttnn.tensor.ShardSpec")
@dataclass()
class ShardSpec(Checked, metaclass=Native):
    """Which cores hold the pieces of one device's buffer, and the (height, width) of a piece in elements."""

    grid: CoreRangeSet
    shape: Sequence[int]
    orientation: ShardOrientation

    def __init__(
        self, grid: CoreRangeSet, shard_shape: Sequence[int], shard_orientation: ShardOrientation
    ) -> None:
        """Raises TypeError for anything but a CoreRangeSet, two whole numbers and an orientation."""
        if len(shard_shape) != 2:
            raise TypeError("ShardSpec(): a shape of [height, width]")
        self.grid, self.shape, self.orientation = grid, shard_shape, shard_orientation

    def num_cores(self) -> int:
        """Number of cores that hold a piece."""
        return self.grid.num_cores()

    def __hash__(self) -> int:
        return hash((self.grid, tuple(self.shape), self.orientation))

    def to_json(self) -> str:
        """The JSON text that `from_json` reads."""
        return json_text(_spec_data(self))

    @classmethod
    def from_json(cls, text: str) -> ShardSpec:
        """The specification that a JSON text describes."""
        return _spec_of(json_data(text))

    def __str__(self) -> str:
        return (
            f"ShardSpec{{grid=[{', '.join(_corners(self.grid))}], shape={list(self.shape)}, "
            f"orientation={cpp(self.orientation)}}}"
        )

    __repr__ = __str__


def _corners(grid: CoreRangeSet) -> list[str]:
    """The rectangles as texts, without the brace that closes each: the reference leaves it out of a ShardSpec's text."""
    return [
        f'{{"start":{{"x":{r.start.x},"y":{r.start.y}}},"end":{{"x":{r.end.x},"y":{r.end.y}}}' for r in grid
    ]


@native_class("ttnn._ttnn.tensor.NdShardSpec")
@dataclass()
class NdShardSpec(Checked, metaclass=Native):
    """Pieces of any rank: their shape and the cores that hold them."""

    shard_shape: Shape | Sequence[int]
    grid: CoreRangeSet
    orientation: ShardOrientation = ShardOrientation.ROW_MAJOR
    shard_distribution_strategy: ShardDistributionStrategy = ShardDistributionStrategy.ROUND_ROBIN_1D

    def num_cores(self) -> int:
        """Number of cores that hold a piece."""
        return self.grid.num_cores()

    def to_json(self) -> str:
        """The JSON text that `from_json` reads."""
        return json_text(_nd_data(self))

    @classmethod
    def from_json(cls, text: str) -> NdShardSpec:
        """The specification that a JSON text describes."""
        return _nd_of(json_data(text))

    def __hash__(self) -> int:
        return hash((tuple(self.shard_shape), self.grid, self.orientation, self.shard_distribution_strategy))

    def __str__(self) -> str:
        shape = ", ".join(map(str, self.shard_shape))
        grid = ", ".join(corner + "}" for corner in _corners(self.grid))
        return (
            f'{{"shard_shape":[{shape}],"grid":[{grid}],"orientation":"{cpp(self.orientation)}",'
            f'"shard_distribution_strategy":"{cpp(self.shard_distribution_strategy)}"}}'
        )

    __repr__ = __str__


@native_class("ttnn._ttnn.tensor.MemoryConfig")
@dataclass(frozen=True, eq=False)
class MemoryConfig(metaclass=Native):
    """Memory layout and buffer type of a tensor on each of its devices."""

    memory_layout: TensorMemoryLayout = TensorMemoryLayout.INTERLEAVED
    buffer_type: BufferType = BufferType.DRAM
    shard_spec: ShardSpec | None = None
    nd_shard_spec: NdShardSpec | None = None
    per_core_allocation: bool = field(default=False, init=False)
    range_lockstep_allocation: bool = field(default=False, init=False)
    created_with_nd_shard_spec: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        # A specification may be changed after it was given: the configuration keeps what it was made of.
        for name in ("shard_spec", "nd_shard_spec"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, copy.copy(getattr(self, name)))
        # The other form is MemoryConfig(buffer_type, nd_shard_spec), each by its place or by its name.
        first, second = self.memory_layout, self.buffer_type
        pieces = second if isinstance(second, NdShardSpec) else self.nd_shard_spec
        alone = self.shard_spec is None and (
            isinstance(first, BufferType) or first is TensorMemoryLayout.INTERLEAVED
        )
        if isinstance(pieces, NdShardSpec) and alone:
            object.__setattr__(self, "nd_shard_spec", pieces)
            object.__setattr__(self, "buffer_type", first if isinstance(first, BufferType) else second)
            object.__setattr__(self, "memory_layout", TensorMemoryLayout.ND_SHARDED)
        elif pieces is not None:
            raise TypeError(
                "nd_shard_spec stands beside a buffer_type alone: MemoryConfig(buffer_type, nd_shard_spec)"
            )
        if not isinstance(self.memory_layout, TensorMemoryLayout) or not isinstance(
            self.buffer_type, BufferType
        ):
            raise TypeError(
                "MemoryConfig needs a ttnn.TensorMemoryLayout and a ttnn.BufferType, "
                f"got {self.memory_layout!r} and {self.buffer_type!r}"
            )
        if not isinstance(self.shard_spec, ShardSpec | None):
            raise TypeError(f"shard_spec is a ttnn.ShardSpec, got {self.shard_spec!r}")
        object.__setattr__(self, "created_with_nd_shard_spec", self.nd_shard_spec is not None)

    def recast(self, **changes: Any) -> MemoryConfig:
        """The same configuration, made as this one was, with its pieces in another form."""
        made = MemoryConfig()  # which has found nothing out about itself, as this one may have
        vars(made).update({name: vars(self)[name] for name in vars(made)}, **changes)
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MemoryConfig) or self._place() != other._place():
            return False
        if self.created_with_nd_shard_spec or other.created_with_nd_shard_spec:
            return self.nd_shard_spec == other.nd_shard_spec
        return self.shard_spec == other.shard_spec

    def known_by(self) -> tuple[object, ...] | None:
        """What tells it from others, where it names no pieces: those may be many, and may change."""
        return None if self.shard_spec or self.nd_shard_spec else self._place()

    def _place(self) -> tuple[object, ...]:
        allocated = self.per_core_allocation, self.range_lockstep_allocation
        return self.memory_layout, self.buffer_type, allocated

    def __hash__(self) -> int:
        # Equal ones have the same pieces of a matrix, if they have any, whichever form they were made of.
        return hash((self._place(), self.shard_spec or self.nd_shard_spec))

    def to_json(self) -> str:
        """The JSON text that `from_json` reads."""
        data: dict[str, Any] = {
            "buffer_type": self.buffer_type.value,
            "created_with_nd_shard_spec": self.created_with_nd_shard_spec,
            "memory_layout": self.memory_layout.value,
            "per_core_allocation": self.per_core_allocation,
        }
        if self.shard_spec is not None:
            data["shard_spec"] = _spec_data(self.shard_spec)
        if self.nd_shard_spec is not None:
            data["nd_shard_spec"] = _nd_data(self.nd_shard_spec)
        return json_text(data)

    @classmethod
    def from_json(cls, text: str) -> MemoryConfig:
        """The configuration that a JSON text describes."""
        data = json_data(text)
        spec, nd = data.get("shard_spec"), data.get("nd_shard_spec")
        return memory_of(
            TensorMemoryLayout(data["memory_layout"]),
            BufferType(data["buffer_type"]),
            _spec_of(spec) if spec else None,
            _nd_of(nd) if nd else None,
            made_of_any_rank=data.get("created_with_nd_shard_spec", False),
        )

    def experimental_set_per_core_allocation(self, enable: bool) -> None:
        """Ask for an address of its own on each core. Raises RuntimeError for memory other than L1."""
        self._set_in_l1("per_core_allocation", enable)

    def experimental_set_range_lockstep_allocation(self, enable: bool) -> None:
        """Ask for one address that is kept free on the buffer's own cores. Raises RuntimeError for memory other than L1."""
        self._set_in_l1("range_lockstep_allocation", enable)

    def _set_in_l1(self, name: str, enable: bool) -> None:
        if enable and self.buffer_type is not BufferType.L1:
            raise fatal(
                f"{name} is only supported for L1 buffers",
                "config.buffer_type() == BufferType::L1",
                hint="name ttnn.BufferType.L1",
            )
        object.__setattr__(self, name, bool(enable))

    def is_sharded(self) -> bool:
        """Whether the buffer of one device is cut over cores."""
        return self.memory_layout is not TensorMemoryLayout.INTERLEAVED

    @cached_property
    def nameless(self) -> bool:
        """Whether it asks for shards and does not say on which cores."""
        return self.is_sharded() and self.shard_spec is None and self.nd_shard_spec is None

    @property
    def interleaved(self) -> bool:
        """Whether the buffer of one device is spread over all banks."""
        return self.memory_layout is TensorMemoryLayout.INTERLEAVED

    def __str__(self) -> str:
        nd = "std::nullopt" if self.nd_shard_spec is None else str(self.nd_shard_spec)
        shard = "std::nullopt" if self.shard_spec is None else str(self.shard_spec)
        return (
            f"MemoryConfig(memory_layout={cpp(self.memory_layout)},buffer_type={cpp(self.buffer_type)},"
            f"shard_spec={shard},nd_shard_spec={nd},created_with_nd_shard_spec={int(self.created_with_nd_shard_spec)},"
            f"per_core_allocation={int(self.per_core_allocation)},"
            f"range_lockstep_allocation={int(self.range_lockstep_allocation)})"
        )

    __repr__ = __str__


def _spec_data(spec: ShardSpec) -> dict[str, Any]:
    return {
        "grid": set_data(spec.grid),
        "orientation": spec.orientation.value,
        "shape": list(spec.shape),
    }


def _spec_of(data: dict[str, Any]) -> ShardSpec:
    grid = CoreRangeSet([range_of(entry) for entry in data["grid"]])
    return ShardSpec(grid, data["shape"], ShardOrientation(data["orientation"]))


def _nd_data(spec: NdShardSpec) -> dict[str, Any]:
    return {
        "grid": set_data(spec.grid),
        "orientation": spec.orientation.value,
        "shard_distribution_strategy": spec.shard_distribution_strategy.value,
        "shard_shape": list(spec.shard_shape),
    }


def _nd_of(data: dict[str, Any]) -> NdShardSpec:
    return NdShardSpec(
        data["shard_shape"],
        CoreRangeSet([range_of(entry) for entry in data["grid"]]),
        ShardOrientation(data["orientation"]),
        ShardDistributionStrategy(data["shard_distribution_strategy"]),
    )


_STRATEGY_LAYOUT = {
    ShardStrategy.HEIGHT: TensorMemoryLayout.HEIGHT_SHARDED,
    ShardStrategy.WIDTH: TensorMemoryLayout.WIDTH_SHARDED,
    ShardStrategy.BLOCK: TensorMemoryLayout.BLOCK_SHARDED,
}


def create_sharded_memory_config(
    shape: Sequence[int],
    core_grid: CoreGrid | CoreRangeSet,
    strategy: ShardStrategy,
    orientation: ShardOrientation | None = None,
    use_height_and_width_as_shard_shape: bool = False,
) -> MemoryConfig:
    """An L1 configuration that cuts a tensor of `shape` over a grid of cores.

    The tensor counts as a matrix of all leading dimensions by the last one; the shape of a CoreRangeSet is that of a piece, read width first
    where pieces go down the columns of cores. Raises RuntimeError for a tensor that does not divide evenly and for an argument of another type.
    """
    if not isinstance(shape, (list, tuple, Shape)):
        raise fatal(
            "Invalid input shape", hint=f"a list, a tuple or a ttnn.Shape, not {type(shape).__name__}"
        )
    *leading, height, width = shape
    orientation = ShardOrientation.ROW_MAJOR if orientation is None else orientation
    if not isinstance(strategy, ShardStrategy):
        raise fatal("Invalid sharding strategy", hint=f"a ttnn.ShardStrategy, not {type(strategy).__name__}")
    if not isinstance(orientation, ShardOrientation):
        raise fatal("Invalid shard orientation", hint="a ttnn.ShardOrientation")
    if not isinstance(core_grid, (CoreGrid, CoreRangeSet)):
        raise fatal(
            "Invalid core_grid type",
            hint=f"a ttnn.CoreGrid or a ttnn.CoreRangeSet, not {type(core_grid).__name__}",
        )
    grid = _as_range_set(core_grid)
    if use_height_and_width_as_shard_shape:
        spec = ShardSpec(grid, _piece(height, width, orientation), orientation)
        return MemoryConfig(_STRATEGY_LAYOUT[strategy], BufferType.L1, spec)
    if isinstance(core_grid, CoreRangeSet):
        raise fatal(
            "height and width must be shard shape with CoreRangeSet",
            hint="use_height_and_width_as_shard_shape=True, or a ttnn.CoreGrid",
        )
    height *= math.prod(leading)
    rows, columns = _cuts(grid, strategy, orientation)
    if height % rows or width % columns:
        raise fatal(
            "Invalid sharding core_grid",
            hint=f"{height}x{width} elements do not divide over {rows}x{columns} cores",
        )
    spec = ShardSpec(grid, [height // rows, width // columns], orientation)
    return MemoryConfig(_STRATEGY_LAYOUT[strategy], BufferType.L1, spec)


def _piece(height: int, width: int, orientation: ShardOrientation) -> list[int]:
    """The shape of a piece given as such: the reference turns it around where pieces go down the columns."""
    return [height, width] if orientation is ShardOrientation.ROW_MAJOR else [width, height]


def _as_range_set(grid: CoreGrid | CoreRange | CoreRangeSet) -> CoreRangeSet:
    if isinstance(grid, CoreGrid):
        return CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(grid.x - 1, grid.y - 1))])
    if isinstance(grid, CoreRange):
        return CoreRangeSet([grid])
    if isinstance(grid, CoreRangeSet):
        return grid
    raise TypeError(f"core_grid must be a CoreGrid, CoreRange or CoreRangeSet, got {type(grid).__name__}")


def _cuts(grid: CoreRangeSet, strategy: ShardStrategy, orientation: ShardOrientation) -> tuple[int, int]:
    """Into how many parts height and width are cut."""
    if strategy is ShardStrategy.HEIGHT:
        return grid.num_cores(), 1
    if strategy is ShardStrategy.WIDTH:
        return 1, grid.num_cores()
    size = grid.bounding_box().grid_size()
    return (size.y, size.x) if orientation is ShardOrientation.ROW_MAJOR else (size.x, size.y)


def create_sharded_memory_config_(
    shape: Sequence[int],
    core_grid: CoreGrid | CoreRange | CoreRangeSet,
    strategy: ShardStrategy | TensorMemoryLayout,
    orientation: ShardOrientation,
    use_height_and_width_as_shard_shape: bool = False,
    tile_layout: bool = False,
) -> MemoryConfig:
    """As `create_sharded_memory_config`, with a piece rounded up where the tensor does not divide evenly.

    `tile_layout`: blocks get whole tiles of rows, and what is not cut must be whole tiles; else it raises RuntimeError.
    """
    layout = strategy if isinstance(strategy, TensorMemoryLayout) else _STRATEGY_LAYOUT[strategy]
    kind = next(kind for kind, known in _STRATEGY_LAYOUT.items() if known is layout)
    grid = _as_range_set(core_grid)
    height, width = math.prod(shape[:-1]), shape[-1]
    if use_height_and_width_as_shard_shape:
        height, width = _piece(shape[-2], width, orientation)
    elif kind is ShardStrategy.BLOCK and len(grid.ranges()) > 1:
        raise RuntimeError("Invalid CoreRangeSet for block sharding strategy")
    else:
        rows, columns = _cuts(grid, kind, orientation)
        whole = {ShardStrategy.HEIGHT: width, ShardStrategy.WIDTH: height}.get(kind, 0)
        if tile_layout and whole % TILE_SIZE:
            raise RuntimeError(f"Incorrect tensor shape: {whole} elements are not whole tiles of {TILE_SIZE}")
        if tile_layout and kind is ShardStrategy.BLOCK:
            height = -(-height // (TILE_SIZE * rows)) * TILE_SIZE
        else:
            height = -(-height // rows)
        width = -(-width // columns)
    return MemoryConfig(layout, BufferType.L1, ShardSpec(grid, [height, width], orientation))


def memory_of(
    layout: TensorMemoryLayout,
    buffer: BufferType,
    matrix: ShardSpec | None,
    any_rank: NdShardSpec | None,
    *,
    made_of_any_rank: bool,
) -> MemoryConfig:
    """The configuration that was taken apart into these pieces; `made_of_any_rank` says which of two the program gave."""
    if any_rank is None:
        return MemoryConfig(layout, buffer, matrix)
    if made_of_any_rank or matrix is None:
        made = MemoryConfig(buffer_type=buffer, nd_shard_spec=any_rank)
        return made.recast(memory_layout=layout, shard_spec=matrix)
    return MemoryConfig(layout, buffer, matrix).recast(nd_shard_spec=any_rank)


DRAM_MEMORY_CONFIG = MemoryConfig()
L1_MEMORY_CONFIG = MemoryConfig(buffer_type=BufferType.L1)
L1_HEIGHT_SHARDED_MEMORY_CONFIG, L1_WIDTH_SHARDED_MEMORY_CONFIG, L1_BLOCK_SHARDED_MEMORY_CONFIG = (
    MemoryConfig(_STRATEGY_LAYOUT[strategy], BufferType.L1) for strategy in ShardStrategy
)
