"""Where results lie whose call asks for shards without cores, or with pieces that do not fit: as those of reference library 0.81.1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.placement.test_fitted_shards import where
from tests.runtime.ops.placement.test_larger_shards import BLOCK, HEIGHT, WIDTH, cores, lying
from tests.runtime.ops.tensors import BF16, ROW, TILE, held, put
from tt_run.runtime.enums import BufferType, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG, MemoryConfig, ShardSpec

SHAPE = (128, 256)
ROWS, COLUMNS = (SHAPE, HEIGHT, (3, 0), (32, 256)), (SHAPE, WIDTH, (3, 0), (128, 64))
BLOCKS = (SHAPE, BLOCK, (3, 1), (64, 64))
UNEVEN_ROWS, UNEVEN_COLUMNS = (SHAPE, HEIGHT, (1, 0), (96, 256)), (SHAPE, WIDTH, (2, 0), (128, 96))


def nameless(kind: TensorMemoryLayout) -> MemoryConfig:
    return MemoryConfig(kind, BufferType.L1)


def named(kind: TensorMemoryLayout, last: tuple[int, int], piece: tuple[int, int]) -> MemoryConfig:
    return MemoryConfig(kind, BufferType.L1, ShardSpec(cores(last), piece, ShardOrientation.ROW_MAJOR))


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (ROWS, BLOCKS, BLOCKS), (COLUMNS, BLOCKS, BLOCKS), (BLOCKS, ROWS, BLOCKS), (ROWS, COLUMNS, ROWS),
        (COLUMNS, ROWS, COLUMNS), (UNEVEN_COLUMNS, ROWS, ROWS), (UNEVEN_ROWS, COLUMNS, COLUMNS),
        (UNEVEN_COLUMNS, UNEVEN_ROWS, UNEVEN_COLUMNS), (UNEVEN_ROWS, BLOCKS, BLOCKS),
    ],
)  # fmt: skip
@pytest.mark.parametrize("layout", [TILE, ROW])
def test_of_two_cuts_blocks_come_first_and_what_is_even(one: MeshDevice, first, second, found, layout):
    sums = ops.add(lying(one, *first, layout), lying(one, *second, layout))
    assert where(sums) == tuple(found[1:])
    assert (held(sums) == 2).all()


def test_a_choice_follows_the_first_operand_that_is_cut(one: MeshDevice):
    plain = ops.to_memory_config(put(one, np.ones(SHAPE), BF16), L1_MEMORY_CONFIG)
    rows = lying(one, *ROWS, TILE)
    assert where(ops.where(plain, rows, rows)) == tuple(ROWS[1:])
    assert where(ops.add(plain, rows)) == L1_MEMORY_CONFIG


@pytest.mark.parametrize("kind", [HEIGHT, WIDTH, BLOCK])
def test_a_pair_that_is_cut_keeps_its_cut_where_no_cores_are_named(one: MeshDevice, kind):
    rows = lying(one, *ROWS, TILE)
    assert where(ops.add(rows, rows, memory_config=nameless(kind))) == tuple(ROWS[1:])


@pytest.mark.parametrize("name", ["add", "addalpha", "isclose", "nextafter"])
@pytest.mark.parametrize("kind", [HEIGHT, WIDTH, BLOCK])
@pytest.mark.parametrize("layout", [TILE, ROW])
def test_a_pair_without_named_cores_lies_on_those_of_its_first_operand_that_is_cut(
    one: MeshDevice, name, kind, layout
):
    plain = put(one, np.ones(SHAPE), BF16, layout)
    rows, blocks = lying(one, *ROWS, layout), lying(one, *BLOCKS, layout)
    alpha = [2.0] if name == "addalpha" else []
    words = {"memory_config": nameless(kind)}
    for pair, found in (((plain, rows), ROWS), ((rows, blocks), ROWS), ((plain, blocks), BLOCKS)):
        made = getattr(ops, name)(*pair, *alpha, **words)
        assert where(made) == tuple(found[1:]), (pair, found)


@pytest.mark.parametrize("asked", [None, HEIGHT, WIDTH])
def test_a_column_that_is_cut_grows_with_the_result(one: MeshDevice, asked):
    plain = put(one, np.ones((64, 128)), BF16, ROW)
    column = lying(one, (64, 1), HEIGHT, (1, 0), (32, 32), ROW)
    words = {} if asked is None else {"memory_config": nameless(asked)}
    for function in (ops.add, ops.pow, ops.gt):
        assert where(function(plain, column, **words)) == (HEIGHT, (1, 0), (32, 128))


def test_a_function_keeps_the_pieces_under_the_name_that_is_asked(one: MeshDevice):
    rows = lying(one, SHAPE, HEIGHT, (0, 3), (32, 256), TILE)
    for function in (
        ops.relu,
        lambda x, **k: ops.add(x, 1.0, **k),
        lambda x, **k: ops.where(x, 1.0, 2.0, **k),
    ):
        assert where(function(rows, memory_config=nameless(BLOCK))) == (BLOCK, (0, 3), (32, 256))
        with pytest.raises(RuntimeError, match="Shard height 32 must match physical height 128"):
            function(rows, memory_config=nameless(WIDTH))


REDUCED = [
    (ROWS, nameless(HEIGHT), (WIDTH, (3, 0), (32, 128))),
    (ROWS, nameless(WIDTH), (WIDTH, (3, 0), (32, 32))),
    (BLOCKS, nameless(BLOCK), (BLOCK, (3, 0), (32, 32))),
    (ROWS, named(BLOCK, (3, 1), (64, 64)), (BLOCK, (3, 0), (32, 32))),
    (BLOCKS, named(WIDTH, (3, 0), (128, 64)), (WIDTH, (3, 0), (32, 32))),
    (BLOCKS, named(HEIGHT, (3, 0), (32, 256)), (WIDTH, (3, 0), (32, 128))),
]


@pytest.mark.parametrize(("cut", "asked", "found"), REDUCED)
def test_reductions_are_cut_anew_over_the_cores(one: MeshDevice, cut, asked: MemoryConfig, found: Any):
    for reduce in (ops.mean, ops.max):
        result = reduce(lying(one, *cut, TILE), -1, memory_config=asked)
        assert where(result) == found
        assert (held(result) == 1).all()


RESHAPED = [
    (ROWS, nameless(HEIGHT), (HEIGHT, (3, 0), (32, 512))),
    (ROWS, nameless(WIDTH), (WIDTH, (3, 0), (64, 128))),
    (BLOCKS, nameless(BLOCK), (BLOCK, (3, 1), (32, 128))),
    (COLUMNS, nameless(BLOCK), (BLOCK, (3, 0), (64, 128))),
    (ROWS, named(BLOCK, (3, 1), (64, 64)), (BLOCK, (3, 1), (32, 128))),
    (COLUMNS, named(HEIGHT, (3, 0), (32, 256)), (HEIGHT, (3, 0), (32, 512))),
    (ROWS, named(HEIGHT, (1, 0), (32, 512)), (HEIGHT, (1, 0), (32, 512))),
]


@pytest.mark.parametrize(("cut", "asked", "found"), RESHAPED)
def test_other_shapes_are_cut_anew_over_the_cores(one: MeshDevice, cut, asked: MemoryConfig, found: Any):
    assert where(ops.reshape(lying(one, *cut, TILE), (64, 512), memory_config=asked)) == found


def test_shards_of_a_reshape_need_cores_from_somewhere(one: MeshDevice):
    with pytest.raises(
        RuntimeError, match="was supplied without a shard_spec, and no input_shard_spec is available"
    ):
        ops.reshape(put(one, np.ones(SHAPE), BF16), (64, 512), memory_config=nameless(HEIGHT))


def test_rows_that_were_tiles_have_no_padding_across_the_cut(one: MeshDevice):
    for cut, piece in ((ROWS, (32, 201)), (COLUMNS, (101, 64))):
        rows = ops.untilize_with_unpadding(lying(one, *cut, TILE), [0, 0, 100, 200])
        assert where(rows) == (cut[1], (3, 0), piece)


def test_the_total_of_everything_keeps_the_pieces(one: MeshDevice):
    narrow, broad = lying(one, (128, 32), HEIGHT, (3, 0), (32, 32), TILE), lying(one, *ROWS, TILE)
    wide, tall = (lying(one, (32, 256), WIDTH, (3, 0), (32, 64), TILE), lying(one, *BLOCKS, TILE))
    for reduce in (ops.mean, ops.max, ops.min):
        for keepdim in (True, False):
            assert where(reduce(narrow, keepdim=keepdim)) == (HEIGHT, (3, 0), (32, 32))
            with pytest.raises(RuntimeError, match="Shard width 256 must match physical width 32"):
                reduce(broad, keepdim=keepdim)
        for tensor, cut in ((wide, (WIDTH, (3, 0), (32, 64))), (tall, tuple(BLOCKS[1:]))):
            assert where(reduce(tensor, keepdim=True)) == cut
            with pytest.raises(RuntimeError, match="Changing the last dimension of a sharded tensor"):
                reduce(tensor)
    of_three = lying(one, (1, 32, 256), WIDTH, (3, 0), (32, 64), TILE)
    assert where(ops.max(of_three, keepdim=True)) == (WIDTH, (3, 0), (32, 64))
    with pytest.raises(RuntimeError, match="Changing the last dimension of a sharded tensor"):
        ops.max(of_three)
    assert where(ops.sum(narrow)) == (WIDTH, (3, 0), (32, 32))
