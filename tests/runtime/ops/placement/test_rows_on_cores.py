"""Rows on cores that become tiles, and tiles that become rows: places, padding and refusals of reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.placement.test_fitted_shards import where
from tests.runtime.ops.placement.test_larger_shards import BLOCK, HEIGHT, WIDTH, lying
from tests.runtime.ops.tensors import BF16, BFP8, F32, ROW, TILE, held, put
from tt_run.runtime.enums import Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG

LOW, COLUMNS, BROKEN = (
    ((64, 32), HEIGHT, (3, 0), (16, 32)),
    ((20, 128), WIDTH, (3, 0), (20, 32)),
    ((100, 30), HEIGHT, (3, 0), (32, 32)),
)


@pytest.mark.parametrize("given", [LOW, COLUMNS])
def test_pieces_that_are_no_tiles_stay_rows(one: MeshDevice, given: Any):
    rows = lying(one, *given, ROW)
    pairs = (ops.eq, ops.maximum, ops.pow, ops.div, ops.logaddexp, ops.subtract)
    calls = [
        lambda: ops.to_layout(rows, TILE),
        lambda: ops.to_layout(rows, TILE, memory_config=L1_MEMORY_CONFIG),
    ]
    for call in (*calls, *(lambda pair=pair: pair(rows, rows) for pair in pairs)):
        with pytest.raises(RuntimeError, match=r"Physical shard shape .* must be tile \{32, 32\} sized"):
            call()
    assert where(ops.maximum(rows, 0.5)) == where(ops.relu(rows)) == tuple(given[1:])
    assert where(ops.sum(rows, -1, memory_config=L1_MEMORY_CONFIG)) == L1_MEMORY_CONFIG


def test_columns_are_filled_up_to_tiles(one: MeshDevice):
    rows = lying(one, *COLUMNS, ROW)
    for tiled in (
        ops.tilize_with_zero_padding(rows),
        ops.tilize_with_zero_padding(rows, memory_config=rows.memory_config()),
        ops.tilize_with_val_padding(rows, [1, 1, 32, 128], 2.0),
    ):
        assert where(tiled) == (WIDTH, (3, 0), (32, 32))
        assert (held(tiled) == 1).all()


UNTILED = [
    (((100, 50), HEIGHT, (3, 0), (32, 64)), (32, 50), (32, 64)),
    (((20, 100), WIDTH, (3, 0), (32, 32)), (20, 32), None),
    (((60, 100), BLOCK, (3, 1), (32, 32)), (32, 32), (32, 32)),
]


@pytest.mark.parametrize(("given", "piece", "untilized"), UNTILED)
def test_tiles_that_become_rows_leave_their_padding(one: MeshDevice, given, piece, untilized):
    tiles = lying(one, *given, TILE)
    for rows in (ops.to_layout(tiles, ROW), ops.to_layout(tiles, ROW, memory_config=tiles.memory_config())):
        assert where(rows) == (*given[1:3], piece)
        assert (held(rows) == 1).all()
    if untilized is None:
        with pytest.raises(RuntimeError, match="Shard height 32 must match physical height 20"):
            ops.untilize(tiles)
    else:
        assert where(ops.untilize(tiles)) == (*given[1:3], untilized)
    spread = ops.untilize(tiles, memory_config=DRAM_MEMORY_CONFIG)
    assert (spread.shape, spread.padded_shape) == (tiles.shape, tiles.padded_shape)
    last = [n - 1 for n in tiles.shape]
    cut = ops.untilize_with_unpadding(tiles, last, memory_config=DRAM_MEMORY_CONFIG)
    assert cut.padded_shape == tiles.shape


def test_rows_keep_the_type_of_their_tiles(one: MeshDevice):
    tiles = put(one, np.ones((32, 32)), BF16, TILE)
    with pytest.raises(RuntimeError, match="dtype cannot be different from tensor dtype"):
        ops.to_layout(tiles, ROW, dtype=F32)
    assert ops.to_layout(ops.typecast(tiles, BFP8), ROW, dtype=BF16).dtype is BF16


def test_pairs_of_rows_leave_the_padding_of_their_pieces(one: MeshDevice):
    rows = lying(one, *BROKEN, ROW)
    for found in (ops.add(rows, rows), ops.add(rows, 1.0), ops.gt(rows, rows)):
        assert where(found) == (HEIGHT, (3, 0), (32, 30))
        assert found.padded_shape == found.shape
    assert where(ops.relu(rows)) == (HEIGHT, (3, 0), (32, 32))


def test_choices_of_rows_are_made_in_tiles(one: MeshDevice):
    low, columns = lying(one, *LOW, ROW), lying(one, *COLUMNS, ROW)
    odd = lying(one, (1, 1, 64, 48), HEIGHT, (1, 0), (40, 48), ROW)
    for function in (ops.where, ops.addcmul, ops.addcdiv):
        assert where(function(odd, odd, odd)) == (HEIGHT, (1, 0), (40, 48))
        assert where(function(low, low, low)) == (HEIGHT, (3, 0), (32, 32))
        assert function(low, low, low).layout is Layout.ROW_MAJOR
        moved = function(low, low, low, memory_config=L1_MEMORY_CONFIG)
        assert (where(moved), moved.layout) == (L1_MEMORY_CONFIG, Layout.TILE)
        with pytest.raises(RuntimeError, match="Shard height 32 must match physical height 20"):
            function(columns, columns, columns)
    assert ops.where(low, low, 1.0, memory_config=L1_MEMORY_CONFIG).layout is Layout.ROW_MAJOR


REORDERED = [
    (LOW, (HEIGHT, (3, 0), (8, 64))),
    (((128, 32), HEIGHT, (3, 0), (32, 32)), (WIDTH, (3, 0), (32, 32))),
    (((32, 128), WIDTH, (3, 0), (32, 32)), (WIDTH, (3, 0), (128, 8))),
    (COLUMNS, L1_MEMORY_CONFIG),
    (((60, 128), BLOCK, (3, 1), (32, 32)), L1_MEMORY_CONFIG),
]


@pytest.mark.parametrize(("given", "found"), REORDERED)
def test_rows_in_another_order(one: MeshDevice, given, found):
    rows = lying(one, *given, ROW)
    assert where(ops.transpose(rows, -1, -2)) == where(ops.permute(rows, (0, 1, 3, 2))) == found
    assert where(ops.permute(rows, (1, 0, 2, 3))) == tuple(given[1:])


SPLIT = [
    (LOW, 2, -1, (HEIGHT, (3, 0), (16, 2))),
    (LOW, 3, -1, DRAM_MEMORY_CONFIG),  # the last one is narrower
    (LOW, 8, -2, (HEIGHT, (3, 0), (2, 32))),
    (LOW, 1, -3, tuple(LOW[1:])),
    (COLUMNS, 8, -1, (WIDTH, (3, 0), (20, 2))),
    (BROKEN, 2, -1, DRAM_MEMORY_CONFIG),
    (((60, 128), BLOCK, (3, 1), (32, 32)), 8, -1, (BLOCK, (3, 1), (32, 2))),
    (((60, 128), BLOCK, (3, 1), (32, 32)), 2, -2, DRAM_MEMORY_CONFIG),
]


@pytest.mark.parametrize(("given", "size", "dim", "found"), SPLIT)
def test_rows_in_parts(one: MeshDevice, given, size, dim, found):
    parts = ops.split(lying(one, *given, ROW), size, dim)
    assert {where(part) for part in parts} == {found}


def test_rows_with_padding_are_seen_as_their_buffer_lies(one: MeshDevice):
    rows = lying(one, (84, 8), HEIGHT, (2, 0), (28, 16), ROW)
    for seen in (ops.unsqueeze(rows, 0), ops.reshape(rows, (1, 2, 42, 8)), ops.view(rows, (1, 2, 42, 8))):
        assert where(seen) == (HEIGHT, (2, 0), (56, 8))
    assert where(ops.view(rows, rows.shape)) == (HEIGHT, (2, 0), (28, 16))
    narrow = lying(one, (16, 60), WIDTH, (3, 0), (16, 16), ROW)
    with pytest.raises(RuntimeError, match="Changing the last dimension of a sharded tensor"):
        ops.unsqueeze(narrow, 0)
