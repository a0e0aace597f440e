"""Tiles and specs: their forms, what is refused, and one object for equal specs."""

from __future__ import annotations

from typing import Any

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
from tt_run.runtime.tensor.spec import tensor_spec
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    NdShardSpec,
    ShardSpec,
)
from tt_run.runtime.tensor.spec.tensor_spec import DEFAULT_TILE, TensorSpec, Tile, padded_shape, spec_of

ROW, TILE, BF16 = Layout.ROW_MAJOR, Layout.TILE, DataType.BFLOAT16
RECTANGLE = CoreRange(CoreCoord(0, 0), CoreCoord(3, 1))
GRID = CoreRangeSet([RECTANGLE])
TWO = CoreRangeSet([CoreRange(CoreCoord(x, 0), CoreCoord(x, 1)) for x in (0, 2)])


@pytest.mark.parametrize(
    ("edges", "faces", "count", "partial", "narrow"),
    [
        ((32, 32), [16, 16], 4, 0, 0),
        ((16, 32), [16, 16], 2, 1, 0),
        ((32, 16), [16, 16], 2, 0, 1),
        ((16, 16), [16, 16], 1, 1, 1),
        ((4, 32), [4, 16], 2, 1, 0),
        ((1, 16), [1, 16], 1, 1, 1),
    ],
)
def test_tiles(edges: tuple[int, int], faces: list[int], count: int, partial: int, narrow: int) -> None:
    tile = Tile(edges)
    assert (tile.face_shape, tile.num_faces, tile.partial_face, tile.narrow_tile) == (
        faces,
        count,
        partial,
        narrow,
    )
    assert tile.tile_shape == list(edges) and repr(tile) == f"Tile with shape: {list(edges)}"
    assert not tile.transpose_tile and not tile.transpose_of_faces and not tile.transpose_within_face
    turned = Tile(list(edges), transpose_tile=True)
    assert turned.transpose_of_faces and turned.transpose_within_face and turned != tile
    assert tile.get_tile_size(BF16) == 2 * edges[0] * edges[1]


def test_what_is_no_tile() -> None:
    for wrong in ((32,), (32, 32, 32), 32, "32"):
        with pytest.raises(TypeError, match=r"Tile\(\): a height and a width, not"):
            Tile(wrong)  # type: ignore[arg-type]
    for size in ((64, 32), (32, 8), (3, 32), (0, 32)):
        with pytest.raises(RuntimeError, match="Tile size is not valid for our hardware"):
            Tile(size)


@pytest.mark.parametrize(
    ("dims", "layout", "edges", "padded"),
    [
        ((), ROW, (32, 32), (1,)),
        ((), TILE, (16, 32), (16, 32)),
        ((5,), ROW, (32, 32), (5,)),
        ((5,), TILE, (16, 32), (16, 32)),
        ((33,), TILE, (32, 32), (32, 64)),
        ((3, 17, 32), TILE, (16, 32), (3, 32, 32)),
        ((3, 16, 33), TILE, (16, 32), (3, 16, 64)),
        ((2, 0), TILE, (32, 32), (32, 0)),
    ],
)
def test_padded_shapes(
    dims: tuple[int, ...], layout: Layout, edges: tuple[int, int], padded: tuple[int, ...]
) -> None:
    assert padded_shape(dims, layout, Tile(edges)) == padded


