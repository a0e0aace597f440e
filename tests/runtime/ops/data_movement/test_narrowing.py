"""Parts of a tensor in its own buffer: where they lie, and what no buffer has a view of, as reference library 0.81.1 has both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.placement.test_larger_shards import BLOCK, HEIGHT, WIDTH, cores
from tests.runtime.ops.placement.test_reordered_shards import BY_ROW
from tests.runtime.ops.tensors import BF16, ROW, TILE, held, put
from tt_run.runtime import catalog
from tt_run.runtime.cores import corerange_to_cores
from tt_run.runtime.enums import BufferType, Layout, ShardOrientation
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG, MemoryConfig, ShardSpec


def narrow(tensor: Any, *words: int) -> Any:
    found = catalog.find("ttnn.narrow")
    assert found is not None
    return found(tensor, *words)


def numbered(shape: tuple[int, ...]) -> Any:
    return (np.arange(np.prod(shape)) % 251).reshape(shape).astype(np.float32)


@pytest.mark.parametrize(
    ("shape", "layout", "words"),
    [
        ((26, 1, 32, 32), TILE, (0, 12, 12)),
        ((1, 1, 1024, 32), TILE, (-2, 384, 32)),
        ((64, 96), TILE, (1, 0, 96)),  # all of it, wherever it lies
        ((64, 96), ROW, (0, 24, 2)),
        ((1, 1, 1024, 32), ROW, (2, 12, 1)),
    ],
)
def test_runs_of_pages_from_the_first_bank_on(
    one: MeshDevice, shape: tuple[int, ...], layout: Layout, words: tuple[int, int, int]
):
    values, (axis, start, length) = numbered(shape), words
    found = narrow(put(one, values, BF16, layout), *words)
    np.testing.assert_array_equal(held(found), values.take(range(start, start + length), axis=axis))
    assert found.layout is layout


@pytest.mark.parametrize(
    ("shape", "layout", "words", "said"),
    [
        ((64, 96), TILE, (0, 0, 1), "Narrowing on height for TILE layout requires start and length to be multiples"),
        ((64, 96), TILE, (1, 0, 1), "Narrowing on width for TILE layout"),
        ((64, 96), TILE, (1, 0, 32), "requires all preceding dimensions to be trivial"),
        ((1, 96), TILE, (1, 0, 32), "requires all preceding dimensions to be trivial"),  # of padded rows, too
        ((64, 96), TILE, (0, 32, 32), "Start page ID must be aligned with number of banks"),
        ((64,), TILE, (0, 0, 32), "ShapeBase"),
        ((64, 96), ROW, (0, 1, 2), "Start page ID must be aligned"),
        ((1, 96), ROW, (1, 12, 1), r"start \(12\) to be aligned to buffer alignment \(32\)"),
        ((1, 96), ROW, (1, 0, 32), "a row is one page of its buffer"),
        ((64, 96), ROW, (0, 64, 1), "Narrow start index 64 out of bounds for dimension 0 with size 64"),
        ((64, 96), ROW, (0, 0, 0), "Narrow length 0 out of bounds"),
    ],
)  # fmt: skip
def test_what_is_no_run_of_pages(
    one: MeshDevice, shape: tuple[int, ...], layout: Layout, words: tuple[int, int, int], said: str
):
    with pytest.raises(RuntimeError, match=said):
        narrow(put(one, numbered(shape), BF16, layout), *words)


def test_what_is_spread_over_l1_has_no_part(one: MeshDevice):
    spread = ops.to_memory_config(put(one, numbered((64, 96)), BF16), L1_MEMORY_CONFIG)
    with pytest.raises(RuntimeError, match="not yet implemented"):
        narrow(spread, 0, 0, 32)
    assert narrow(spread, 0, 0, 64).memory_config() == L1_MEMORY_CONFIG


ROWS, COLUMNS = ((1, 1, 128, 64), HEIGHT, (0, 3), (32, 64)), ((1, 1, 128, 64), WIDTH, (1, 0), (128, 32))
BLOCKS, PAIRS = ((1, 1, 128, 64), BLOCK, (1, 3), (32, 32)), ((4, 1, 32, 64), HEIGHT, (1, 0), (64, 64))
USERS = ((4, 1, 32, 64), HEIGHT, (0, 3), (32, 64))


def lying(one: MeshDevice, cut: Any, layout: Layout) -> Any:
    shape, kind, last, piece = cut
    memory = MemoryConfig(kind, BufferType.L1, ShardSpec(cores(last), piece, BY_ROW))
    return ops.to_memory_config(put(one, numbered(shape), BF16, layout), memory)


@pytest.mark.parametrize(
    ("cut", "layout", "words", "first", "last", "piece"),
    [
        (ROWS, TILE, (2, 32, 64), (0, 1), (0, 2), (32, 64)),
        (ROWS, TILE, (3, 32, 32), (0, 0), (0, 3), (32, 32)),  # of pieces one tile high
        (ROWS, ROW, (2, 1, 2), (0, 0), (0, 0), (2, 64)),
        (COLUMNS, TILE, (2, 32, 32), (0, 0), (1, 0), (32, 32)),
        (COLUMNS, TILE, (3, 32, 32), (1, 0), (1, 0), (128, 32)),
        (COLUMNS, ROW, (2, 16, 32), (0, 0), (1, 0), (32, 32)),
        (BLOCKS, TILE, (2, 32, 64), (0, 1), (1, 2), (32, 32)),
        (BLOCKS, TILE, (3, 32, 32), (1, 0), (1, 3), (32, 32)),
        (PAIRS, TILE, (0, 2, 2), (1, 0), (1, 0), (64, 64)),
        (PAIRS, ROW, (0, 0, 1), (0, 0), (0, 0), (32, 64)),
        (USERS, ROW, (2, 1, 2), (0, 0), (0, 3), (2, 64)),
    ],
)
def test_pieces_on_cores(
    one: MeshDevice, cut: Any, layout: Layout, words: Any, first: Any, last: Any, piece: Any
):
    (shape, kind, *_), (axis, start, length) = cut, words
    found = narrow(lying(one, cut, layout), *words)
    memory = found.memory_config()
    (box,) = memory.shard_spec.grid.ranges()
    assert (memory.memory_layout, memory.buffer_type) == (kind, BufferType.L1)
    assert ((box.start.x, box.start.y), (box.end.x, box.end.y)) == (first, last)
    assert tuple(memory.shard_spec.shape) == piece
    np.testing.assert_array_equal(held(found), numbered(shape).take(range(start, start + length), axis=axis))


@pytest.mark.parametrize(
    ("cut", "layout", "words", "side"),
    [
        (ROWS, ROW, (2, 16, 32), "non-last"),
        (ROWS, ROW, (3, 0, 32), "last"),
        (COLUMNS, ROW, (3, 0, 2), "last"),
        (PAIRS, TILE, (0, 1, 2), "non-last"),
        (PAIRS, TILE, (3, 0, 32), "last"),
    ],
)
def test_parts_of_several_pieces(one: MeshDevice, cut: Any, layout: Layout, words: Any, side: str):
    with pytest.raises(
        RuntimeError, match=f"Narrowing on {side} dimension for L1 sharded tensor only supports"
    ):
        narrow(lying(one, cut, layout), *words)


@pytest.mark.parametrize(
    ("shape", "high", "words", "places", "piece"),
    [
        ((1, 4, 128, 64), 64, (2, 64, 64), [1, 3, 5, 7], 64),
        ((1, 4, 128, 64), 64, (2, 96, 32), [1, 3, 5, 7], 32),
        ((1, 4, 128, 64), 64, (1, 1, 2), [2, 3, 4, 5], 64),
        ((2, 4, 64, 64), 64, (1, 2, 2), [2, 3, 6, 7], 64),
    ],
)
@pytest.mark.parametrize("by_row", [True, False])
def test_parts_of_every_piece_of_rows(
    one: MeshDevice, shape: Any, high: int, words: Any, places: list[int], piece: int, by_row: bool
):
    order = ShardOrientation.ROW_MAJOR if by_row else ShardOrientation.COL_MAJOR
    grid = cores((3, 1))
    memory = MemoryConfig(HEIGHT, BufferType.L1, ShardSpec(grid, [high, 64], order))
    tensor = ops.to_memory_config(put(one, numbered(shape), BF16, TILE), memory)
    part = narrow(tensor, *words)
    axis, start, length = words
    assert np.array_equal(held(part), np.take(numbered(shape), range(start, start + length), axis))
    spec = part.memory_config().shard_spec
    assert spec.shape == [piece, 64]
    walked, taken = corerange_to_cores(grid, None, by_row), corerange_to_cores(spec.grid, None, by_row)
    wanted = [walked[place] for place in places]
    # Cores that are counted by columns are named one by one, others as rectangles.
    assert set(taken) == set(wanted) if by_row else taken == wanted
    assert by_row or len(spec.grid.ranges()) == len(places)
