"""Where padded and repeated tensors lie that are cut over cores: as the results of reference library 0.81.1 do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, ROW, TILE, held, put
from tt_run.runtime import catalog
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.placement.scaled_shards import _cut
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    ShardSpec,
)

HEIGHT, WIDTH = TensorMemoryLayout.HEIGHT_SHARDED, TensorMemoryLayout.WIDTH_SHARDED
BLOCK = TensorMemoryLayout.BLOCK_SHARDED
Corner = tuple[int, int]


def cores(last: Corner) -> CoreRangeSet:
    return CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(*last))])


def lying(
    one: MeshDevice, shape: Corner, kind: TensorMemoryLayout, last: Corner, piece: Corner, layout: Layout
) -> Any:
    memory = MemoryConfig(kind, BufferType.L1, ShardSpec(cores(last), piece, ShardOrientation.ROW_MAJOR))
    return ops.to_memory_config(put(one, np.ones((1, 1, *shape)), BF16, layout), memory)  # fmt: skip


HIGH, BROAD = (128, 64), (64, 128)
REPEATED = [
    (HIGH, HEIGHT, (0, 3), (32, 64), TILE, (1, 1, 2, 1), (7, 0), (32, 64)),
    (HIGH, HEIGHT, (0, 3), (32, 64), TILE, (1, 1, 1, 2), (0, 3), (32, 128)),
    (HIGH, HEIGHT, (0, 3), (32, 64), ROW, (1, 1, 2, 1), (7, 7), (4, 64)),
    (HIGH, HEIGHT, (0, 3), (32, 64), ROW, (1, 1, 1, 2), (0, 3), (32, 128)),
    (HIGH, HEIGHT, (0, 3), (32, 64), TILE, (1, 1, 1, 1), (0, 3), (32, 64)),
    (BROAD, WIDTH, (3, 0), (64, 32), TILE, (1, 1, 2, 1), (3, 0), (128, 32)),
    (BROAD, WIDTH, (3, 0), (64, 32), TILE, (1, 1, 1, 2), (3, 0), (64, 64)),
    ((64, 64), BLOCK, (1, 1), (32, 32), TILE, (1, 1, 2, 1), (1, 3), (32, 32)),
    ((64, 64), BLOCK, (1, 0), (64, 32), ROW, (2, 1, 1, 1), (1, 0), (128, 32)),
    ((64, 64), WIDTH, (1, 0), (64, 32), ROW, (2, 2, 1, 1), (7, 0), (256, 8)),
    ((64, 64), HEIGHT, (0, 0), (64, 64), TILE, (2, 1, 2, 1), (7, 0), (32, 64)),
]


@pytest.mark.parametrize(("shape", "kind", "last", "piece", "layout", "times", "on", "larger"), REPEATED)
def test_repeated(one: MeshDevice, shape, kind, last, piece, layout, times, on, larger):
    memory = ops.repeat(lying(one, shape, kind, last, piece, layout), times).memory_config()
    assert (memory.memory_layout, memory.buffer_type) == (kind, BufferType.L1)
    assert (memory.shard_spec.grid, tuple(memory.shard_spec.shape)) == (cores(on), larger)


def test_padded(one: MeshDevice):
    tall = lying(one, HIGH, HEIGHT, (0, 3), (32, 64), ROW)
    assert tuple(ops.pad(tall, [(0, 0), (0, 0), (0, 0), (0, 32)], 0.0).memory_config().shard_spec.shape) == (
        32,
        96,
    )
    one_piece = lying(one, (64, 64), HEIGHT, (0, 0), (64, 64), TILE)
    grown = ops.pad(one_piece, [(0, 0), (0, 0), (0, 32), (0, 32)], 0.0).memory_config().shard_spec
    assert tuple(grown.shape) == (96, 96)
    with pytest.raises(RuntimeError, match=r"Physical shard shape \(16, 96\) must be tile \{32, 32\} sized!"):
        ops.pad(lying(one, (64, 64), HEIGHT, (3, 0), (32, 64), TILE), [(0, 0), (0, 0), (0, 0), (0, 32)], 0.0)
    with pytest.raises(
        RuntimeError, match="Number of shards along height 5 must not exceed number of cores 4"
    ):
        ops.pad(tall, [(0, 0), (0, 0), (0, 32), (0, 0)], 0.0)
    wide = lying(one, BROAD, WIDTH, (3, 0), (64, 32), ROW)
    with pytest.raises(RuntimeError, match="Shard height 64 must match physical height 96"):
        ops.pad(wide, [(0, 0), (0, 0), (0, 32), (0, 0)], 0.0)
    assert not ops.pad(
        tall, [(0, 0), (0, 0), (0, 32), (0, 0)], 0.0, memory_config=L1_MEMORY_CONFIG
    ).is_sharded()


@pytest.mark.torch
def test_sums_over_batches_lie_in_dram_unless_a_call_says(one: MeshDevice):
    x = ops.to_memory_config(put(one, np.ones((4, 2, 32, 64)), BF16), L1_MEMORY_CONFIG)
    summed = catalog.find("ttnn.experimental.fast_reduce_nc")
    assert summed is not None
    assert summed(x, dims=[0]).memory_config() == DRAM_MEMORY_CONFIG
    assert summed(x, dims=[0], memory_config=L1_MEMORY_CONFIG).memory_config() == L1_MEMORY_CONFIG


@pytest.mark.parametrize(
    ("length", "cores", "cut"),
    [(0, 8, (1, 32)), (1, 8, (1, 32)), (32, 8, (1, 32)), (33, 8, (2, 32)), (320, 4, (4, 96))],
)
def test_a_length_is_shared_in_whole_steps(length: int, cores: int, cut: tuple[int, int]) -> None:
    assert _cut(length, 32, cores) == cut


@pytest.mark.parametrize(
    ("cut", "times", "dim", "kind", "piece"),
    [
        (((128, 64), HEIGHT, (3, 0), (32, 64)), 2, 1, HEIGHT, [64, 64]),
        (((128, 64), HEIGHT, (3, 0), (32, 64)), 3, -1, WIDTH, [128, 48]),
        (((128, 128), BLOCK, (3, 1), (64, 32)), 3, 2, BLOCK, [192, 32]),
        (((128, 128), BLOCK, (3, 1), (64, 32)), 2, 3, BLOCK, [64, 64]),
    ],
)
def test_repeated_slices_stay_on_their_cores(
    one: MeshDevice, cut: Any, times: int, dim: int, kind: Any, piece: list[int]
):
    tensor = lying(one, *cut, ROW)
    found = ops.repeat_interleave(tensor, times, dim).memory_config()
    assert (found.memory_layout, list(found.shard_spec.shape)) == (kind, piece)
    assert found.shard_spec.grid == tensor.memory_config().shard_spec.grid


@pytest.mark.parametrize(
    ("shape", "last", "piece", "around", "found"),
    [
        ((400, 80), (7, 1), (32, 96), (0, 16), (32, 96)),  # into padding that is there: nothing grows
        ((400, 80), (7, 1), (32, 96), (4, 8), (32, 96)),
        ((100, 64), (3, 0), (32, 64), (0, 8), r"shard shape \(25, 96\) must be tile"),
        ((100, 64), (3, 0), (32, 64), (28, 32), r"shard shape \(25, 96\) must be tile"),
        ((400, 80), (7, 1), (32, 96), (28, 0), r"shard shape \(25, 96\) must be tile"),
        ((128, 64), (3, 0), (32, 64), (4, 8), r"shard shape \(40, 96\) must be tile"),
        ((128, 64), (3, 0), (32, 64), (0, 48), (32, 128)),
    ],
)
def test_tiles_of_rows_are_padded(
    one: MeshDevice, shape: Any, last: Any, piece: Any, around: Any, found: Any
):
    x = lying(one, shape, HEIGHT, last, piece, TILE)
    wider = [(0, 0), (0, 0), *((0, more) for more in around)]
    if isinstance(found, str):
        with pytest.raises(RuntimeError, match=found):
            ops.pad(x, wider, 0.0)
        return
    padded = ops.pad(x, wider, 0.0)
    assert padded.memory_config().shard_spec.shape == list(found)
    assert np.array_equal(held(padded), np.pad(held(x), wider))


def test_padding_of_several_matrices_on_cores_is_not_filled(one: MeshDevice):
    x = ops.reshape(lying(one, (128, 64), HEIGHT, (3, 0), (32, 64), TILE), (1, 2, 64, 64))
    assert ops.pad(x, [(0, 0), (0, 0), (0, 0), (0, 32)], 0.0).padded_shape == (1, 2, 64, 96)
    memory = x.memory_config()
    crooked = ops.to_memory_config(put(one, np.ones((1, 2, 60, 64)), BF16, TILE), memory)
    for words in ({}, {"memory_config": L1_MEMORY_CONFIG}):
        with pytest.raises(RuntimeError, match=r"N_slices > 1 not yet supported \(got 2\)"):
            ops.pad(crooked, [(0, 0), (0, 0), (0, 4), (0, 0)], 0.0, **words)


@pytest.mark.parametrize(("kind", "last", "piece"), [(WIDTH, (1, 0), (64, 32)), (BLOCK, (1, 1), (32, 32))])
def test_columns_with_padding_on_several_cores_are_not_left_alone(
    one: MeshDevice, kind: Any, last: Any, piece: Any
):
    """`softmax` gives its result without padding, and what is cut by columns has none of its own."""
    x = lying(one, (64, 48), kind, last, piece, TILE)
    for dim in (-1, -2):
        with pytest.raises(RuntimeError, match="Changing the last dimension of a sharded tensor"):
            ops.softmax(x, dim)
        assert not ops.softmax(x, dim, memory_config=L1_MEMORY_CONFIG).is_sharded()
    whole = lying(one, (64, 64), kind, last, piece, TILE)
    assert ops.softmax(whole).memory_config() == whole.memory_config()