def test_rows_that_are_cut_are_padded_to_whole_pieces() -> None:
    wide = MemoryConfig(
        TensorMemoryLayout.WIDTH_SHARDED, BufferType.L1, ShardSpec(GRID, [3, 8], ShardOrientation.ROW_MAJOR)
    )
    assert TensorSpec((3, 20), BF16, ROW, wide).padded_shape == [3, 24]
    assert TensorSpec(
        (3, 20), BF16, ROW, MemoryConfig(BufferType.L1, NdShardSpec([1, 16], GRID))
    ).padded_shape == [3, 32]
    assert TensorSpec((3, 20), BF16, ROW).padded_shape == [3, 20]


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: TensorSpec((2, 3), BF16, TILE, 3), TypeError, "incompatible function arguments"),
        (lambda: TensorSpec((2, 3), "bfloat16", TILE), TypeError, "incompatible function arguments"),
        (lambda: TensorSpec((2, 3), BF16, "TILE"), TypeError, "incompatible function arguments"),
        (
            lambda: TensorSpec((2, 3), DataType.BFLOAT8_B, ROW),
            RuntimeError,
            "Only TILE layout is supported for BFLOAT8_B",
        ),
        (
            lambda: TensorSpec((2, 3), BF16, ROW, Tile((16, 32))),
            RuntimeError,
            "a ROW MAJOR page config with a custom tile",
        ),
        (
            lambda: TensorSpec((2, 3), BF16, TILE).sharded([32, 32], RECTANGLE),
            TypeError,
            "grid must be a CoreRangeSet",
        ),
        (
            lambda: TensorSpec((2, 3), BF16, TILE).height_sharded(RECTANGLE),
            TypeError,
            "incompatible function arguments",
        ),
        (
            lambda: TensorSpec((2, 3), BF16, TILE).block_sharded(3),
            TypeError,
            "incompatible function arguments",
        ),
        (
            lambda: TensorSpec((2, 3), BF16, TILE).block_sharded(TWO),
            RuntimeError,
            "Block sharding requires a single CoreRange",
        ),
        (
            lambda: TensorSpec((2, 64), BF16, TILE).sharded([33, 32], GRID, ShardShapeAlignment.NONE),
            RuntimeError,
            "must be tile {32, 32} sized!",
        ),
        (
            lambda: TensorSpec((2, 64), BF16, TILE).sharded([32], GRID, ShardShapeAlignment.NONE),
            RuntimeError,
            "must be tile",
        ),
        (
            lambda: TensorSpec((2, 64), BF16, ROW).sharded([0, 32], GRID),
            RuntimeError,
            "Shard shape must be greater than 0",
        ),
    ],
)
def test_what_is_refused(make: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as refused:
        make()
    assert words in str(refused.value)


def test_forms_that_say_the_same() -> None:
    assert TensorSpec((2, 3), BF16, TILE, None, L1_MEMORY_CONFIG) == TensorSpec(
        (2, 3), BF16, TILE, memory_config=BufferType.L1
    )
    assert TensorSpec((2, 3), BF16, ROW, DEFAULT_TILE).memory_config == DRAM_MEMORY_CONFIG
    spec = TensorSpec((64, 64), BF16, TILE, BufferType.L1)
    assert spec.block_sharded(RECTANGLE) == spec.block_sharded(GRID)
    pieces = NdShardSpec([32, 32], GRID)
    assert spec.sharded(pieces) == spec.sharded([32, 32], GRID) == spec.sharded(nd_shard_spec=pieces)
    assert spec.sharded(pieces, ShardShapeAlignment.NONE) == spec.sharded(pieces)


@pytest.mark.parametrize(
    ("dtype", "alignment", "piece"),
    [
        (BF16, ShardShapeAlignment.RECOMMENDED, [3, 32]),
        (DataType.UINT8, ShardShapeAlignment.RECOMMENDED, [3, 64]),
        (DataType.FLOAT32, ShardShapeAlignment.RECOMMENDED, [3, 16]),
        (BF16, ShardShapeAlignment.REQUIRED, [3, 5]),
        (BF16, ShardShapeAlignment.NONE, [3, 5]),
    ],
)
def test_rows_of_a_piece_fill_64_bytes_where_that_is_recommended(
    dtype: DataType, alignment: ShardShapeAlignment, piece: list[int]
) -> None:
    memory = TensorSpec((6, 100), dtype, ROW).sharded([3, 5], GRID, alignment).memory_config
    assert memory.nd_shard_spec is not None and list(memory.nd_shard_spec.shard_shape) == piece


def test_equal_specs_are_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensor_spec, "_specs", {})
    one = spec_of((2, 3), BF16, TILE, DRAM_MEMORY_CONFIG, DEFAULT_TILE)
    assert spec_of((2, 3), BF16, TILE, DRAM_MEMORY_CONFIG, DEFAULT_TILE) is one
    assert (
        one == TensorSpec((2, 3), BF16, TILE)
        and spec_of((2, 3), BF16, TILE, MemoryConfig(), DEFAULT_TILE) == one
    )
    for n in range(4200):
        spec_of((n,), BF16, ROW, DRAM_MEMORY_CONFIG, DEFAULT_TILE)
    assert len(tensor_spec._specs) < 4097


def test_pieces_that_do_not_fit_are_refused_where_they_must() -> None:
    cut = MemoryConfig(
        TensorMemoryLayout.HEIGHT_SHARDED,
        BufferType.L1,
        ShardSpec(GRID, [32, 32], ShardOrientation.ROW_MAJOR),
    )
    assert spec_of((64, 64), BF16, TILE, cut, DEFAULT_TILE).memory_config == cut
    with pytest.raises(RuntimeError, match="Shard width 32 must match physical width 64 for height sharded"):
        spec_of((64, 64), BF16, TILE, cut, DEFAULT_TILE, fits=True)
    nameless = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1)
    assert spec_of((64, 64), BF16, TILE, nameless, DEFAULT_TILE, fits=True).memory_config.nameless
    with pytest.raises(RuntimeError, match="bad optional access"):
        TensorSpec((64, 64), BF16, TILE, nameless)


def test_numbers_of_programs() -> None:
    one, same = TensorSpec((2, 3), BF16, TILE), TensorSpec((2, 3), BF16, TILE)
    assert one.program == same.program and one.kernel == same.kernel
    other = TensorSpec((3, 2), BF16, TILE)
    assert other.program != one.program and other.kernel == one.kernel
    assert TensorSpec((2, 3), BF16, ROW).kernel != one.kernel


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (TensorSpec((2, 3), BF16, ROW), "config=RowMajorPageConfig()"),
        (TensorSpec((2, 3), BF16, ROW), "alignment=Alignment([1])"),
        (TensorSpec((2, 3), BF16, TILE), "Tile(tile_shape={32, 32},face_shape={16, 16},num_faces=4)"),
        (
            TensorSpec((2, 3), BF16, TILE, Tile((4, 32))),
            "Tile(tile_shape={4, 32},face_shape={4, 16},num_faces=2)",
        ),
        (TensorSpec((2, 3), BF16, TILE, Tile((4, 32))), "alignment=Alignment([4, 32])"),
    ],
)
def test_its_text(spec: TensorSpec, words: str) -> None:
    assert words in spec.text()
