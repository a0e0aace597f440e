"""Where tensors lie that are cut over cores once their shape is another: as the results of reference library 0.81.1 do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.placement.test_larger_shards import BLOCK, BROAD, HEIGHT, HIGH, WIDTH, cores, lying
from tests.runtime.ops.tensors import BF16, ROW, TILE, put
from tt_run.runtime.enums import BufferType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    L1_WIDTH_SHARDED_MEMORY_CONFIG,
    MemoryConfig,
    ShardSpec,
)

TALL, WIDE = (HIGH, HEIGHT, (3, 0), (32, 64)), (BROAD, WIDTH, (3, 0), (64, 32))
LONG = ((128, 256), WIDTH, (3, 0), (128, 64))
SQUARE = ((128, 128), BLOCK, (3, 1), (64, 32))


def where(tensor: Any) -> Any:
    """Kind of cut, last core and piece, or the configuration itself where there is none."""
    memory = tensor.memory_config()
    if memory.shard_spec is None:
        return memory
    end = memory.shard_spec.grid.bounding_box().end
    return memory.memory_layout, (end.x, end.y), tuple(memory.shard_spec.shape)


RESHAPED = [
    (TALL, TILE, (1, -1), (WIDTH, (3, 0), (32, 8192))),
    (TALL, TILE, (2, -1, 32), (HEIGHT, (3, 0), (64, 32))),
    (TALL, ROW, (1, 1, -1, 128), (HEIGHT, (3, 0), (16, 128))),
    (WIDE, TILE, (-1, 16), (WIDTH, (3, 0), (512, 32))),
    (WIDE, ROW, (2, -1, 32), (WIDTH, (3, 0), (256, 8))),
    (SQUARE, TILE, (1, -1), (BLOCK, (3, 0), (32, 4096))),
    (SQUARE, TILE, (-1, 64), (BLOCK, (1, 1), (128, 32))),
    (SQUARE, ROW, (-1, 16), L1_MEMORY_CONFIG),
    (((96, 96), BLOCK, (2, 2), (32, 32)), TILE, (-1, 256), (BLOCK, (1, 1), (32, 128))),
    (TALL, TILE, (-1, 64), (HEIGHT, (3, 0), (32, 64))),
]


@pytest.mark.parametrize(("cut", "layout", "shape", "found"), RESHAPED)
def test_reshaped(one: MeshDevice, cut, layout: Layout, shape, found):
    assert where(ops.reshape(lying(one, *cut, layout), shape)) == found


@pytest.mark.parametrize(
    ("cut", "layout", "dim", "found"),
    [
        (TALL, TILE, -2, (HEIGHT, (3, 0), (1024, 64))),
        (TALL, TILE, -1, (HEIGHT, (3, 0), (2048, 32))),
        (TALL, TILE, 0, (HEIGHT, (3, 0), (32, 64))),
        (LONG, TILE, -1, (WIDTH, (3, 0), (32768, 32))),
        (SQUARE, TILE, -2, (BLOCK, (3, 1), (2048, 32))),
        (SQUARE, ROW, -1, L1_MEMORY_CONFIG),
    ],
)
def test_with_a_dimension_more(one: MeshDevice, cut, layout: Layout, dim: int, found):
    x = lying(one, *cut, layout)
    shape = list(x.shape)
    shape.insert(dim % (len(shape) + 1), 1)
    assert where(ops.unsqueeze(x, dim)) == where(ops.reshape(x, shape)) == found


def test_what_is_cut_has_no_product_of_everything(one: MeshDevice):
    with pytest.raises(RuntimeError, match="must be INTERLEAVED, got: TensorMemoryLayout::HEIGHT_SHARDED"):
        ops.prod(lying(one, *TALL, TILE))


def test_rows_of_a_piece_are_whole_multiples_of_the_alignment(one: MeshDevice):
    with pytest.raises(RuntimeError, match="Shard page size must currently have L1 aligned page size"):
        ops.reshape(lying(one, *TALL, ROW), (-1, 2))


@pytest.mark.parametrize(
    ("cut", "layout", "ends", "found"),
    [
        (TALL, TILE, (32, 64), (HEIGHT, (3, 0), (32, 64))),
        (TALL, ROW, (33, 32), (HEIGHT, (3, 0), (9, 32))),
        (WIDE, TILE, (32, 64), (WIDTH, (3, 0), (32, 32))),
        (SQUARE, ROW, (10, 64), (BLOCK, (3, 1), (5, 16))),
    ],
)
def test_sliced(one: MeshDevice, cut, layout: Layout, ends, found):
    assert where(ops.slice(lying(one, *cut, layout), [0] * 4, [1, 1, *ends])) == found


@pytest.mark.parametrize(
    ("cut", "dim", "keepdim", "found"),
    [
        (TALL, -1, True, (HEIGHT, (3, 0), (32, 32))),
        (TALL, -2, True, (WIDTH, (3, 0), (32, 64))),
        (TALL, -1, False, (WIDTH, (3, 0), (32, 128))),
        (SQUARE, -1, True, (BLOCK, (3, 1), (64, 32))),
        (SQUARE, -1, False, (BLOCK, (3, 0), (32, 32))),
    ],
)
def test_reduced(one: MeshDevice, cut, dim, keepdim, found):
    for reduce in (ops.sum, ops.max, ops.var):
        assert where(reduce(lying(one, *cut, TILE), dim, keepdim)) == found
    for reduce in (ops.sum, ops.var):  # the others refuse that of pieces as wide as rows, and keep pieces
        assert where(reduce(lying(one, *TALL, TILE))) == (WIDTH, (3, 0), (32, 32))
        assert where(reduce(lying(one, *SQUARE, TILE))) == (BLOCK, (3, 1), (32, 32))
    assert where(ops.max(lying(one, *SQUARE, TILE))) == (BLOCK, (3, 1), (64, 32))


@pytest.mark.parametrize(
    ("cut", "layout", "order", "found"),
    [
        (TALL, TILE, (0, 1, 3, 2), (WIDTH, (3, 0), (64, 32))),
        (TALL, TILE, (0, 2, 1, 3), (HEIGHT, (3, 0), (1024, 64))),
        (WIDE, TILE, (0, 1, 3, 2), L1_MEMORY_CONFIG),
        (WIDE, ROW, (0, 1, 3, 2), (WIDTH, (3, 0), (128, 16))),
        (LONG, TILE, (0, 1, 3, 2), (WIDTH, (3, 0), (256, 32))),
        (LONG, TILE, (0, 2, 1, 3), (WIDTH, (3, 0), (4096, 64))),
        (SQUARE, TILE, (0, 2, 1, 3), (BLOCK, (3, 1), (2048, 32))),
    ],
)
def test_in_another_order(one: MeshDevice, cut, layout: Layout, order, found):
    x = lying(one, *cut, layout)
    assert where(ops.permute(x, order)) == found
    swapped = [d for d, place in enumerate(order) if place != d]
    assert where(ops.transpose(x, *swapped)) == found


def test_pieces_that_tiles_do_not_share_evenly_go_to_dram(one: MeshDevice):
    tall = lying(one, *TALL, TILE)
    assert [where(part) for part in ops.split(tall, 32, -1)] == [(HEIGHT, (3, 0), (32, 32))] * 2
    assert [where(part) for part in ops.split(tall, 64, -2)] == [DRAM_MEMORY_CONFIG] * 2
    assert where(ops.stack([tall, tall], 0)) == DRAM_MEMORY_CONFIG


def test_pieces_must_fit_the_result_wherever_a_call_names_them(one: MeshDevice):
    x = put(one, np.ones((2, 3, 64, 64)), BF16)
    two = MemoryConfig(HEIGHT, BufferType.L1, ShardSpec(cores((1, 0)), (32, 64), ShardOrientation.ROW_MAJOR))
    for call in (
        lambda: ops.add(x, x, memory_config=two),
        lambda: ops.to_memory_config(x, two),
        lambda: ops.interleaved_to_sharded(x, two),
        lambda: ops.reshard(lying(one, *TALL, TILE), two),
    ):
        with pytest.raises(RuntimeError, match="must not exceed number of cores 2"):
            call()
    with pytest.raises(RuntimeError, match="bad optional access"):
        ops.to_memory_config(x, L1_WIDTH_SHARDED_MEMORY_CONFIG)
    with pytest.raises(RuntimeError, match="must be INTERLEAVED, but got TensorMemoryLayout::HEIGHT_SHARDED"):
        ops.interleaved_to_sharded(lying(one, *TALL, TILE), two)


def test_only_shards_are_spread_over_banks_again(one: MeshDevice):
    x = put(one, np.ones((64, 64)), BF16)
    assert where(ops.sharded_to_interleaved(x, L1_MEMORY_CONFIG)) == DRAM_MEMORY_CONFIG
    assert where(ops.sharded_to_interleaved(lying(one, *TALL, TILE), L1_MEMORY_CONFIG)) == L1_MEMORY_CONFIG


def test_products_by_width_lie_on_as_many_cores_as_they_have_columns_of_tiles(one: MeshDevice):
    a, b = put(one, np.ones((1, 1, 32, 64)), BF16), put(one, np.ones((1, 1, 64, 96)), BF16)
    found = ops.matmul(a, b, memory_config=L1_WIDTH_SHARDED_MEMORY_CONFIG)
    assert where(found) == (TensorMemoryLayout.WIDTH_SHARDED, (2, 0), (32, 32))


def test_a_tensor_that_has_the_layout_stays_what_it_is(one: MeshDevice):
    x = put(one, np.ones((64, 64)), BF16, ROW)
    same = ops.to_layout(x, ROW, memory_config=L1_MEMORY_CONFIG)
    assert where(same) == DRAM_MEMORY_CONFIG
    assert ops.to_layout(ops.to_layout(x, TILE), TILE, ops.sort(x)[1].dtype).dtype is BF16


def test_expanded_and_joined(one: MeshDevice):
    tall = lying(one, *TALL, TILE)
    assert where(ops.expand(tall, (2, 1, -1, -1))) == (HEIGHT, (7, 0), (32, 64))
    assert where(ops.repeat_interleave(tall, 2, 2)) == DRAM_MEMORY_CONFIG
    wide = lying(one, *LONG, TILE)
    assert where(ops.expand(wide, (2, 1, -1, -1))) == (WIDTH, (3, 0), (256, 64))
    assert where(ops.repeat(wide, (1, 1, 2, 1))) == (WIDTH, (3, 0), (256, 64))


def test_dropped_rows_of_ones_leave_blocks_where_they_are(one: MeshDevice):
    blocks = lying(one, (128, 256), BLOCK, (3, 1), (64, 64), TILE)
    assert where(ops.mean(blocks, -2)) == (BLOCK, (3, 1), (32, 64))
