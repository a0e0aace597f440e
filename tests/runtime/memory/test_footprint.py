"""Bytes of tensors on a device, counted by hand."""

from __future__ import annotations

import pytest

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.memory.footprint import footprint
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    ShardSpec,
)
from tt_run.runtime.tensor.spec.tensor_spec import Shape, TensorSpec

WORMHOLE, BLACKHOLE = "WORMHOLE_B0", "BLACKHOLE"
GRID = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(3, 0))])
HEIGHT = MemoryConfig(
    TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, ShardSpec(GRID, [32, 64], ShardOrientation.ROW_MAJOR)
)


@pytest.mark.parametrize(
    ("shape", "dtype", "layout", "memory", "arch", "expected"),
    [
        # 6 tiles of 2048 B, one on each of six banks
        ([64, 96], DataType.BFLOAT16, Layout.TILE, DRAM_MEMORY_CONFIG, WORMHOLE, (6 * 2048, 2048, 6)),
        # padded to tiles
        ([1, 1], DataType.BFLOAT16, Layout.TILE, DRAM_MEMORY_CONFIG, WORMHOLE, (2048, 2048, 1)),
        # 13 tiles over 12 banks: one holds two
        ([32, 416], DataType.BFLOAT16, Layout.TILE, DRAM_MEMORY_CONFIG, WORMHOLE, (13 * 2048, 4096, 12)),
        # a tile of bfloat8_b is 1088 B
        ([32, 32], DataType.BFLOAT8_B, Layout.TILE, DRAM_MEMORY_CONFIG, WORMHOLE, (1088, 1088, 1)),
        # rows of 6 B, each aligned: 32 B in DRAM of one architecture, 64 in that of the other, 16 in L1,
        # where a buffer ends at a multiple of 32
        ([4, 3], DataType.BFLOAT16, Layout.ROW_MAJOR, DRAM_MEMORY_CONFIG, WORMHOLE, (4 * 32, 32, 4)),
        ([4, 3], DataType.BFLOAT16, Layout.ROW_MAJOR, DRAM_MEMORY_CONFIG, BLACKHOLE, (4 * 64, 64, 4)),
        ([4, 3], DataType.BFLOAT16, Layout.ROW_MAJOR, L1_MEMORY_CONFIG, WORMHOLE, (4 * 16, 32, 4)),
        # four cores with two tiles each; the last of them is only partly full but takes its whole piece
        ([128, 64], DataType.BFLOAT16, Layout.TILE, HEIGHT, WORMHOLE, (4 * 4096, 4096, 4)),
        ([100, 64], DataType.BFLOAT16, Layout.TILE, HEIGHT, WORMHOLE, (4 * 4096, 4096, 4)),
        # half the rows: two cores hold nothing
        ([64, 64], DataType.BFLOAT16, Layout.TILE, HEIGHT, WORMHOLE, (2 * 4096, 4096, 2)),
    ],
)
def test_bytes(
    shape: list[int],
    dtype: DataType,
    layout: Layout,
    memory: MemoryConfig,
    arch: str,
    expected: tuple[int, int, int],
) -> None:
    found = footprint(TensorSpec(Shape(shape), dtype, layout, memory), arch)
    assert (found.total, found.per_bank, found.banks) == expected
    assert found.kind == ("L1" if memory.buffer_type is BufferType.L1 else "DRAM")
