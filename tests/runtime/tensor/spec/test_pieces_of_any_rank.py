"""Pieces of any rank that are a cut of a matrix say so in the tensor's configuration; recorded from the reference library 0.81.1."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from tests.runtime.ops.tensors import BF16, TILE, put
from tt_run.runtime import catalog
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import (
    BufferType,
    DataType,
    Layout,
    ShardDistributionStrategy,
    ShardOrientation,
    TensorMemoryLayout,
)
from tt_run.runtime.errors import sentence_of
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.data_movement.conversions import interleaved_to_sharded, sharded_to_interleaved
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.conversion.layouts import to_memory_config
from tt_run.runtime.tensor.creation import from_shape
from tt_run.runtime.tensor.creation.allocation import allocate_tensor_on_device
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, NdShardSpec, ShardSpec
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.tensor.tensor import Tensor


def cores(*corners: tuple[int, int, int, int]) -> CoreRangeSet:
    return CoreRangeSet([CoreRange(CoreCoord(x, y), CoreCoord(to_x, to_y)) for x, y, to_x, to_y in corners])


GRIDS = {
    "1x1": cores((0, 0, 0, 0)),
    "2x1": cores((0, 0, 1, 0)),
    "8x1": cores((0, 0, 7, 0)),
    "1x4": cores((0, 0, 0, 3)),
    "2x2": cores((0, 0, 1, 1)),
    "3x2": cores((0, 0, 2, 1)),
    "4x2": cores((0, 0, 3, 1)),
    "2x4": cores((0, 0, 1, 3)),
    "3x3": cores((0, 0, 2, 2)),
    "4x4": cores((0, 0, 3, 3)),
    "8x8": cores((0, 0, 7, 7)),
    "off": cores((1, 2, 4, 3)),
    "split": cores((0, 0, 3, 0), (0, 1, 3, 1)),
    "two": cores((0, 0, 3, 0), (0, 1, 1, 1)),
    "twoB": cores((0, 0, 1, 1), (4, 4, 5, 5)),
}
STRATEGIES = {"1D": ShardDistributionStrategy.ROUND_ROBIN_1D, "2D": ShardDistributionStrategy.GRID_2D}


@pytest.mark.parametrize(("shape", "piece", "grid", "orientation", "strategy", "layout", "kind", "as_matrix"), [
    ((2, 15, 15), (2, 15, 15), "1x4", "COL", "2D", "ROW_MAJOR", "BLOCK", (30, 15)),
    ((10,), (10,), "8x1", "COL", "2D", "ROW_MAJOR", "BLOCK", (1, 10)),
    ((1, 32, 96), (64, 128), "3x2", "COL", "2D", "ROW_MAJOR", "BLOCK", (64, 128)),
    ((2, 1, 1), (2,), "3x3", "COL", "2D", "ROW_MAJOR", "BLOCK", (1, 2)),
    ((1, 2, 96, 64), (1, 4, 96, 64), "8x8", "COL", "2D", "TILE", "BLOCK", (384, 64)),
    ((1, 4, 128, 96), (1, 4, 128, 96), "4x4", "COL", "2D", "TILE", "BLOCK", (512, 96)),
    ((1, 3, 32, 96), (1, 32, 96), "8x1", "COL", "2D", "TILE", "BLOCK", (32, 96)),
    ((4, 2, 128, 26), (2, 128, 128), "4x2", "COL", "2D", "TILE", "BLOCK", (256, 128)),
    ((2, 4), (3, 4), "off", "ROW", "2D", "ROW_MAJOR", "BLOCK", (3, 4)),
    ((15, 20), (15, 20), "2x1", "ROW", "2D", "ROW_MAJOR", "BLOCK", (15, 20)),
    ((2, 2), (2,), "3x3", "ROW", "2D", "ROW_MAJOR", "BLOCK", (1, 2)),
    ((1, 4), (2,), "4x4", "ROW", "2D", "ROW_MAJOR", "BLOCK", (1, 2)),
    ((128, 32), (128, 32), "2x1", "ROW", "2D", "TILE", "BLOCK", (128, 32)),
    ((1, 32, 64), (3, 32, 64), "8x8", "ROW", "2D", "TILE", "BLOCK", (96, 64)),
    ((1, 1, 113, 96), (1, 128, 96), "2x2", "ROW", "2D", "TILE", "BLOCK", (128, 96)),
    ((1, 32, 64), (64, 64), "1x1", "ROW", "2D", "TILE", "BLOCK", (64, 64)),
    ((4, 2, 3, 4), (1, 2, 3, 3), "4x2", "COL", "1D", "ROW_MAJOR", "BLOCK", (6, 3)),
    ((10, 20), (5, 10), "2x4", "COL", "1D", "ROW_MAJOR", "BLOCK", (5, 10)),
    ((3, 3), (2,), "3x2", "COL", "1D", "ROW_MAJOR", "BLOCK", (1, 2)),
    ((4, 3), (2,), "4x4", "COL", "1D", "ROW_MAJOR", "BLOCK", (1, 2)),
    ((54, 64), (32, 32), "2x4", "COL", "1D", "TILE", "BLOCK", (32, 32)),
    ((1, 32, 117), (1, 64, 96), "1x4", "COL", "1D", "TILE", "BLOCK", (64, 96)),
    ((2, 1, 32, 64), (128, 96), "1x4", "COL", "1D", "TILE", "BLOCK", (128, 96)),
    ((1, 128, 128), (96, 96), "2x2", "COL", "1D", "TILE", "BLOCK", (96, 96)),
    ((3, 96, 128), (2, 96, 64), "2x2", "ROW", "1D", "ROW_MAJOR", "BLOCK", (192, 64)),
    ((10, 19), (15, 5), "4x4", "ROW", "1D", "ROW_MAJOR", "BLOCK", (15, 5)),
    ((3, 1, 32, 128), (128, 32), "off", "ROW", "1D", "ROW_MAJOR", "BLOCK", (128, 32)),
    ((1, 1, 3, 4), (1, 2, 1), "4x4", "ROW", "1D", "ROW_MAJOR", "BLOCK", (2, 1)),
    ((96, 64), (64, 32), "2x4", "ROW", "1D", "TILE", "BLOCK", (64, 32)),
    ((1, 96, 64), (2, 96, 96), "1x1", "ROW", "1D", "TILE", "BLOCK", (192, 96)),
    ((2, 1, 128, 32), (128, 96), "1x4", "ROW", "1D", "TILE", "BLOCK", (128, 96)),
    ((2, 1, 64, 64), (64, 32), "2x2", "ROW", "1D", "TILE", "BLOCK", (64, 32)),
    ((1, 128, 32), (4, 128, 32), "2x1", "COL", "1D", "ROW_MAJOR", "HEIGHT", (512, 32)),
    ((45, 32), (96, 32), "3x3", "COL", "1D", "ROW_MAJOR", "HEIGHT", (96, 32)),
    ((2, 32, 128), (128, 128), "2x2", "COL", "1D", "ROW_MAJOR", "HEIGHT", (128, 128)),
    ((3, 106, 32), (106, 32), "2x4", "COL", "1D", "ROW_MAJOR", "HEIGHT", (106, 32)),
    ((3, 64, 96), (4, 64, 96), "two", "COL", "1D", "TILE", "HEIGHT", (256, 96)),
    ((3, 64, 64), (1, 64, 64), "off", "COL", "1D", "TILE", "HEIGHT", (64, 64)),
    ((2, 96, 96), (96, 96), "3x2", "COL", "1D", "TILE", "HEIGHT", (96, 96)),
    ((1, 3, 96, 128), (96, 128), "off", "COL", "1D", "TILE", "HEIGHT", (96, 128)),
    ((3, 5, 20), (4, 5, 20), "2x4", "ROW", "1D", "ROW_MAJOR", "HEIGHT", (20, 20)),
    ((4, 1), (3, 4), "two", "ROW", "1D", "ROW_MAJOR", "HEIGHT", (3, 4)),
    ((3, 96, 128), (128, 128), "1x4", "ROW", "1D", "ROW_MAJOR", "HEIGHT", (128, 128)),
    ((4, 1), (1,), "two", "ROW", "1D", "ROW_MAJOR", "HEIGHT", (1, 1)),
    ((128, 96), (32, 96), "split", "ROW", "1D", "TILE", "HEIGHT", (32, 96)),
    ((1, 64, 32), (4, 64, 32), "2x1", "ROW", "1D", "TILE", "HEIGHT", (256, 32)),
    ((4, 1, 32, 128), (1, 32, 128), "3x2", "ROW", "1D", "TILE", "HEIGHT", (32, 128)),
    ((4, 3, 32, 64), (3, 32, 64), "3x2", "ROW", "1D", "TILE", "HEIGHT", (96, 64)),
    ((4, 128, 128), (4, 128, 32), "twoB", "COL", "2D", "ROW_MAJOR", "ND", None),
    ((26, 45), (26, 45), "two", "COL", "2D", "ROW_MAJOR", "ND", None),
    ((128, 96), (96,), "split", "COL", "2D", "ROW_MAJOR", "ND", None),
    ((20, 10), (10,), "3x2", "COL", "2D", "ROW_MAJOR", "ND", None),
    ((64, 96), (64, 96), "split", "COL", "2D", "TILE", "ND", None),
    ((4, 128, 128), (4, 128, 128), "split", "COL", "2D", "TILE", "ND", None),
    ((3, 2, 64, 32), (32, 32), "1x1", "COL", "2D", "TILE", "ND", None),
    ((1, 3, 128, 64), (32, 64), "8x8", "COL", "2D", "TILE", "ND", None),
    ((3, 3, 1, 2), (2, 2, 3, 3), "two", "ROW", "2D", "ROW_MAJOR", "ND", None),
    ((4, 128, 32), (2, 128, 96), "2x1", "ROW", "2D", "ROW_MAJOR", "ND", None),
    ((2, 3), (3,), "two", "ROW", "2D", "ROW_MAJOR", "ND", None),
    ((4, 1, 4), (1, 4), "3x3", "ROW", "2D", "ROW_MAJOR", "ND", None),
    ((96, 128), (32, 64), "twoB", "ROW", "2D", "TILE", "ND", None),
    ((1, 3, 64, 109), (1, 3, 128, 32), "8x1", "ROW", "2D", "TILE", "ND", None),
    ((4, 128, 128), (64, 128), "3x3", "ROW", "2D", "TILE", "ND", None),
    ((4, 4, 64, 128), (64, 128), "two", "ROW", "2D", "TILE", "ND", None),
    ((1, 1, 4, 1), (3, 2, 4, 1), "8x8", "COL", "1D", "ROW_MAJOR", "ND", None),
    ((1, 4, 5, 5), (2, 1, 5, 5), "4x4", "COL", "1D", "ROW_MAJOR", "ND", None),
    ((1, 1, 3), (3, 2), "split", "COL", "1D", "ROW_MAJOR", "ND", None),
    ((4, 2, 37, 32), (64,), "twoB", "COL", "1D", "ROW_MAJOR", "ND", None),
    ((2, 2, 89, 32), (3, 4, 96, 32), "4x2", "COL", "1D", "TILE", "ND", None),
    ((4, 32, 64), (3, 128, 32), "8x8", "COL", "1D", "TILE", "ND", None),
    ((3, 4, 32, 128), (3, 96, 96), "8x1", "COL", "1D", "TILE", "ND", None),
    ((4, 3, 64, 127), (64, 128), "two", "COL", "1D", "TILE", "ND", None),
    ((1, 2, 1, 3), (2, 1, 1, 1), "twoB", "ROW", "1D", "ROW_MAJOR", "ND", None),
    ((4, 2, 4, 4), (4, 3, 1, 4), "two", "ROW", "1D", "ROW_MAJOR", "ND", None),
    ((2, 2, 10, 20), (10, 5), "1x1", "ROW", "1D", "ROW_MAJOR", "ND", None),
    ((1, 1, 32, 128), (128,), "off", "ROW", "1D", "ROW_MAJOR", "ND", None),
    ((4, 3, 32, 128), (3, 4, 32, 96), "split", "ROW", "1D", "TILE", "ND", None),
    ((4, 128, 64), (4, 32, 128), "1x4", "ROW", "1D", "TILE", "ND", None),
    ((1, 3, 64, 128), (64, 96), "8x1", "ROW", "1D", "TILE", "ND", None),
    ((3, 1, 128, 96), (1, 64, 32), "4x4", "ROW", "1D", "TILE", "ND", None),
    ((4,), (1,), "4x2", "COL", "1D", "ROW_MAJOR", "WIDTH", (1, 1)),
    ((4, 2, 1, 3), (4, 2, 1, 4), "3x2", "COL", "1D", "ROW_MAJOR", "WIDTH", (8, 4)),
    ((1, 1, 5, 15), (5, 10), "off", "COL", "1D", "ROW_MAJOR", "WIDTH", (5, 10)),
    ((1, 3), (3,), "4x2", "COL", "1D", "ROW_MAJOR", "WIDTH", (1, 3)),
    ((73, 116), (96, 128), "split", "COL", "1D", "TILE", "WIDTH", (96, 128)),
    ((32, 128), (32, 128), "two", "COL", "1D", "TILE", "WIDTH", (32, 128)),
    ((1, 18, 96), (32, 32), "2x2", "COL", "1D", "TILE", "WIDTH", (32, 32)),
    ((1, 2, 96, 128), (2, 96, 128), "2x2", "COL", "1D", "TILE", "WIDTH", (192, 128)),
    ((10,), (15,), "8x8", "ROW", "1D", "ROW_MAJOR", "WIDTH", (1, 15)),
    ((1, 96, 128), (1, 96, 128), "8x1", "ROW", "1D", "ROW_MAJOR", "WIDTH", (96, 128)),
    ((1, 1, 1, 2), (2,), "3x2", "ROW", "1D", "ROW_MAJOR", "WIDTH", (1, 2)),
    ((1, 1, 64, 128), (64, 128), "4x4", "ROW", "1D", "ROW_MAJOR", "WIDTH", (64, 128)),
    ((20, 128), (32, 128), "2x2", "ROW", "1D", "TILE", "WIDTH", (32, 128)),
    ((4, 128, 13), (4, 128, 96), "4x4", "ROW", "1D", "TILE", "WIDTH", (512, 96)),
    ((1, 32, 64), (32, 64), "2x2", "ROW", "1D", "TILE", "WIDTH", (32, 64)),
    ((1, 64, 32), (64, 32), "8x8", "ROW", "1D", "TILE", "WIDTH", (64, 32)),
])  # fmt: skip
def test_which_cut_of_a_matrix_pieces_are(
    shape: tuple[int, ...],
    piece: tuple[int, ...],
    grid: str,
    orientation: str,
    strategy: str,
    layout: str,
    kind: str,
    as_matrix: tuple[int, int] | None,
) -> None:
    pieces = NdShardSpec(
        list(piece), GRIDS[grid], ShardOrientation[f"{orientation}_MAJOR"], STRATEGIES[strategy]
    )
    memory = TensorSpec(shape, DataType.BFLOAT16, Layout[layout], pieces, BufferType.L1).memory_config
    found = None if memory.shard_spec is None else tuple(memory.shard_spec.shape)
    assert (memory.memory_layout.name, found) == (f"{kind}_SHARDED", as_matrix)
    assert memory.nd_shard_spec == pieces
    if memory.shard_spec is not None:
        assert (memory.shard_spec.grid, memory.shard_spec.orientation) == (pieces.grid, pieces.orientation)


def in_pieces(*piece: int) -> MemoryConfig:
    return MemoryConfig(BufferType.L1, NdShardSpec(list(piece), GRIDS["4x2"]))  # type: ignore[arg-type]


def told(tensor: Tensor) -> tuple[str, list[int] | None, list[int]]:
    memory = tensor.memory_config()
    assert memory.nd_shard_spec is not None
    spec = None if memory.shard_spec is None else list(memory.shard_spec.shape)
    return memory.memory_layout.name, spec, list(memory.nd_shard_spec.shard_shape)


@pytest.mark.parametrize(
    ("shape", "piece", "wanted"),
    [
        ((2, 3, 32, 32), (2, 32, 32), ("HEIGHT_SHARDED", [64, 32])),
        ((128, 128), (128, 64), ("WIDTH_SHARDED", [128, 64])),
        ((2, 64, 128), (2, 64, 64), ("WIDTH_SHARDED", [128, 64])),
        ((64, 128), (32, 32), ("BLOCK_SHARDED", [32, 32])),
        ((2, 4, 64, 64), (1, 3, 64, 64), ("ND_SHARDED", None)),
    ],
)
def test_tensors_say_which_cut_they_are(
    one: MeshDevice, shape: tuple[int, ...], piece: tuple[int, ...], wanted: tuple[str, list[int] | None]
) -> None:
    memory, values = in_pieces(*piece), np.ones(shape, np.float32)
    plain, relu = put(one, values, BF16, TILE), catalog.every()["ttnn.relu"]
    on_host = from_torch(values, DataType.BFLOAT16, layout=Layout.TILE, memory_config=memory)
    there = from_torch(values, DataType.BFLOAT16, layout=Layout.TILE, device=one, memory_config=memory)
    moved = to_memory_config(plain, memory)
    made = [
        on_host,
        there,
        moved,
        relu(plain, memory_config=memory),
    ]
    if wanted[1] is None:  # which only `to_memory_config` makes, and undoes
        with pytest.raises(RuntimeError, match="interleaved_to_sharded does not support ND sharding"):
            interleaved_to_sharded(plain, memory)
        assert told(sharded_to_interleaved(there)) == told(there)
    else:
        made.append(interleaved_to_sharded(plain, memory))
    assert [told(tensor) for tensor in made] == [(*wanted, list(piece))] * len(made)
    assert [tensor.is_sharded() for tensor in made] == [False] + [True] * (len(made) - 1)
    # A result lies in the pieces of the matrix that its operand's pieces are those of.
    assert told(relu(there)) == (*wanted, wanted[1] or list(piece))


def test_a_result_of_another_shape_is_cut_as_that_shape_says(one: MeshDevice) -> None:
    there = to_memory_config(put(one, np.ones((1, 4, 64, 64)), BF16, TILE), in_pieces(1, 3, 64, 64))
    assert told(there) == ("HEIGHT_SHARDED", [192, 64], [1, 3, 64, 64])
    many = there.derive(there.shards.map(lambda stack: np.concatenate([stack, stack], 1)))
    assert told(many) == (
        "HEIGHT_SHARDED",
        [192, 64],
        [1, 3, 64, 64],
    )  # pieces that are none of it keep what they were


def test_pieces_that_no_tensor_has(one: MeshDevice) -> None:
    plain = put(one, np.ones((128, 128)), BF16, TILE)
    for piece, words in (
        ((60, 128), "Physical shard shape Shape([60, 128]) must be tile {32, 32} sized!"),
        ((1, 1, 64, 128), "Tensor shape rank (2) can't be less than shard shape rank (4)!"),
        ((0, 128), "Shard shape must be greater than 0 in each sharded dim, got [0, 128]"),
    ):
        with pytest.raises(RuntimeError) as error:
            to_memory_config(plain, in_pieces(*piece))
        assert str(error.value).endswith(words)
    # Only devices refuse pieces of more dimensions.
    on_host = from_torch(
        np.ones((128, 128), np.float32), layout=Layout.TILE, memory_config=in_pieces(1, 1, 64, 128)
    )
    assert told(on_host) == ("HEIGHT_SHARDED", [64, 128], [1, 1, 64, 128])


@pytest.mark.parametrize(
    ("memory", "words"),
    [
        (lambda: in_pieces(1, 1, 64, 128), "Tensor shape rank (2) can't be less than shard shape rank (4)!"),
        (lambda: of_rows(64, 64), "Shard width 64 must match physical width 128 for height sharded"),
        (lambda: of_rows(8, 128), "Physical shard shape (8, 128) must be tile {32, 32} sized!"),
    ],
)
def test_pieces_that_no_new_tensor_has(
    one: MeshDevice, memory: Callable[[], MemoryConfig], words: str
) -> None:
    """Measured on the reference library 0.81.1; on the host nothing lies in pieces."""
    like = put(one, np.ones((128, 128)), BF16, TILE)
    of_shape = {"dtype": BF16, "layout": TILE, "device": one, "memory_config": memory()}
    for make in (
        lambda **given: from_shape.zeros((128, 128), **given),
        lambda **given: from_shape.full((128, 128), 2.0, **given),
        lambda **given: from_shape.empty((128, 128), **given),
        lambda **given: from_shape.rand((128, 128), **given),
        lambda **given: from_shape.ones_like(like, **given),
    ):
        with pytest.raises(RuntimeError) as error:
            make(**of_shape)
        assert sentence_of(error.value).startswith(words)
    with pytest.raises(RuntimeError) as error:
        allocate_tensor_on_device((128, 128), BF16, TILE, one, memory())
    assert sentence_of(error.value).startswith(words)
    assert from_shape.zeros((128, 128), BF16, TILE, None, memory()).device() is None


def of_rows(height: int, width: int) -> MemoryConfig:
    spec = ShardSpec(GRIDS["4x2"], [height, width], ShardOrientation.ROW_MAJOR)
    return MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, spec)


def test_which_configurations_are_equal() -> None:
    """Where one was made of pieces of any rank those count, else the pieces of a matrix."""
    height = TensorMemoryLayout.HEIGHT_SHARDED
    asked = in_pieces(64, 128)
    matrix = MemoryConfig(
        height, BufferType.L1, ShardSpec(GRIDS["4x2"], [64, 128], ShardOrientation.ROW_MAJOR)
    )
    first = (DataType.BFLOAT16, Layout.TILE)
    settled = TensorSpec((128, 128), *first, asked)
    of_more = TensorSpec((1, 128, 128), *first, in_pieces(1, 64, 128))
    of_matrix = TensorSpec((128, 128), *first, matrix)
    assert settled == of_matrix
    assert hash(settled.memory_config) == hash(of_matrix.memory_config)
    named = {
        "asked": asked,
        "matrix": matrix,
        "settled": settled.memory_config,
        "of more": of_more.memory_config,
        "of matrix": of_matrix.memory_config,
    }
    equal = {(a, b) for a, b in itertools.combinations(named, 2) if named[a] == named[b]}
    assert equal == {("matrix", "of matrix"), ("settled", "of matrix")}


def test_a_tensor_of_one_dimension_has_pieces_of_one() -> None:
    first = ((8,), DataType.BFLOAT16, Layout.ROW_MAJOR, TensorMemoryLayout.WIDTH_SHARDED)
    spec = ShardSpec(GRIDS["4x2"], [1, 2], ShardOrientation.ROW_MAJOR)
    pieces = TensorSpec(*first, spec, BufferType.L1).memory_config.nd_shard_spec
    assert pieces is not None and list(pieces.shard_shape) == [2]
    tall = ShardSpec(GRIDS["4x2"], [2, 8], ShardOrientation.ROW_MAJOR)
    with pytest.raises(RuntimeError, match="Shard shape must be 1D for 1D tensor!"):
        TensorSpec(*first[:3], TensorMemoryLayout.HEIGHT_SHARDED, tall, BufferType.L1)


def placed(one: MeshDevice, shape: tuple[int, ...], piece: list[int], layout: Layout) -> Tensor:
    spec = NdShardSpec(piece, cores((0, 0, 3, 3)))
    place = MemoryConfig(buffer_type=BufferType.L1, nd_shard_spec=spec)
    return to_memory_config(put(one, np.zeros(shape), BF16, layout), place)


@pytest.mark.parametrize(
    ("shape", "piece", "ends", "layout", "found"),
    [
        ((2, 3, 96, 128), [1, 2, 64, 64], (1, 2, 64, 64), TILE, [1, 1, 32, 32]),
        ((2, 3, 96, 128), [1, 2, 64, 64], (1, 3, 96, 128), Layout.ROW_MAJOR, [1, 2, 48, 64]),
        ((2, 3, 96, 128), [1, 2, 64, 64], (1, 3, 96, 128), TILE, [1, 2, 64, 64]),
        ((2, 3, 96, 128), [2, 1, 32, 128], (1, 2, 64, 64), Layout.ROW_MAJOR, [1, 1, 22, 64]),
        ((4, 4, 128, 128), [2, 64, 64], (2, 1, 32, 32), Layout.ROW_MAJOR, [1, 16, 16]),
    ],
)
def test_a_part_has_as_many_pieces_as_its_tensor(
    one: MeshDevice,
    shape: tuple[int, ...],
    piece: list[int],
    ends: tuple[int, ...],
    layout: Layout,
    found: list[int],
):
    cut = catalog.find("ttnn.slice")
    assert cut is not None
    part = cut(placed(one, shape, piece, layout), [0] * len(shape), list(ends))
    pieces = part.memory_config().nd_shard_spec
    assert pieces is not None
    assert list(pieces.shard_shape) == found


def test_a_part_with_steps_needs_whole_tiles(one: MeshDevice):
    cut = catalog.find("ttnn.slice")
    assert cut is not None
    tensor = placed(one, (2, 3, 96, 128), [1, 2, 64, 64], TILE)
    with pytest.raises(RuntimeError, match=r"must be tile \{32, 32\} sized"):
        cut(tensor, [0, 0, 0, 0], [2, 2, 32, 64], [1, 1, 2, 1])


@pytest.mark.parametrize("layout", [TILE, Layout.ROW_MAJOR])
def test_a_view_of_pieces_that_are_a_matrix_has_that_cut(one: MeshDevice, layout: Layout):
    tensor = placed(one, (1, 2, 64, 64), [1, 1, 32, 64], layout)
    for name, given in (("unsqueeze", 0), ("squeeze", 0), ("reshape", (128, 64))):
        view = catalog.find(f"ttnn.{name}")
        assert view is not None
        place = view(tensor, given).memory_config()
        assert "created_with_nd_shard_spec=0" in str(place)
        assert place.memory_layout is TensorMemoryLayout.HEIGHT_SHARDED


@pytest.mark.parametrize(("shape", "piece", "grid", "orientation", "words"), [
    ((64, 64), [32, 32], "1x1", "ROW", "Number of shards along width must not exceed core grid width!"),
    ((2, 64, 64), [32, 32], "2x2", "ROW", "Number of shards along height must not exceed core grid height!"),
    ((2, 64, 64), [32, 32], "2x2", "COL", "Number of shards along width must not exceed core grid width!"),
    ((2, 64, 64), [1, 64, 64], "8x8", "ROW", "2D grid distribution is only supported for 2D sharding!"),
    ((64, 64), [64, 64], "twoB", "ROW", "2D grid distribution is only supported for one contiguous core grid!"),
    ((64, 64), [32, 32], "2x2", "ROW", None),
    ((128, 64), [32, 32], "4x2", "COL", None),
])  # fmt: skip
def test_a_matrix_of_pieces_is_held_by_a_rectangle_of_cores(
    one: MeshDevice, shape: tuple[int, ...], piece: list[int], grid: str, orientation: str, words: str | None
) -> None:
    along = ShardOrientation.ROW_MAJOR if orientation == "ROW" else ShardOrientation.COL_MAJOR
    place = MemoryConfig(BufferType.L1, NdShardSpec(piece, GRIDS[grid], along, STRATEGIES["2D"]))
    if words is None:
        assert from_shape.empty(shape, BF16, TILE, one, place).is_sharded()
        return
    with pytest.raises(RuntimeError) as refused:
        from_shape.empty(shape, BF16, TILE, one, place)
    assert sentence_of(refused.value) == words
    with pytest.raises(RuntimeError):
        to_memory_config(put(one, np.zeros(shape), BF16), place)
