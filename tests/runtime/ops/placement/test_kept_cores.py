"""Cores that tensors keep in another layout, as recorded from the reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, ROW, TILE, held
from tt_run.runtime.enums import BufferType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    MemoryConfig,
    NdShardSpec,
    ShardSpec,
)
from tt_run.runtime.tensor.tensor import Tensor

_CUTS = {
    "H": TensorMemoryLayout.HEIGHT_SHARDED,
    "W": TensorMemoryLayout.WIDTH_SHARDED,
    "B": TensorMemoryLayout.BLOCK_SHARDED,
}


def _cores(x: int, y: int) -> CoreRangeSet:
    return CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(x - 1, y - 1))])


def _cut(
    kind: str, x: int, y: int, high: int, wide: int, turned: bool = False, dram: bool = False
) -> MemoryConfig:
    orientation = ShardOrientation.COL_MAJOR if turned else ShardOrientation.ROW_MAJOR
    spec = ShardSpec(_cores(x, y), [high, wide], orientation)
    return MemoryConfig(_CUTS[kind], BufferType.DRAM if dram else BufferType.L1, spec)


PLACES: dict[str, MemoryConfig] = {
    "D": DRAM_MEMORY_CONFIG,
    "L": L1_MEMORY_CONFIG,
    "H4": _cut("H", 4, 1, 64, 256),
    "H4 turned": _cut("H", 4, 1, 64, 256, turned=True),
    "H2": _cut("H", 2, 1, 128, 256),
    "H4 in DRAM": _cut("H", 4, 1, 64, 256, dram=True),
    "W4": _cut("W", 4, 1, 256, 64),
    "W2": _cut("W", 2, 1, 256, 128),
    "W2 in DRAM": _cut("W", 2, 1, 256, 128, dram=True),
    "B4": _cut("B", 2, 2, 128, 128),
    "B8": _cut("B", 4, 2, 128, 64),
    "N": MemoryConfig(buffer_type=BufferType.L1, nd_shard_spec=NdShardSpec([1, 1, 128, 128], _cores(2, 1))),
    "H somewhere": MemoryConfig(_CUTS["H"], BufferType.L1),
    "W somewhere": MemoryConfig(_CUTS["W"], BufferType.L1),
}
OPTIONAL = "bad optional access"
UNNAMED = "MemoryConfig must have Shard Spec specified"
IN_DRAM = "H4 in DRAM"

TILED = [
    ("tilize", "H4", "H2", "H4"),
    ("tilize", "H4", "H4 turned", "H4"),
    ("tilize", "B4", "B8", "B4"),
    ("tilize", "W4", "W2", "W4"),
    ("tilize", "H4", "W4", "W4"),
    ("tilize", "H4", "N", "N"),
    ("tilize", "H4", IN_DRAM, IN_DRAM),
    ("tilize", IN_DRAM, "H4", "H4"),
    ("tilize", "H4", "H somewhere", "H4"),
    ("tilize", "W4", "W somewhere", OPTIONAL),
    ("tilize", "D", "H somewhere", OPTIONAL),
    ("to_layout", "H4", "H2", "H4"),
    ("to_layout", "B8", "B4", "B8"),
    ("to_layout", "H4", "H somewhere", OPTIONAL),
    ("tilize_with_zero_padding", "H4", "H2", "H2"),
    ("tilize_with_zero_padding", "W4", "W2", "W4"),
    ("tilize_with_zero_padding", "W4", "W somewhere", "W4"),
    ("tilize_with_zero_padding", "B4", "B8", "B8"),
    ("tilize_with_zero_padding", "D", "W somewhere", OPTIONAL),
]
UNPADDED = [
    ("H4", None, "H4"),
    ("H4", "D", "D"),
    ("H4", "H2", "H4"),
    ("H4", "H somewhere", "H4"),
    ("H4", "W somewhere", UNNAMED),
    ("H4", "W4", "Output memory config layout must be HEIGHT_SHARDED when output is sharded but got"),
    ("H4", "N", "Output memory config layout must not be ND_SHARDED"),
    ("H4", IN_DRAM, "HEIGHT_SHARDED -> HEIGHT_SHARDED output must be in L1"),
    (IN_DRAM, None, "HEIGHT_SHARDED -> HEIGHT_SHARDED output must be in L1"),
    (IN_DRAM, "D", "its TensorSpec is not L1-resident"),
    ("W4", "W2", "W4"),
    ("W4", "B8", "B8"),
    (
        "W4",
        "B4",
        "WIDTH_SHARDED -> BLOCK_SHARDED requires matching column shard width; got input=64 output=128",
    ),
    ("W4", "H4", r"must match input tensor memory layout \(TensorMemoryLayout::WIDTH_SHARDED\)"),
    ("B4", "B8", "B4"),
    ("B4", "W2 in DRAM", "W2 in DRAM"),
    (
        "B4",
        "W4",
        "BLOCK_SHARDED -> WIDTH_SHARDED requires matching column shard width; got input=128 output=64",
    ),
    ("B4", "H4", "when input is BLOCK_SHARDED and output is sharded"),
    ("N", "H4", "H4"),
    ("N", "H somewhere", UNNAMED),
    ("D", "N", OPTIONAL),
    ("D", "W somewhere", OPTIONAL),
]


def _compare(found: Any, wanted: str, layout: Layout, values: Any) -> None:
    assert found.layout is layout
    assert found.memory_config() == PLACES[wanted]
    assert np.array_equal(held(found), values)


def _put(device: MeshDevice, values: Any, layout: Layout, place: MemoryConfig) -> Tensor:
    return from_torch(values, dtype=BF16, layout=layout, device=device, memory_config=place)


def _values(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 251


@pytest.mark.parametrize(("name", "own", "asked", "wanted"), TILED)
def test_rows_become_tiles(one: MeshDevice, name: str, own: str, asked: str, wanted: str):
    values = _values(1, 1, 256, 256)
    rows = _put(one, values, ROW, PLACES[own])
    arguments = (rows, TILE) if name == "to_layout" else (rows,)
    if wanted in PLACES:
        found = getattr(ops, name)(*arguments, memory_config=PLACES[asked])
        _compare(found, wanted, TILE, values)
        return
    with pytest.raises(RuntimeError, match=wanted):
        getattr(ops, name)(*arguments, memory_config=PLACES[asked])


@pytest.mark.parametrize(("own", "asked", "wanted"), UNPADDED)
def test_tiles_leave_their_padding(one: MeshDevice, own: str, asked: str | None, wanted: str):
    values = _values(1, 1, 256, 256)
    tiles, place = _put(one, values, TILE, PLACES[own]), PLACES[asked] if asked else None
    if wanted in PLACES:
        _compare(
            ops.untilize_with_unpadding(tiles, [0, 0, 255, 255], memory_config=place), wanted, ROW, values
        )
        return
    with pytest.raises(RuntimeError, match=wanted):
        ops.untilize_with_unpadding(tiles, [0, 0, 255, 255], memory_config=place)


def test_padding_is_left_by_other_names_as_well(one: MeshDevice):
    values = _values(1, 1, 250, 240)
    cut = _cut("H", 4, 1, 64, 240)
    tiles = _put(one, values, TILE, PLACES["H4"])
    for asked in (None, PLACES["H2"]):
        found = ops.to_layout(tiles, ROW, memory_config=asked)
        assert found.memory_config() == cut
        assert np.array_equal(held(found), values)
    with pytest.raises(RuntimeError, match="must not be ND_SHARDED"):
        ops.to_layout(tiles, ROW, memory_config=PLACES["N"])
    spread = _put(one, values, TILE, DRAM_MEMORY_CONFIG)
    for found in (
        ops.untilize(spread, memory_config=PLACES["W4"]),
        ops.to_layout(spread, ROW, memory_config=PLACES["W4"]),
    ):
        assert found.memory_config() == _cut("W", 4, 1, 250, 64)
        assert np.array_equal(held(found), values)


def test_rows_that_tiles_make_wider_are_counted_along_the_rows_of_cores(one: MeshDevice):
    values = _values(1, 1, 250, 240)
    rows = _put(one, values, ROW, PLACES["H4 turned"])
    for asked in (None, PLACES["H2"]):
        _compare(ops.to_layout(rows, TILE, memory_config=asked), "H4", TILE, values)
    # Where only rows are added, the cores are counted as before.
    high = _put(one, _values(1, 1, 250, 256), ROW, PLACES["H4 turned"])
    assert ops.to_layout(high, TILE).memory_config() == PLACES["H4 turned"]


@pytest.mark.parametrize(
    ("shape", "cut", "wanted"),
    [
        ((4, 8, 17, 64), _cut("H", 8, 1, 128, 64), _cut("H", 8, 1, 68, 64)),
        ((4, 20, 50), _cut("H", 2, 1, 96, 64), _cut("H", 2, 1, 60, 50)),
        ((1, 1, 100, 50), _cut("H", 4, 1, 64, 64), _cut("H", 4, 1, 32, 50)),
        ((4, 60, 64), _cut("H", 3, 1, 96, 64), _cut("H", 3, 1, 96, 64)),
        ((2, 50, 90), _cut("W", 3, 1, 128, 32), _cut("W", 3, 1, 100, 32)),
        ((100, 40), _cut("B", 2, 2, 96, 64), _cut("B", 2, 2, 64, 32)),
    ],
)
def test_cores_of_whole_matrices_keep_as_many_without_their_padding(
    one: MeshDevice, shape: tuple[int, ...], cut: MemoryConfig, wanted: MemoryConfig
):
    values = _values(*shape)
    tiles = _put(one, values, TILE, cut)
    ends = [length - 1 for length in shape]
    for found in (ops.to_layout(tiles, ROW), ops.untilize_with_unpadding(tiles, ends)):
        assert found.memory_config() == wanted
        assert np.array_equal(held(found), values)


def test_whole_matrices_of_which_rows_are_cut_away_stay_on_their_cores(one: MeshDevice):
    values = _values(8, 32, 64)
    tiles = _put(one, values, TILE, _cut("H", 4, 1, 64, 64))
    found = ops.untilize_with_unpadding(tiles, [3, 20, 40])
    assert found.memory_config() == _cut("H", 4, 1, 42, 41)
    assert np.array_equal(held(found), values[:4, :21, :41])


def _pieces(x: int, y: int, *shape: int) -> MemoryConfig:
    return MemoryConfig(buffer_type=BufferType.L1, nd_shard_spec=NdShardSpec(list(shape), _cores(x, y)))


@pytest.mark.parametrize(
    ("shape", "cut", "wanted"),
    [
        ((2, 50, 70), _pieces(1, 1, 2, 64, 96), _cut("W", 1, 1, 100, 96)),
        ((2, 64, 70), _pieces(2, 1, 1, 64, 96), _cut("H", 2, 1, 64, 70)),
        ((50, 70), _pieces(3, 2, 32, 32), _cut("B", 3, 2, 32, 32)),
    ],
)
def test_pieces_of_any_rank_that_are_those_of_a_matrix_leave_their_padding_as_such(
    one: MeshDevice, shape: tuple[int, ...], cut: MemoryConfig, wanted: MemoryConfig
):
    values = _values(*shape)
    found = ops.to_layout(_put(one, values, TILE, cut), ROW)
    memory = found.memory_config()
    assert memory == wanted
    assert not memory.created_with_nd_shard_spec
    assert np.array_equal(held(found), values)


def test_pieces_of_no_matrix_take_their_padding_along(one: MeshDevice):
    values = _values(2, 50, 70)
    tiles = _put(one, values, TILE, _pieces(2, 2, 1, 32, 32))
    for asked, padded in ((None, (2, 64, 96)), (_pieces(2, 1, 1, 64, 64), (2, 64, 128))):
        found = ops.untilize(tiles, memory_config=asked)
        assert tuple(found.padded_shape) == padded
        assert np.array_equal(held(found), values)
    assert tuple(ops.to_layout(tiles, ROW).padded_shape) == (2, 50, 96)
