"""Where sharded tensors lie once reordered, cut or repeated, with and without a cut asked for: as the results of reference library 0.81.1 do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.placement.test_fitted_shards import where
from tests.runtime.ops.placement.test_larger_shards import BLOCK, HEIGHT, WIDTH, Corner, cores
from tests.runtime.ops.tensors import BF16, ROW, TILE, put
from tt_run.runtime.enums import BufferType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_BLOCK_SHARDED_MEMORY_CONFIG,
    L1_HEIGHT_SHARDED_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    L1_WIDTH_SHARDED_MEMORY_CONFIG,
    MemoryConfig,
    ShardSpec,
)

HM, WM = L1_HEIGHT_SHARDED_MEMORY_CONFIG, L1_WIDTH_SHARDED_MEMORY_CONFIG
BM = L1_BLOCK_SHARDED_MEMORY_CONFIG
BY_ROW, BY_COLUMN = ShardOrientation.ROW_MAJOR, ShardOrientation.COL_MAJOR


def lying(
    one: MeshDevice,
    shape: tuple[int, ...],
    kind: TensorMemoryLayout,
    last: Corner,
    piece: Corner,
    layout: Layout = TILE,
    orientation: ShardOrientation = BY_ROW,
) -> Any:
    memory = MemoryConfig(kind, BufferType.L1, ShardSpec(cores(last), piece, orientation))
    return ops.to_memory_config(put(one, np.ones(shape), BF16, layout), memory)


TALL, WIDE = ((1, 1, 128, 64), HEIGHT, (3, 0), (32, 64)), ((1, 1, 64, 128), WIDTH, (3, 0), (64, 32))
SQUARE = ((1, 1, 128, 128), BLOCK, (3, 1), (64, 32))
TURNED = ((1, 1, 128, 128), BLOCK, (1, 3), (64, 32))
MANY = ((2, 3, 64, 96), HEIGHT, (3, 2), (32, 96))
PAIR = ((2, 1, 64, 128), BLOCK, (1, 3), (32, 64))
UNEVEN = ((1, 1, 160, 64), HEIGHT, (2, 0), (64, 64))
ROUGH = ((1, 1, 90, 64), HEIGHT, (3, 0), (25, 64), ROW)
FINE = ((1, 1, 100, 64), HEIGHT, (3, 0), (25, 64), ROW)
SMALL = ((2, 4, 16, 32), HEIGHT, (3, 0), (32, 32), ROW)
SPARE, LEFT = ((1, 1, 400, 80), HEIGHT, (7, 1), (32, 96)), ((1, 1, 96, 320), HEIGHT, (7, 1), (32, 320), ROW)
FLAT = ((1, 1, 64, 160), WIDTH, (2, 0), (64, 64))
FEW, BUNDLE = (
    ((2, 2, 64, 64), WIDTH, (1, 0), (256, 32), ROW),
    ((2, 32, 32, 64), BLOCK, (1, 1), (1024, 32), ROW),
)

REORDERED = [
    (TALL, (0, 1, 3, 2), None, (WIDTH, (3, 0), (64, 32))),
    (FINE, (0, 1, 3, 2), None, (HEIGHT, (3, 0), (16, 100))),
    (WIDE, (0, 1, 3, 2), None, L1_MEMORY_CONFIG),
    (SPARE, (0, 1, 3, 2), None, (WIDTH, (7, 1), (96, 32))),
    (SPARE, (0, 2, 3, 1), None, L1_MEMORY_CONFIG),
    (SPARE, (0, 3, 1, 2), None, (WIDTH, (7, 1), (2560, 32))),
    (SPARE, (0, 2, 1, 3), None, L1_MEMORY_CONFIG),
    (LEFT, (0, 1, 3, 2), None, (WIDTH, (7, 1), (320, 32))),
    (FLAT, (0, 1, 3, 2), None, (WIDTH, (1, 0), (160, 32))),
    (FLAT, (0, 2, 1, 3), None, (WIDTH, (2, 0), (2048, 64))),
    (MANY, (0, 1, 3, 2), None, L1_MEMORY_CONFIG),
    (UNEVEN, (0, 1, 3, 2), None, (HEIGHT, (1, 0), (32, 160))),
    (ROUGH, (0, 1, 3, 2), None, (HEIGHT, (1, 0), (32, 96))),
    (ROUGH, (0, 2, 1, 3), None, (HEIGHT, (3, 0), (25, 64))),
    (UNEVEN, (0, 3, 1, 2), None, (HEIGHT, (1, 0), (1024, 160))),
    (SQUARE, (0, 2, 3, 1), None, (BLOCK, (0, 7), (2048, 32))),
    ((*SQUARE, ROW), (0, 2, 3, 1), None, L1_MEMORY_CONFIG),
    (TALL, (0, 3, 2, 1), None, L1_MEMORY_CONFIG),
    (FEW, (0, 3, 2, 1), None, L1_MEMORY_CONFIG),  # two rows to a matrix on the way
    (BUNDLE, (0, 3, 2, 1), None, (BLOCK, (1, 1), (2048, 16))),
    (UNEVEN, (0, 3, 2, 1), None, (HEIGHT, (1, 0), (5120, 32))),
    (TALL, (1, 0, 3, 2), None, (HEIGHT, (1, 0), (32, 128))),
    (MANY, (2, 0, 1, 3), None, (HEIGHT, (7, 7), (64, 96))),
    ((*TALL, ROW), (3, 2, 1, 0), None, (HEIGHT, (3, 0), (2048, 1))),
    ((*WIDE, ROW), (3, 2, 1, 0), None, (WIDTH, (0, 0), (8192, 32))),
    ((*TURNED, ROW, BY_COLUMN), (3, 1, 2, 0), None, (BLOCK, (7, 0), (2048, 32))),
    (TALL, (0, 1, 3, 2), HM, (HEIGHT, (1, 0), (32, 128))),
    ((*TALL, ROW), (0, 1, 3, 2), HM, (HEIGHT, (3, 0), (16, 128))),
    ((*TALL, ROW), (0, 3, 1, 2), HM, (HEIGHT, (1, 0), (32, 128))),
    ((*WIDE, ROW), (0, 1, 3, 2), BM, (BLOCK, (1, 3), (32, 32))),
    (UNEVEN, (0, 2, 1, 3), HM, (HEIGHT, (2, 0), (2048, 64))),
    ((*TURNED, TILE, BY_COLUMN), (0, 1, 3, 2), HM, (HEIGHT, (0, 3), (32, 128))),
]  # fmt: skip


@pytest.mark.parametrize(("cut", "order", "asked", "found"), REORDERED)
def test_reordered(one: MeshDevice, cut, order, asked, found):
    assert where(ops.permute(lying(one, *cut), order, memory_config=asked)) == found


def test_exchanged_as_in_another_order(one: MeshDevice):
    tall = lying(one, *TALL)
    assert where(ops.transpose(tall, 1, 3)) == where(ops.permute(tall, (0, 3, 2, 1)))
    assert where(ops.transpose(tall, 0, 2)) == where(ops.permute(tall, (2, 1, 0, 3)))


def test_what_is_not_sharded_is_cut_in_tiles_without_tiles(one: MeshDevice):
    rows = put(one, np.ones((1, 1, 90, 64)), BF16, ROW)
    assert where(ops.transpose(rows, 2, 3, memory_config=HM)) == (HEIGHT, (1, 0), (32, 96))
    with pytest.raises(RuntimeError, match="Shard height 96 must match physical height 90 for width sharded"):
        ops.transpose(rows, 1, 2, memory_config=WM)
    assert where(ops.transpose(rows, 2, 3)) == DRAM_MEMORY_CONFIG


CUT = [
    (TALL, (32, 32), HM, (HEIGHT, (0, 0), (32, 32))),
    (TALL, (64, 64), HM, (HEIGHT, (1, 0), (32, 64))),
    ((*TALL, ROW), (32, 32), HM, (HEIGHT, (3, 0), (8, 32))),
    ((*TALL, ROW), (64, 64), BM, (BLOCK, (1, 1), (32, 32))),
    (ROUGH, (32, 32), HM, (HEIGHT, (0, 0), (32, 32))),
    (FINE, (32, 32), HM, (HEIGHT, (0, 0), (32, 32))),
    (SQUARE, (64, 64), BM, (BLOCK, (1, 1), (32, 32))),
]


@pytest.mark.parametrize(("cut", "ends", "asked", "found"), CUT)
def test_cut_out(one: MeshDevice, cut, ends, asked, found):
    part = ops.slice(lying(one, *cut), [0] * 4, [1, 1, *ends], memory_config=asked)
    assert where(part) == found


REPEATED = [
    (FLAT, (1, 1, 2, 1), None, (WIDTH, (4, 0), (128, 32))),
    (SMALL, (1, 1, 2, 1), None, (HEIGHT, (3, 0), (64, 32))),
    (UNEVEN, (1, 1, 1, 2), None, (HEIGHT, (4, 0), (32, 128))),
    ((*WIDE, ROW), (1, 1, 1, 2), None, (WIDTH, (7, 3), (64, 8))),
    ((*SQUARE, ROW), (1, 1, 1, 2), None, (BLOCK, (7, 7), (16, 32))),
    (SQUARE, (1, 1, 1, 2), None, (BLOCK, (3, 1), (64, 64))),
    ((*TURNED, TILE, BY_COLUMN), (1, 1, 2, 1), None, (BLOCK, (7, 3), (32, 32))),
    (TALL, (1, 1, 2, 1), HM, (HEIGHT, (7, 0), (32, 64))),
    ((*TALL, ROW), (1, 1, 2, 1), WM, (WIDTH, (7, 0), (256, 8))),
    (PAIR, (1, 1, 2, 1), BM, (BLOCK, (3, 7), (32, 32))),
    (SMALL, (1, 1, 2, 1), BM, (BLOCK, (0, 7), (32, 32))),
]


@pytest.mark.parametrize(("cut", "times", "asked", "found"), REPEATED)
def test_repeated(one: MeshDevice, cut, times, asked, found):
    assert where(ops.repeat(lying(one, *cut), times, memory_config=asked)) == found
