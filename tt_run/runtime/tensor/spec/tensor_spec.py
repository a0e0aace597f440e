"""What a shard of a tensor is: its logical shape, element type, layout, tile and memory configuration."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import count
from typing import Any

from mgd.lean import dataclass, replace
from tt_run.runtime.cores import CoreRange, CoreRangeSet
from tt_run.runtime.enums import (
    BufferType,
    DataType,
    Layout,
    ShardDistributionStrategy,
    ShardOrientation,
    ShardShapeAlignment,
    TensorMemoryLayout,
    cpp,
)
from tt_run.runtime.errors import fatal, throw
from tt_run.runtime.native.arguments import also_named
from tt_run.runtime.native.classes import Native
from tt_run.runtime.native.refusals import native_class
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    MemoryConfig,
    NdShardSpec,
    ShardSpec,
)
from tt_run.runtime.tensor.spec.shape import Shape as Shape
from tt_run.runtime.tile import TILE_SIZE
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, element_size, tile_bytes


@native_class("ttnn._ttnn.tensor.Tile", "get_tile_size")
@dataclass(frozen=True)
class Tile(metaclass=Native):
    """Height and width of the block that TILE layout stores contiguously."""

    edges: tuple[int, int]
    transpose_tile: bool

    def __init__(self, tile_shape: Sequence[int], transpose_tile: bool = False) -> None:
        """Raises TypeError for what is not two whole numbers, RuntimeError for a size that there is not."""
        if not isinstance(tile_shape, (list, tuple)) or len(tile_shape) != 2:
            raise TypeError(f"Tile(): a height and a width, not {tile_shape!r}")
        height, width = map(operator.index, tile_shape)
        if (height, width) not in _TILE_SHAPES:
            raise throw(
                "Tile size is not valid for our hardware",
                hint="ttnn.Tile((32, 32)); heights are 32, 16, 8, 4, 2 or 1, widths 32 or 16",
            )
        object.__setattr__(self, "edges", (height, width))
        object.__setattr__(self, "transpose_tile", transpose_tile)

    @property
    def tile_shape(self) -> list[int]:
        """Height and width, as a list of the program's own."""
        return list(self.edges)

    @property
    def face_shape(self) -> list[int]:
        """Height and width of the quarters that the matrix engine works on."""
        return [min(self.edges[0], _FACE), min(self.edges[1], _FACE)]

    @property
    def num_faces(self) -> int:
        """How many faces a tile has."""
        return self.edges[0] * self.edges[1] // math.prod(self.face_shape)

    @property
    def partial_face(self) -> int:
        """1 when a tile is lower than 32 rows."""
        return int(self.edges[0] < TILE_SIZE)

    @property
    def narrow_tile(self) -> int:
        """1 when a tile is narrower than 32 columns."""
        return int(self.edges[1] < TILE_SIZE)

    @property
    def transpose_of_faces(self) -> bool:
        """Whether the order of the faces is transposed."""
        return self.transpose_tile

    @property
    def transpose_within_face(self) -> bool:
        """Whether each face is transposed."""
        return self.transpose_tile

    def get_tile_size(self, dtype: DataType) -> int:
        """Bytes of a tile: block floats add one byte of exponent for each 16 elements."""
        return tile_bytes(self.edges[0] * self.edges[1], dtype)

    def __repr__(self) -> str:
        return f"Tile with shape: {list(self.edges)}"


_FACE = 16


_TILE_SHAPES = frozenset((h, w) for w in (32, 16) for h in (32, 16, 8, 4, 2, 1))
DEFAULT_TILE = Tile((TILE_SIZE, TILE_SIZE))


