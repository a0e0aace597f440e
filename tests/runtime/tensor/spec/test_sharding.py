"""Tensors in pieces over cores: which cut of a matrix pieces of any rank are, and how large pieces become (reference library 0.81.1)."""

from __future__ import annotations

import pytest

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import (
    BufferType,
    DataType,
    Layout,
    ShardOrientation,
    ShardShapeAlignment,
    TensorMemoryLayout,
)
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    MemoryConfig,
    NdShardSpec,
    ShardSpec,
)
from tt_run.runtime.tensor.spec.sharding import completed, smallest_piece
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec, Tile, padded_shape

RECTANGLE = CoreRange(CoreCoord(0, 0), CoreCoord(3, 1))
GRID = CoreRangeSet([RECTANGLE])
HEIGHT, WIDTH, BLOCK, ND = (
    TensorMemoryLayout.HEIGHT_SHARDED,
    TensorMemoryLayout.WIDTH_SHARDED,
    TensorMemoryLayout.BLOCK_SHARDED,
    TensorMemoryLayout.ND_SHARDED,
)


@pytest.mark.parametrize(
    ("shape", "piece", "layout", "as_matrix"),
    [
        ((32, 32), (32, 64), WIDTH, (32, 64)),
        ((1, 128, 128), (128, 64), WIDTH, (128, 64)),
        ((1, 64, 128), (64, 128), WIDTH, (64, 128)),
        ((128, 64), (128, 32), WIDTH, (128, 32)),
        ((96, 128), (96, 32), WIDTH, (96, 32)),
        ((4, 3, 64, 128), (4, 3, 64, 32), WIDTH, (768, 32)),
        ((128, 32), (128, 128), WIDTH, (128, 128)),
        ((1, 1, 32, 128), (1, 32, 128), WIDTH, (32, 128)),
        ((64, 32), (64, 128), WIDTH, (64, 128)),
        ((96, 128), (128, 128), HEIGHT, (128, 128)),
        ((1, 64, 32), (128, 32), HEIGHT, (128, 32)),
        ((4, 64, 32), (96, 32), HEIGHT, (96, 32)),
        ((128, 128), (96, 128), HEIGHT, (96, 128)),
        ((64, 64), (96, 64), HEIGHT, (96, 64)),
        ((2, 1, 32, 64), (4, 32, 64), HEIGHT, (128, 64)),
        ((2, 1, 96, 32), (1, 32, 32), HEIGHT, (32, 32)),
        ((1, 4, 32, 64), (1, 32, 64), HEIGHT, (32, 64)),
        ((1, 1, 64, 128), (3, 64, 128), HEIGHT, (192, 128)),
        ((3, 64, 128), (128, 32), BLOCK, (128, 32)),
        ((96, 128), (128, 32), BLOCK, (128, 32)),
        ((32, 128), (64, 32), BLOCK, (64, 32)),
        ((32, 128), (128, 32), BLOCK, (128, 32)),
        ((64, 128), (32, 32), BLOCK, (32, 32)),
        ((1, 64, 64), (2, 96, 32), ND, None),
        ((96, 32), (64, 96), ND, None),
        ((2, 128, 128), (3, 96, 64), ND, None),
        ((3, 3, 96, 96), (2, 3, 96, 32), ND, None),
        ((96, 64), (128, 96), ND, None),
        ((4, 1, 128, 32), (3, 4, 96, 128), ND, None),
        ((1, 1, 96, 96), (2, 4, 32, 128), ND, None),
        ((2, 3, 64, 64), (1, 2, 64, 64), ND, None),
        ((2, 3, 64, 64), (1, 4, 64, 64), ND, None),
        ((1, 3, 64, 64), (1, 4, 64, 64), HEIGHT, (256, 64)),
        ((2, 2, 64, 64), (1, 1, 96, 64), ND, None),
        ((1, 2, 64, 64), (1, 1, 96, 64), ND, None),
        ((1, 1, 64, 64), (1, 1, 128, 64), HEIGHT, (128, 64)),
        ((1, 1, 96, 64), (1, 1, 64, 64), HEIGHT, (64, 64)),
        ((2, 1, 96, 64), (1, 1, 64, 64), ND, None),
        ((2, 96, 64), (64, 64), HEIGHT, (64, 64)),
        ((2, 4, 64, 64), (1, 3, 64, 64), ND, None),
        ((1, 4, 64, 64), (1, 3, 64, 64), HEIGHT, (192, 64)),
        ((2, 2, 2, 32, 32), (1, 2, 2, 32, 32), HEIGHT, (128, 32)),
        ((2, 2, 64, 64), (2, 1, 64, 64), ND, None),
    ],
)
def test_pieces_that_are_a_cut_of_a_matrix(
    shape: tuple[int, ...],
    piece: tuple[int, ...],
    layout: TensorMemoryLayout,
    as_matrix: tuple[int, int] | None,
) -> None:
    spec = TensorSpec(shape, DataType.BFLOAT16, Layout.TILE, BufferType.L1)
    memory = spec.sharded(NdShardSpec(list(piece), GRID), ShardShapeAlignment.REQUIRED).memory_config
    assert memory.memory_layout is layout
    assert (None if memory.shard_spec is None else tuple(memory.shard_spec.shape)) == as_matrix
    assert memory.nd_shard_spec is not None and tuple(memory.nd_shard_spec.shard_shape) == piece


