"""A product as its program configuration sees it: sizes in tiles, batches, and where operands and result lie."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from mgd.lean import dataclass
from tt_run.runtime.cores import CoreCoord, CoreRangeSet, core_of
from tt_run.runtime.enums import BufferType, DataType, ShardOrientation, TensorMemoryLayout, cpp
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig, ShardSpec
from tt_run.runtime.tensor.tensor import Tensor

Wrong = Iterator[tuple[str, str]]
"""What is wrong with a configuration, the first of it first: the words, and what to type instead."""

_REGISTERS = 8


@dataclass(frozen=True)
class ProductCall:
    """Both operands, whether they are turned, what the call asks of the result, and the program that is to compute it."""

    a: Tensor
    b: Tensor
    program: Any
    transpose_a: bool = False
    transpose_b: bool = False
    asked: MemoryConfig | None = None
    dtype: DataType | None = None
    compute: Any = None

    @property
    def output(self) -> MemoryConfig:
        return self.asked or DRAM_MEMORY_CONFIG

    @property
    def tile_a(self) -> tuple[int, int]:
        """Height and width of a tile of the first operand, as it is multiplied."""
        high, wide = self.a.tile.edges
        return (wide, high) if self.transpose_a else (high, wide)

    @property
    def tile_b(self) -> tuple[int, int]:
        high, wide = self.b.tile.edges
        return (wide, high) if self.transpose_b else (high, wide)

    @property
    def tile(self) -> tuple[int, int]:
        """Height and width of a tile of the product."""
        return self.tile_a[0], self.tile_b[1]

    @property
    def batches(self) -> tuple[int, int]:
        return tuple(math.prod(t.shape.dims[:-2]) for t in (self.a, self.b))  # type: ignore[return-value]

    @property
    def inner(self) -> int:
        """Tiles along the dimension that both have."""
        return _padded(self.a)[-2 if self.transpose_a else -1] // self.tile_a[1]

    @property
    def wide(self) -> int:
        """Tiles of a row of the result."""
        return _padded(self.b)[-2 if self.transpose_b else -1] // self.tile_b[1]

    def high(self, fused: bool) -> int:
        """Tiles of a column of the result: of all batches together where they are `fused`, else of one."""
        one = _padded(self.a)[-1 if self.transpose_a else -2] // self.tile_a[0]
        return one * (self.batches[0] if fused else 1)

    @property
    def registers(self) -> int:
        """Tiles that a core adds up at a time."""
        wide = self.compute.fp32_dest_acc_en if self.compute is not None else self.dtype is DataType.FLOAT32
        return _REGISTERS // 2 if wide else _REGISTERS

    @property
    def device_cores(self) -> CoreCoord:
        device = self.a.device()
        assert device is not None
        return device.compute_with_storage_grid_size()

    @property
    def cores(self) -> CoreCoord:
        return core_of(self.program.compute_with_storage_grid_size)


def _padded(tensor: Tensor) -> tuple[int, ...]:
    dims = tensor.padded_shape.dims
    return dims if len(dims) > 1 else (1, *dims)


def layout_of(tensor: Tensor) -> TensorMemoryLayout:
    return tensor.memory_config().memory_layout


def shard_of(tensor: Tensor) -> ShardSpec | None:
    return tensor.memory_config().shard_spec


def shard_tiles(tensor: Tensor, tile: tuple[int, int]) -> tuple[int, int]:
    """Height and width of a tensor's shard in tiles."""
    spec = shard_of(tensor)
    assert spec is not None
    return spec.shape[0] // tile[0], spec.shape[1] // tile[1]


def in_l1(tensor: Tensor) -> bool:
    """Whether a tensor is cut over cores, and not over banks of DRAM."""
    memory = tensor.memory_config()
    return memory.is_sharded() and memory.buffer_type is not BufferType.DRAM


def beyond(grid: CoreRangeSet, cores: CoreCoord) -> bool:
    """Whether some of the cores are not among the first `cores` of the device."""
    end = grid.bounding_box().end
    return end.x >= cores.x or end.y >= cores.y


def lies_alike(call: ProductCall) -> Wrong:
    """A result in shards lies as the first operand does."""
    held, asked = call.a.memory_config(), call.output
    if held.buffer_type is not asked.buffer_type:
        yield (
            f"input A and output buffer types must match, got input: {cpp(held.buffer_type)} vs output: {cpp(asked.buffer_type)}",
            f"memory_config=ttnn.MemoryConfig(…, ttnn.BufferType.{held.buffer_type.name})",
        )
    if held.memory_layout is not asked.memory_layout:
        yield (
            "input A and output memory layouts must match, got input: "
            f"{cpp(held.memory_layout)} vs output: {cpp(asked.memory_layout)}",
            "leave memory_config out, or ask for the first operand's",
        )


def by_rows(call: ProductCall, word: str = "input A") -> Wrong:
    """Shards of the first operand go row by row."""
    spec = shard_of(call.a)
    if spec is not None and spec.orientation is not ShardOrientation.ROW_MAJOR:
        yield (
            f"{word} shard orientation must be ROW_MAJOR, got: {cpp(spec.orientation)}",
            "ShardSpec(…, ttnn.ShardOrientation.ROW_MAJOR)",
        )


def check_cores(call: ProductCall, cores: CoreCoord) -> Wrong:
    """The cores that the call names for its result are among those there are."""
    asked = call.output
    if asked.shard_spec is None or asked.buffer_type is BufferType.DRAM:
        return
    if beyond(asked.shard_spec.grid, cores):
        yield (
            f"output shard grid {asked.shard_spec.grid} must lie within extent {cores}",
            "name cores below compute_with_storage_grid_size, or none: ttnn.L1_WIDTH_SHARDED_MEMORY_CONFIG and its kin",
        )


def whole_rows(call: ProductCall) -> Wrong:
    """A result in shards is written a row of a block at a time."""
    p = call.program
    for part in ("out_subblock", "out_block"):
        width, height = getattr(p, f"{part}_w"), getattr(p, f"{part}_h")
        if width != p.per_core_N and height != 1:
            yield (
                f"{part}_w ({width}) must equal per_core_N ({p.per_core_N}) or {part}_h ({height}) must be 1",
                f"{part}_h=1, or {part}_w={p.per_core_N}",
            )


def divisor(size: int, most: int) -> int:
    """The largest part of up to `most` that divides a size."""
    return next(part for part in range(min(size, most), 0, -1) if size % part == 0)


def too_high(block: int, high: int) -> tuple[str, str]:
    """What is wrong with blocks that are higher than the result."""
    return (
        f"per_core_M ({block}) exceeds Mt ({high}). Each core would compute more output row tiles than the tensor has. Reduce per_core_M to "
        "at most Mt.",
        f"per_core_M={high}",
    )
