"""Cuts over cores that movements and new tensors refuse, as recorded from the reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.products.test_program_checks import HEIGHT, WIDTH, cut, zeros
from tests.runtime.ops.tensors import BF16, BFP8, F32, ROW, TILE, held, put
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.conversion.layouts import to_layout
from tt_run.runtime.tensor.creation import from_shape
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_HEIGHT_SHARDED_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
)

SHAPE = (1, 1, 64, 64)
ROWS, COLUMNS, MORE = cut(HEIGHT, (1, 0), 32, 64), cut(WIDTH, (1, 0), 64, 32), cut(WIDTH, (0, 0), 64, 64)
TALL = cut(HEIGHT, (1, 0), 64, 64)
NAMELESS = L1_HEIGHT_SHARDED_MEMORY_CONFIG


@pytest.mark.parametrize(
    ("memories", "axis", "asked", "words"),
    [
        ((ROWS, None), 1, None, "All tensors must be sharded or all must be interleaved"),
        ((None, ROWS), 1, None, "All tensors must be sharded or all must be interleaved"),
        ((COLUMNS, MORE), 2, None, "Sharded tensors must have the same grid."),
        ((ROWS, COLUMNS), 3, None, "Shard width 96 must match physical width 128 for height sharded"),
        ((ROWS, COLUMNS), 1, TALL, "Sharded tensors must have the same memory layout."),
        ((COLUMNS, COLUMNS), 1, TALL, "Sharded output and inputs must have the same memory layout."),
        ((ROWS, ROWS), 1, TALL, "Only width or height concat on sharded tensors"),
        ((ROWS, ROWS), 2, TALL, "Only support height concat on width-sharded or block-sharded tensors."),
        ((COLUMNS, MORE), 1, None, None),
        ((ROWS, COLUMNS), 1, None, None),
        ((COLUMNS, MORE), 3, L1_MEMORY_CONFIG, None),
    ],
)
def test_parts_on_cores(one: MeshDevice, memories: tuple[Any, Any], axis: int, asked: Any, words: str | None):
    parts = [zeros(one, SHAPE, memory) for memory in memories]
    with nullcontext() if words is None else pytest.raises(RuntimeError) as caught:
        result = ops.concat(parts, dim=axis, memory_config=asked)
    if caught is None:
        assert result.memory_config() == (asked or DRAM_MEMORY_CONFIG)
    else:
        assert words in str(caught.value)


def test_a_tensor_is_the_sequence_of_its_entries(one: MeshDevice):
    x = np.arange(3 * 32 * 32, dtype=np.float32).reshape(3, 32, 32) % 128
    tensor = put(one, x, BF16)
    assert np.array_equal(held(ops.concat(tensor, 0)), x.reshape(96, 32))
    assert np.array_equal(held(ops.stack(tensor, 0)), x)


def nameless(x: Any, one: MeshDevice) -> list[tuple[Callable[[], Any], str]]:
    tiles, rows = (
        "bad optional access",
        "MemoryConfig must have Shard Spec specified for sharded memory layout",
    )
    flat = put(one, np.zeros((32, 64)), BF16, ROW)
    new = {"device": one, "memory_config": NAMELESS}
    return [
        (lambda: from_shape.zeros([32, 64], layout=TILE, **new), tiles),
        (lambda: from_shape.full([32, 64], 1.0, layout=ROW, **new), rows),
        (lambda: from_shape.rand([32, 64], layout=ROW, **new), tiles),
        (lambda: from_shape.empty_like(x, memory_config=NAMELESS), tiles),
        (lambda: from_shape.full_like(x, 1.0, dtype=F32, memory_config=NAMELESS), tiles),
        (lambda: to_layout(x, ROW, memory_config=NAMELESS), tiles),
        (lambda: ops.transpose(x, 2, 2, memory_config=NAMELESS), tiles),
        (lambda: ops.permute(x, (0, 1, 2, 3), memory_config=NAMELESS), tiles),
        (lambda: ops.tilize_with_zero_padding(flat, memory_config=NAMELESS), tiles),
        (lambda: ops.tilize_with_val_padding(flat, [32, 64], 0.0, memory_config=NAMELESS), tiles),
        (lambda: ops.untilize_with_unpadding(x, [0, 0, 63, 63], memory_config=NAMELESS), tiles),
        (lambda: ops.move(flat, memory_config=NAMELESS), rows),
    ]


@pytest.mark.parametrize("case", range(12))
def test_cuts_that_name_no_cores(one: MeshDevice, case: int):
    call, words = nameless(zeros(one, SHAPE), one)[case]
    with pytest.raises(RuntimeError) as caught:
        call()
    assert words in str(caught.value)


def test_what_stays_as_it_is(one: MeshDevice):
    x = zeros(one, SHAPE)
    for same in (ops.pad(x, [(0, 0)] * 4, 0.0, memory_config=L1_MEMORY_CONFIG), ops.pad(x, [(0, 0)], 0.0)):
        assert same.memory_config() == DRAM_MEMORY_CONFIG
    with pytest.raises(RuntimeError, match="Clone: mixed sharded/interleaved layout not currently supported"):
        ops.transpose(zeros(one, SHAPE, ROWS), -1, 3, memory_config=DRAM_MEMORY_CONFIG)
    with pytest.raises(RuntimeError, match="input must be sharded"):
        ops.reshard(x, ROWS)
    with pytest.raises(
        RuntimeError, match=r"Input tensor layout \(Layout::TILE\) must equal output tensor layout"
    ):
        ops.copy(x, put(one, np.zeros(SHAPE), BF16, ROW))
    with pytest.raises(RuntimeError, match="Multicore must be enabled for sharded input"):
        ops.tilize(ops.to_memory_config(put(one, np.zeros(SHAPE), BF16, ROW), ROWS), use_multicore=False)


@pytest.mark.parametrize(
    "copy",
    [lambda x, to: ops.clone(x, memory_config=to), lambda x, to: ops.transpose(x, 0, 1, memory_config=to)],
)
def test_a_copy_makes_no_other_cut(one: MeshDevice, copy: Any):
    """Nor does an exchange of two dimensions of length 1."""
    x = zeros(one, (1, 1, 64, 32), cut(HEIGHT, (1, 0), 32, 32))
    for to, words in (
        (L1_MEMORY_CONFIG, "mixed sharded/interleaved layout"),
        (cut(HEIGHT, (0, 0), 64, 32), "shard specs must be identical"),
        (cut(WIDTH, (0, 0), 64, 32), "must have the same memory layout when both are sharded"),
    ):
        with pytest.raises(RuntimeError, match=f"Clone: .*{words}"):
            copy(x, to)
    assert copy(x, x.memory_config()).memory_config() == x.memory_config()


@pytest.mark.parametrize(
    ("held_by", "asked", "words"),
    [
        (None, cut(WIDTH, (1, 0), 32, 32), "Shard height 32 must match physical height 64 for width sharded"),
        (
            None,
            cut(HEIGHT, (0, 0), 32, 64),
            "Number of shards along height 2 must not exceed number of cores 1",
        ),
        (ROWS, NAMELESS, "bad optional access"),
        (COLUMNS, ROWS, None),
    ],
)
def test_tiles_with_steps_lie_where_all_their_rows_do(
    one: MeshDevice, held_by: Any, asked: Any, words: str | None
):
    tensor = zeros(one, SHAPE, held_by)
    with nullcontext() if words is None else pytest.raises(RuntimeError) as caught:
        part = ops.slice(tensor, [0, 0, 0, 0], [1, 1, 64, 64], [1, 1, 2, 1], memory_config=asked)
    if caught is None:
        assert part.memory_config() == asked
    else:
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ([], "split_sizes must not be empty"),
        ([64, 0], r"split_size should be greater than 0, instead got: \{64, 0\}"),
        ([32, 16], r"size of dimension 1 \(64\), but sizes \{32, 16\} under-cover it by 16"),
        ([32, 33], r"size of dimension 1 \(64\), but sizes \{32, 33\} over-cover it"),
    ],
)
def test_sizes_that_do_not_make_the_whole(one: MeshDevice, sizes: list[int], words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        ops.split(put(one, np.zeros((2, 64)), BF16), sizes, -1)


def test_steps_back(one: MeshDevice) -> None:
    x = np.arange(128, dtype=np.float32).reshape(2, 64)
    tensor = put(one, x, BF16)
    assert held(ops.slice(tensor, [0, 5], [2, 6], [1, -3])).tolist() == x[:, 5:6].tolist()
    assert held(tensor[:, -1::-1]).tolist() == x[:, 63:].tolist()
    assert tuple(ops.slice(tensor, [0, 0], [2, 70], [1, -1]).shape) == (2, 0)
    for call in (
        lambda: ops.slice(tensor, [0, 20], [2, 5], [1, -1]),
        lambda: tensor[:, 20:5:-1],
    ):
        with pytest.raises(RuntimeError, match="End 5 must be greater than or equal to start 20"):
            call()
    with pytest.raises(RuntimeError, match="Slice step must be greater than 0"):
        ops.slice(tensor, [0, 0], [2, 5], [1, 0])


def test_parts_of_block_floats_of_one_dimension_are_rows(one: MeshDevice) -> None:
    blocks, narrow = (put(one, np.ones(64), dtype) for dtype in (BFP8, DataType.BFLOAT4_B))
    parts = [*ops.split(blocks, 32, 0), *ops.chunk(blocks, 2, 0), ops.slice(blocks, [0], [32])]
    assert {part.dtype for part in parts} == {BF16}
    assert [part.dtype for part in ops.split(blocks, 64, 0)] == [BFP8]
    assert ops.slice(put(one, np.ones((32, 64)), BFP8), [0, 5], [32, 5]).dtype is BFP8
    with pytest.raises(RuntimeError, match="Only TILE layout is supported for BFLOAT8_B dtype!"):
        ops.slice(narrow, [0], [32])