@pytest.mark.parametrize(
    ("dtype", "shape", "by_height", "by_width", "by_row", "by_column"),
    [
        ("BFLOAT16", (50, 70), (7, 70), (50, 9), (25, 32), (13, 64)),
        ("BFLOAT16", (3, 100, 200), (38, 200), (300, 25), (150, 64), (75, 128)),
        ("FLOAT32", (50, 70), (7, 70), (50, 9), (25, 32), (13, 48)),
        ("FLOAT32", (3, 100, 200), (38, 200), (300, 25), (150, 64), (75, 112)),
        ("UINT8", (50, 70), (7, 70), (50, 9), (25, 64), (13, 64)),
        ("UINT8", (3, 100, 200), (38, 200), (300, 25), (150, 64), (75, 128)),
    ],
)
def test_pieces_of_rows_without_tiles(
    dtype: str,
    shape: tuple[int, ...],
    by_height: tuple[int, int],
    by_width: tuple[int, int],
    by_row: tuple[int, int],
    by_column: tuple[int, int],
) -> None:
    """Rows of blocks are filled up to 64 bytes, those of other cuts are not."""
    spec = TensorSpec(shape, DataType[dtype], Layout.ROW_MAJOR, BufferType.L1)
    made = (
        spec.height_sharded(GRID),
        spec.width_sharded(GRID),
        spec.block_sharded(RECTANGLE, ShardOrientation.ROW_MAJOR),
        spec.block_sharded(RECTANGLE, ShardOrientation.COL_MAJOR),
    )
    found = [each.memory_config.shard_spec for each in made]
    assert [tuple(each.shape) for each in found if each] == [by_height, by_width, by_row, by_column]


@pytest.mark.parametrize(("dtype", "width"), [("BFLOAT16", 32), ("FLOAT32", 32), ("UINT8", 64)])
def test_rows_are_filled_where_that_is_recommended(dtype: str, width: int) -> None:
    spec = TensorSpec((50, 70), DataType[dtype], Layout.ROW_MAJOR, BufferType.L1)
    pieces = NdShardSpec([25, 18], GRID)
    for alignment, wanted in ((ShardShapeAlignment.RECOMMENDED, width), (ShardShapeAlignment.REQUIRED, 18)):
        memory = spec.sharded(pieces, alignment).memory_config
        assert memory.nd_shard_spec is not None and tuple(memory.nd_shard_spec.shard_shape) == (25, wanted)