@lru_cache(maxsize=4096)
def padded_shape(dims: tuple[int, ...], layout: Layout, tile: Tile = DEFAULT_TILE) -> Shape:
    """The physical shape: TILE rounds the last two dimensions up to the tile; rank 0 becomes `[1]`, tiled rank 1 gets a row of tiles."""
    if layout is not Layout.TILE:
        return Shape(dims or (1,))
    height, width = tile.edges
    if not dims:
        return Shape((height, width))
    rows, columns = (dims[-2] if len(dims) > 1 else 1), dims[-1]
    return Shape((*dims[:-2], -(-rows // height) * height, -(-columns // width) * width))


_programs = count()


@lru_cache(maxsize=65536)
def _program(dims: tuple[int, ...], dtype: DataType, layout: Layout, memory_config: MemoryConfig) -> int:
    return next(_programs)


@native_class("ttnn._ttnn.tensor.TensorSpec", "height_sharded", "width_sharded", "block_sharded")
@dataclass(frozen=True, repr=False)
class TensorSpec(metaclass=Native):
    """Shape, dtype, layout, memory and tile of each shard: what two tensors must share to use one buffer.

    After the layout come a buffer type; or a memory layout, a shard specification and a buffer type; or an `NdShardSpec` and a buffer
    type; and the tile. A whole MemoryConfig may stand there as well. Raises TypeError for anything else.
    """

    shape: Shape
    dtype: DataType
    layout: Layout
    memory_config: MemoryConfig = DRAM_MEMORY_CONFIG
    tile: Tile = DEFAULT_TILE

    def __init__(
        self,
        shape: Shape | Sequence[int],
        dtype: DataType,
        layout: Layout,
        *place: object,
        memory_config: MemoryConfig | BufferType | None = None,
        memory_layout: TensorMemoryLayout | None = None,
        shard_spec: ShardSpec | None = None,
        nd_shard_spec: NdShardSpec | None = None,
        buffer_type: BufferType | None = None,
        tile: Tile | None = None,
    ) -> None:
        parts: dict[type, Any] = {
            MemoryConfig: memory_config if isinstance(memory_config, MemoryConfig) else None,
            BufferType: memory_config if isinstance(memory_config, BufferType) else buffer_type,
            TensorMemoryLayout: memory_layout,
            ShardSpec: shard_spec,
            NdShardSpec: nd_shard_spec,
            Tile: tile,
        }
        for value in place:
            if type(value) in parts:
                parts[type(value)] = value
            elif value is not None:
                raise TypeError(f"TensorSpec(): a {type(value).__name__} says nothing of memory or tile")
        if not isinstance(dtype, DataType) or not isinstance(layout, Layout):
            raise TypeError("TensorSpec(): a shape, a DataType and a Layout")
        if layout is not Layout.TILE and dtype in BLOCK_FLOATS:
            raise fatal(
                f"Only TILE layout is supported for {dtype.name} dtype!",
                hint="layout=ttnn.TILE_LAYOUT, or dtype=ttnn.bfloat16",
            )
        if layout is not Layout.TILE and parts[Tile] not in (None, DEFAULT_TILE):
            raise fatal(
                "Configuring a ROW MAJOR page config with a custom tile configuration is not supported.",
                hint="layout=ttnn.TILE_LAYOUT, or no tile",
            )
        write = object.__setattr__
        write(self, "shape", shape if isinstance(shape, Shape) else Shape(shape))
        write(self, "dtype", dtype)
        write(self, "layout", layout)
        write(self, "tile", parts[Tile] or DEFAULT_TILE)
        memory, padded = _memory(parts), padded_shape(tuple(self.shape), layout, self.tile).dims
        write(self, "memory_config", sharding.settled(memory, padded, layout, self.tile.edges))

    @classmethod
    def _unchecked(
        cls, shape: Shape, dtype: DataType, layout: Layout, memory_config: MemoryConfig, tile: Tile
    ) -> TensorSpec:
        """A spec that an operation made: its pieces are those of its operands, whether or not they fit."""
        spec = object.__new__(cls)
        if memory_config.is_sharded():
            padded = padded_shape(tuple(shape), layout, tile).dims
            memory_config = sharding.in_both_forms(memory_config, padded, layout)
        for name, value in zip(
            ("shape", "dtype", "layout", "memory_config", "tile"),
            (shape, dtype, layout, memory_config, tile),
            strict=True,
        ):
            object.__setattr__(spec, name, value)
        return spec

    @cached_property
    def program(self) -> int:
        """A number for what a compiled program depends on; the same for equal specs."""
        return _program(self.shape.dims, self.dtype, self.layout, self.memory_config)

    @cached_property
    def kernel(self) -> int:
        """A number for what a program depends on that learns shapes when it runs."""
        return _program((), self.dtype, self.layout, self.memory_config)

    @property
    def padded_shape(self) -> Shape:
        """Physical shape of a shard, padding included; rows that are cut are whole pieces."""
        padded = padded_shape(tuple(self.shape), self.layout, self.tile)
        piece = self.memory_config.shard_spec or self.memory_config.nd_shard_spec
        if self.layout is Layout.TILE or piece is None:
            return padded
        width = (piece.shape if isinstance(piece, ShardSpec) else piece.shard_shape)[-1]
        return Shape((*padded.dims[:-1], -(-padded.dims[-1] // width) * width)) if width else padded

    def height_sharded(
        self, grid: CoreRangeSet, orientation: ShardOrientation = ShardOrientation.ROW_MAJOR
    ) -> TensorSpec:
        """The same tensor with its rows cut over cores."""
        return self._cut_in_two(TensorMemoryLayout.HEIGHT_SHARDED, grid, orientation)

    def width_sharded(
        self, grid: CoreRangeSet, orientation: ShardOrientation = ShardOrientation.ROW_MAJOR
    ) -> TensorSpec:
        """The same tensor with its columns cut over cores."""
        return self._cut_in_two(TensorMemoryLayout.WIDTH_SHARDED, grid, orientation)

    def block_sharded(
        self, grid: CoreRange | CoreRangeSet, orientation: ShardOrientation = ShardOrientation.ROW_MAJOR
    ) -> TensorSpec:
        """The same tensor cut into blocks over a rectangle of cores."""
        return self._cut_in_two(TensorMemoryLayout.BLOCK_SHARDED, grid, orientation)

    @also_named(nd_shard_spec="shard_shape")
    def sharded(
        self,
        shard_shape: Sequence[int] | NdShardSpec,
        grid: CoreRangeSet | ShardShapeAlignment | None = None,
        shard_alignment: ShardShapeAlignment = ShardShapeAlignment.RECOMMENDED,
        orientation: ShardOrientation = ShardOrientation.ROW_MAJOR,
        shard_distribution_strategy: ShardDistributionStrategy = ShardDistributionStrategy.ROUND_ROBIN_1D,
    ) -> TensorSpec:
        """The same tensor in pieces of a shape over cores; also `sharded(nd_shard_spec, shard_alignment)`."""
        if isinstance(shard_shape, NdShardSpec):
            spec = shard_shape
            shard_alignment = grid if isinstance(grid, ShardShapeAlignment) else shard_alignment
        elif isinstance(grid, CoreRangeSet):
            spec = NdShardSpec(list(shard_shape), grid, orientation, shard_distribution_strategy)
        else:
            raise TypeError("sharded(): grid must be a CoreRangeSet")
        memory = sharding.cut(self.layout, self._steps, self._buffer, spec, shard_alignment, self._row_step)
        made = self._unchecked(self.shape, self.dtype, self.layout, memory, self.tile)
        if made.memory_config.shard_spec is not None:
            sharding.check_alignment(made.memory_config.shard_spec, self.layout, self.tile.edges)
        return made

    def sharded_across_dims(
        self,
        dims: Sequence[int],
        grid: CoreRangeSet,
        orientation: ShardOrientation = ShardOrientation.ROW_MAJOR,
    ) -> TensorSpec:
        """The same tensor cut along some dimensions as finely as tiles allow."""
        piece = sharding.smallest_piece(self.padded_shape.dims, dims, self._steps)
        return self.sharded(piece, grid, orientation=orientation)

    def sharded_across_dims_except(
        self,
        dims: Sequence[int],
        grid: CoreRangeSet,
        orientation: ShardOrientation = ShardOrientation.ROW_MAJOR,
    ) -> TensorSpec:
        """The same tensor cut along all dimensions but some."""
        rank = len(self.padded_shape)
        kept = {sharding.dimension(dim, rank) for dim in dims}
        return self.sharded_across_dims([d for d in range(rank) if d not in kept], grid, orientation)

    def _cut_in_two(
        self, kind: TensorMemoryLayout, grid: CoreRange | CoreRangeSet, orientation: ShardOrientation
    ) -> TensorSpec:
        rectangle = kind is TensorMemoryLayout.BLOCK_SHARDED and isinstance(grid, CoreRange)
        if not rectangle and not isinstance(grid, CoreRangeSet):
            raise TypeError(f"grid must be a CoreRangeSet, not {type(grid).__name__}")
        steps = self._steps
        if kind is TensorMemoryLayout.BLOCK_SHARDED and self.layout is not Layout.TILE:
            steps = (1, self._row_step)
        memory = sharding.cut_in_two(kind, self.padded_shape.dims, steps, self._buffer, grid, orientation)
        return replace(self, memory_config=memory)

    @property
    def _steps(self) -> tuple[int, int]:
        return self.tile.edges if self.layout is Layout.TILE else (1, 1)

    @property
    def _row_step(self) -> int:
        """Elements that fill the 64 bytes to which rows of a piece are rounded up."""
        return 64 // element_size(self.dtype)

    @property
    def _buffer(self) -> BufferType:
        return self.memory_config.buffer_type

    def text(self) -> str:
        """All of it in words: an object of the reference prints its address only, in captured graphs and refusals this stands."""
        height, width = self.tile.edges
        face = f"{{{min(height, 16)}, 16}}"
        faces = height * width // (min(height, 16) * 16)
        tile = f"Tile(tile_shape={{{height}, {width}}},face_shape={face},num_faces={faces})"
        tiled = self.layout is Layout.TILE
        page = f"TilePageConfig(tile={tile})" if tiled else "RowMajorPageConfig()"
        alignment = [height, width] if tiled else [1]
        return (
            f"TensorSpec(logical_shape={self.shape},tensor_layout=TensorLayout(dtype={cpp(self.dtype)},"
            f"page_config=PageConfig(config={page}),memory_config={self.memory_config},alignment=Alignment({alignment})))"
        )


def _memory(parts: dict[type, Any]) -> MemoryConfig:
    whole: MemoryConfig | None = parts[MemoryConfig]
    if whole is not None:
        return whole
    buffer: BufferType = parts[BufferType] or BufferType.DRAM
    if parts[NdShardSpec] is not None:
        return MemoryConfig(buffer_type=buffer, nd_shard_spec=parts[NdShardSpec])
    if parts[TensorMemoryLayout] is None and buffer is BufferType.DRAM:
        return DRAM_MEMORY_CONFIG
    return MemoryConfig(parts[TensorMemoryLayout] or TensorMemoryLayout.INTERLEAVED, buffer, parts[ShardSpec])


_specs: dict[tuple[object, ...], tuple[TensorSpec, MemoryConfig]] = {}


def spec_of(
    dims: tuple[int, ...],
    dtype: DataType,
    layout: Layout,
    memory_config: MemoryConfig,
    tile: Tile,
    *,
    fits: bool = False,
) -> TensorSpec:
    """The spec of a shard, one object for all tensors that are alike: programs make the same ones over and over.

    `fits`: raises RuntimeError for pieces that do not fit the shape or their cores.
    """
    fits = fits and memory_config.is_sharded() and not memory_config.nameless
    key = (dims, dtype, layout, id(memory_config), id(tile), fits)
    known = _specs.get(key)
    if known is None:
        if len(_specs) >= 4096:
            _specs.clear()
        if fits:
            sharding.on_cores(memory_config, padded_shape(dims, layout, tile).dims, layout, tile.edges)
        # A key has the configuration by its identity: the entry keeps that one alive.
        made = TensorSpec._unchecked(Shape(dims), dtype, layout, memory_config, tile)
        known = _specs[key] = made, memory_config
    return known[0]
