"""Rows of pieces that are too short or crooked for a memory: what reference library 0.81.1 refuses, and what it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.placement.test_larger_shards import BLOCK, HEIGHT, WIDTH
from tests.runtime.ops.tensors import BF16, BFP8, F32, I32, ROW, held, put
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    NdShardSpec,
    ShardSpec,
)

CUT, JOINED = "currently have L1 aligned page size", "must be aligned to 16B for L1 Tensor"
DRAM, L1 = BufferType.DRAM, BufferType.L1


def on(
    kind: TensorMemoryLayout, columns: int, rows: int, piece: tuple[int, int], memory: BufferType = L1
) -> MemoryConfig:
    grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(columns - 1, rows - 1))])
    return MemoryConfig(kind, memory, ShardSpec(grid, list(piece), ShardOrientation.ROW_MAJOR))


def rows(device: MeshDevice, width: int, dtype: Any = BF16) -> Any:
    return put(device, np.arange(8 * width).reshape(1, 1, 8, width) % 64, dtype, ROW)


@pytest.mark.parametrize(("dtype", "fits"), [(BF16, 8), (F32, 4)])
def test_what_is_cut_and_joined(one: MeshDevice, dtype: Any, fits: int):
    for width in (fits // 2, fits, fits + fits // 2, 2 * fits):
        x, place = rows(one, 4 * width, dtype), on(WIDTH, 4, 1, (8, width))
        cut = ops.to_memory_config(x, place)  # which takes any
        if width % fits:
            with pytest.raises(RuntimeError, match=CUT):
                ops.interleaved_to_sharded(x, place)
            with pytest.raises(RuntimeError, match=CUT):
                ops.interleaved_to_sharded(
                    x, place.shard_spec.grid, [8, width], WIDTH, ShardOrientation.ROW_MAJOR
                )
            for call in (
                lambda cut=cut: ops.sharded_to_interleaved(cut),
                lambda cut=cut, n=width: ops.reshape(cut, (1, 1, 4, 8 * n)),
                lambda cut=cut, n=width: ops.reshape(cut, (1, 8, 1, 4 * n), memory_config=L1_MEMORY_CONFIG),
            ):
                with pytest.raises(RuntimeError, match=JOINED):
                    call()
            continue
        assert np.array_equal(held(ops.sharded_to_interleaved(ops.interleaved_to_sharded(x, place))), held(x))
        assert np.array_equal(held(ops.to_memory_config(cut, L1_MEMORY_CONFIG)), held(x))


@pytest.mark.parametrize(
    ("dtype", "memory", "fits"), [(BF16, L1, 8), (F32, L1, 4), (BF16, DRAM, 16), (F32, DRAM, 8)]
)
def test_what_goes_over_into_another_type(one: MeshDevice, dtype: Any, memory: BufferType, fits: int):
    for width in (fits // 2, fits, fits + fits // 2, 2 * fits):
        x = rows(one, 2 * width, dtype)
        cut = ops.to_memory_config(x, on(WIDTH, 2, 1, (8, width), memory))
        if width % fits:
            size = width * (2 if dtype is BF16 else 4)
            with pytest.raises(RuntimeError, match=rf"page size \({size} bytes\) to be aligned to L1"):
                ops.typecast(cut, I32)
        else:
            assert np.array_equal(held(ops.typecast(cut, I32)), held(x))
        with pytest.raises(RuntimeError, match="Only TILE layout is supported for BFLOAT8_B dtype!"):
            ops.typecast(cut, BFP8)


def test_what_lies_in_memory_banks_is_not_joined(one: MeshDevice):
    x = ops.to_memory_config(rows(one, 64), on(WIDTH, 4, 1, (8, 16), DRAM))
    for call in (
        lambda: ops.sharded_to_interleaved(x),
        lambda: ops.reshape(x, (1, 1, 4, 128), memory_config=DRAM_MEMORY_CONFIG),
    ):
        with pytest.raises(RuntimeError, match="Input tensor must be in L1"):
            call()


def test_tiles_in_memory_banks_are_reshaped(one: MeshDevice):
    x = ops.to_memory_config(put(one, np.arange(4096).reshape(64, 64)), on(HEIGHT, 2, 1, (32, 64), DRAM))
    for shape, shard in (((64 * 64, 1), [2048, 32]), ((2, 2048), [32, 2048])):
        y = ops.reshape(x, shape)
        place = y.memory_config()
        assert place.buffer_type is DRAM and list(place.shard_spec.shape) == shard
        assert np.array_equal(held(y), held(x).reshape(shape))


@pytest.mark.parametrize("kept", [BufferType.L1, DRAM])
@pytest.mark.parametrize(
    ("shape", "piece"), [((8192, 1), [2048, 1]), ((128, 64), [32, 64]), ((8192,), [2048]), ((2, 4096), [1, 4096])]
)  # fmt: skip
def test_rows_in_pieces_of_any_rank_keep_how_many_there_are(one: MeshDevice, kept, shape, piece):
    cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 0))])
    place = MemoryConfig(kept, NdShardSpec([1, 32, 64], cores))
    x = ops.to_memory_config(put(one, np.arange(8192).reshape(2, 64, 64), BF16, ROW), place)
    y = ops.reshape(x, shape)
    assert list(y.memory_config().nd_shard_spec.shard_shape) == piece
    assert np.array_equal(held(y), held(x).reshape(shape))
    assert not ops.reshape(x, shape, memory_config=DRAM_MEMORY_CONFIG).is_sharded()


@pytest.mark.parametrize(
    ("given", "wanted", "refused"),
    [
        (on(WIDTH, 4, 1, (8, 4)), on(HEIGHT, 2, 1, (4, 16)), "Input row-major shard width 4 with data type DataType::BFLOAT16 gives page size 8 bytes, which must be "
            "aligned to 16 bytes for reshard"),
        (on(HEIGHT, 4, 1, (2, 16)), on(WIDTH, 4, 1, (8, 4)), "Output row-major shard width 4 with"),
        (on(WIDTH, 4, 1, (8, 4)), on(WIDTH, 4, 1, (8, 4)), "Input row-major shard width 4 with"),
        (on(WIDTH, 2, 1, (8, 8), DRAM), on(HEIGHT, 2, 1, (4, 16)), "Input row-major shard width 8 with"),
        (on(WIDTH, 2, 1, (8, 8)), on(HEIGHT, 2, 1, (4, 16), DRAM), "Number of input (16) and output (8) pages must match"),
        (on(WIDTH, 1, 1, (8, 16)), on(WIDTH, 2, 1, (8, 8), DRAM), ""),
        (on(WIDTH, 1, 1, (8, 16), DRAM), on(BLOCK, 2, 2, (4, 8)), ""),
        (on(WIDTH, 4, 1, (8, 4), DRAM), on(WIDTH, 4, 1, (8, 4), DRAM), ""),
    ],
)  # fmt: skip
def test_what_moves_between_pieces(one: MeshDevice, given: MemoryConfig, wanted: MemoryConfig, refused: str):
    x = ops.to_memory_config(rows(one, 16), given)
    if refused:
        with pytest.raises(RuntimeError) as caught:
            ops.reshard(x, wanted)
        assert refused in str(caught.value)
        return
    moved = ops.reshard(x, wanted)
    assert moved.memory_config() == wanted and np.array_equal(held(moved), held(x))


def test_what_lies_in_another_order(one: MeshDevice):
    x = np.arange(4 * 8 * 8).reshape(1, 4, 8, 8) % 64
    given, place = put(one, x, BF16, ROW), on(HEIGHT, 1, 1, (64, 4))
    with pytest.raises(RuntimeError, match=JOINED):
        ops.permute(given, (0, 2, 3, 1), memory_config=place)
    for dtype, memory in ((F32, place), (BF16, DRAM_MEMORY_CONFIG), (BF16, on(HEIGHT, 1, 1, (64, 4), DRAM))):
        found = ops.permute(put(one, x, dtype, ROW), (0, 2, 3, 1), memory_config=memory)
        assert np.array_equal(held(found), x.transpose(0, 2, 3, 1))


def test_what_is_padded(one: MeshDevice):
    even, odd = on(HEIGHT, 4, 1, (2, 16)), on(HEIGHT, 4, 1, (2, 20))
    x = ops.to_memory_config(rows(one, 16), even)
    around = [(0, 0), (0, 0), (0, 0), (0, 4)]
    for call, word in (
        (lambda: ops.pad(x, around, 0.0), "Output row-major shard width 20 gives page size 40 bytes"),
        (
            lambda: ops.pad(rows(one, 16), around, 0.0, memory_config=odd),
            "Output row-major shard width 20 gives",
        ),
        (
            lambda: ops.pad(ops.to_memory_config(rows(one, 20), odd), [*around[:3], (0, 12)], 0.0),
            "Input row-major shard width 20 gives page size 40 bytes, which must be aligned to 16 bytes",
        ),
    ):
        with pytest.raises(RuntimeError, match=word):
            call()
    assert list(ops.pad(x, [*around[:3], (0, 8)], 0.0).memory_config().shard_spec.shape) == [2, 24]