@pytest.mark.parametrize(
    ("piece", "width"), [((37, 16), 48), ((37, 32), 64), ((8, 45), 45), ((8, 48), 48)], ids=str
)
def test_rows_that_are_cut_are_whole_pieces(piece: tuple[int, int], width: int):
    memory = NdShardSpec([1, 1, *piece], GRID)
    spec = TensorSpec([1, 1, 37, 45], DataType.BFLOAT16, Layout.ROW_MAJOR, memory, BufferType.L1)
    assert list(spec.padded_shape) == [1, 1, 37, width]


@pytest.mark.parametrize(
    ("layout", "padded", "piece", "cores"),
    [
        (BLOCK, (1, 1, 1280, 256), [320, 32], "{[0-0 - 7-3]}"),
        (BLOCK, (1, 2, 640, 64), [320, 32], "{[0-0 - 1-3]}"),
        (BLOCK, (32, 4096), [32, 512], "{[0-0 - 7-0]}"),
        (HEIGHT, (1, 1, 1280, 256), [64, 256], "{[0-0 - 7-1], [0-2 - 3-2]}"),
        (HEIGHT, (32, 4096), [32, 4096], "{[0-0 - 0-0]}"),
        (WIDTH, (1, 2, 640, 64), [1280, 32], "{[0-0 - 1-0]}"),
        (WIDTH, (32, 4096), [32, 128], "{[0-0 - 7-3]}"),
    ],
)
def test_a_configuration_without_cores_takes_as_many_as_there_are_pieces(
    layout: TensorMemoryLayout, padded: tuple[int, ...], piece: list[int], cores: str
) -> None:
    wanted = MemoryConfig(layout, BufferType.L1)
    spec = completed(wanted, DRAM_MEMORY_CONFIG, padded, (32, 32), CoreCoord(8, 4)).shard_spec
    assert spec is not None and spec.orientation is ShardOrientation.ROW_MAJOR
    assert (list(spec.shape), str(spec.grid)) == (piece, cores)


def test_a_configuration_without_cores_takes_those_of_its_operand() -> None:
    like = MemoryConfig(HEIGHT, BufferType.L1, ShardSpec(GRID, (64, 32), ShardOrientation.COL_MAJOR))
    wanted = MemoryConfig(HEIGHT, BufferType.L1)
    spec = completed(wanted, like, (1, 1, 512, 64), (32, 32), CoreCoord(8, 4)).shard_spec
    assert spec is not None
    assert (list(spec.shape), spec.grid, spec.orientation) == ([64, 64], GRID, ShardOrientation.COL_MAJOR)


@pytest.mark.parametrize(
    ("dims", "tile", "padded"),
    [
        ((), (16, 32), [16, 32]),
        ((5,), (1, 32), [1, 32]),
        ((33,), (32, 16), [32, 48]),
        ((3, 0), (2, 16), [4, 0]),
        ((2, 33, 32), (32, 32), [2, 64, 32]),
    ],
)
def test_tiles_fill_up_the_last_two_dimensions(
    dims: tuple[int, ...], tile: tuple[int, int], padded: list[int]
) -> None:
    assert list(padded_shape(dims, Layout.TILE, Tile(tile))) == padded
    assert list(padded_shape(dims, Layout.ROW_MAJOR, Tile(tile))) == list(dims or (1,))


@pytest.mark.parametrize(
    ("padded", "dims", "piece"),
    [
        ((2, 3, 64, 96), (-1,), [2, 3, 64, 16]),
        ((2, 3, 64, 96), (0, -2), [1, 3, 32, 96]),
        ((64, 96), (0, 1), [32, 16]),
    ],
)
def test_the_finest_cut_along_some_dimensions(
    padded: tuple[int, ...], dims: tuple[int, ...], piece: list[int]
) -> None:
    assert smallest_piece(padded, dims, (32, 16)) == piece
