"""The bytes of shards as the reference keeps them: there and back for every tile, type and alignment."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, NdShardSpec, ShardSpec
from tt_run.runtime.tensor.spec.physical import alignment_of, packed, packed_size, unpacked
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec, Tile
from tt_run.runtime.values.dtypes import convert

ROW, TILE = Layout.ROW_MAJOR, Layout.TILE
GRID = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(3, 0))])


def shards(dtype: DataType, *shape: int) -> np.ndarray:
    count = math.prod(shape)
    return convert((np.arange(count, dtype=np.float32) % 61).reshape(shape), dtype)


@pytest.mark.parametrize("shape", [(), (5,), (3, 40), (2, 33, 32), (2, 1, 64, 16)])
@pytest.mark.parametrize("dtype", [DataType.FLOAT32, DataType.BFLOAT16, DataType.UINT8, DataType.INT32])
@pytest.mark.parametrize("layout", [ROW, TILE], ids=str)
def test_there_and_back(dtype: DataType, layout: Layout, shape: tuple[int, ...]) -> None:
    spec = TensorSpec(shape, dtype, layout)
    data = shards(dtype, 2, *shape)
    raw = packed(data, spec)
    size = {DataType.FLOAT32: 4, DataType.INT32: 4, DataType.BFLOAT16: 2, DataType.UINT8: 1}[dtype]
    assert raw.shape == (2, spec.padded_shape.volume() * size)
    assert packed_size(spec, alignment_of(spec)) == raw.shape[1]
    assert np.array_equal(unpacked(raw, spec, alignment_of(spec)), data)


@pytest.mark.parametrize("tile", [(32, 32), (16, 32), (32, 16), (16, 16), (4, 32), (1, 16)])
@pytest.mark.parametrize("dtype", [DataType.BFLOAT16, DataType.BFLOAT8_B, DataType.BFLOAT4_B], ids=str)
def test_tiles_of_any_size(dtype: DataType, tile: tuple[int, int]) -> None:
    spec = TensorSpec((2, 33, 70), dtype, TILE, tile=Tile(tile))
    data = shards(dtype, 3, 2, 33, 70)
    raw = packed(data, spec)
    tiles = spec.padded_shape.volume() // math.prod(tile)
    blocks = math.prod(tile) // 16
    exponents = -(-blocks // 16) * 16  # bytes ahead of each tile
    size = {DataType.BFLOAT16: 32 * blocks, DataType.BFLOAT8_B: 16 * blocks + exponents}.get(
        dtype, 8 * blocks + exponents
    )
    assert raw.shape == (3, tiles * size) and packed_size(spec, tile) == tiles * size
    assert np.array_equal(unpacked(raw, spec, tile), data)


@pytest.mark.parametrize("tile", [(32, 32), (16, 32), (32, 16)])
def test_in_a_transposed_tile_columns_come_first(tile: tuple[int, int]) -> None:
    plain = TensorSpec(tile[::-1], DataType.UINT16, TILE, tile=Tile(tile[::-1]))
    turned = TensorSpec(tile, DataType.UINT16, TILE, tile=Tile(tile, transpose_tile=True))
    data = np.arange(math.prod(tile), dtype=np.uint16).reshape(1, *tile)
    raw = packed(data, turned)
    assert np.array_equal(raw, packed(data.swapaxes(1, 2), plain))
    assert np.array_equal(unpacked(raw, turned, tile), data)


def test_faces_stand_one_after_the_other() -> None:
    data = np.arange(1024, dtype=np.uint16).reshape(1, 32, 32)
    words = packed(data, TensorSpec((32, 32), DataType.UINT16, TILE)).view(np.uint16)[0]
    assert np.array_equal(words[:256].reshape(16, 16), data[0, :16, :16])
    assert np.array_equal(words[256:512].reshape(16, 16), data[0, :16, 16:])
    assert np.array_equal(words[512:768].reshape(16, 16), data[0, 16:, :16])


def cut_rows(width: int, any_rank: bool) -> MemoryConfig:
    if any_rank:
        return MemoryConfig(BufferType.L1, NdShardSpec([2, width], GRID))
    return MemoryConfig(
        TensorMemoryLayout.WIDTH_SHARDED,
        BufferType.L1,
        ShardSpec(GRID, [2, width], ShardOrientation.ROW_MAJOR),
    )


@pytest.mark.parametrize("any_rank", [False, True])
def test_rows_that_are_cut_are_whole_pieces(any_rank: bool) -> None:
    spec = TensorSpec((2, 10), DataType.UINT8, ROW, cut_rows(4, any_rank))
    assert alignment_of(spec) == (4,) and alignment_of(TensorSpec((2, 10), DataType.UINT8, ROW)) == (1,)
    data = shards(DataType.UINT8, 1, 2, 10)
    raw = packed(data, spec)
    assert raw.tolist() == [[*range(10), 0, 0, *range(10, 20), 0, 0]]
    assert np.array_equal(unpacked(raw, spec, (4,)), data)


@pytest.mark.parametrize(
    ("layout", "alignment", "words"),
    [
        (ROW, (), "is not read"),
        (ROW, (0,), "is not read"),
        (ROW, (2, 1, 4), "is not read"),
        (TILE, (32, 16), "cuts Tile with shape"),
        (TILE, (16, 32), "cuts Tile with shape"),
        (ROW, (1, 1, 4), ""),
        (ROW, (4, 1), ""),
        (TILE, (64, 32), ""),
    ],
)
def test_alignments(layout: Layout, alignment: Any, words: str) -> None:
    spec = TensorSpec((3, 5), DataType.FLOAT32, layout)
    if words:
        with pytest.raises(ValueError, match=words):
            packed_size(spec, alignment)
        return
    high, wide = (1, 1, *alignment)[-2:]
    assert packed_size(spec, alignment) == 4 * (-(-3 // high) * high) * (-(-5 // wide) * wide)
