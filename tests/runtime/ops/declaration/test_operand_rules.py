"""What operations make of block floats cut inside of tiles, and what they refuse: as reference library 0.81.1 does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.placement.test_larger_shards import HEIGHT, HIGH, lying
from tests.runtime.ops.tensors import BF16, BFP8, F32, I32, ROW, TILE, U16, U32, held, put
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshDevice


def op(name: str) -> Any:
    found = catalog.find(f"ttnn.{name}")
    assert found is not None
    return found


def ramp(*shape: int) -> np.ndarray:
    return (np.arange(np.prod(shape)) % 7 / 8).reshape(shape).astype(np.float32)


def test_block_floats_cut_inside_of_tiles_become_bfloat16(one: MeshDevice):
    x = put(one, ramp(2, 3, 50, 70), BFP8)
    values = held(x)
    for starts, ends, dtype in (
        ([0, 0, 0, 0], [1, 1, 30, 30], BFP8), ([0, 0, 32, 32], [1, 1, 50, 70], BFP8), ([1, 1, 0, 0], [2, 3, 50, 70], BFP8),
        ([0, 0, 1, 0], [1, 1, 33, 32], BF16), ([0, 0, 0, 1], [1, 1, 32, 33], BF16),
    ):  # fmt: skip
        found = ops.slice(x, starts, ends)
        assert (found.dtype, found.layout) == (dtype, TILE)
        if dtype is BF16:
            inside = tuple(slice(*bounds) for bounds in zip(starts, ends, strict=True))
            assert np.array_equal(held(found), values[inside])
    assert [part.dtype for part in ops.split(x, 24, -1)] == [BFP8, BF16, BF16]
    assert [ops.concat([x, x], dim).dtype for dim in (0, 1, 2, 3)] == [BFP8, BFP8, BF16, BF16]
    with pytest.raises(RuntimeError, match="Strided slice is not supported for BFLOAT8 tensors"):
        ops.slice(x, [0] * 4, [2, 3, 50, 70], [1, 1, 2, 1])
    with pytest.raises(RuntimeError, match="Only TILE layout is supported for BFLOAT8_B"):
        ops.slice(put(one, ramp(64, 64), DataType.BFLOAT4_B), [1, 0], [33, 64])


@pytest.mark.torch
def test_sums_over_batches_have_whole_tiles(one: MeshDevice):
    x = ramp(2, 3, 50, 70)
    found = op("experimental.fast_reduce_nc")(put(one, x), dims=[0, 1])
    assert found.shape == (1, 1, 64, 96)
    assert np.allclose(held(found)[..., :50, :70], x.sum((0, 1), keepdims=True), atol=0.02)
    assert not held(found)[..., 50:, :].any() and not held(found)[..., 70:].any()


def test_shapes_that_do_not_fit_are_told_with_one_that_does(one: MeshDevice):
    x, y = put(one, ramp(32, 32)), put(one, ramp(32, 48))
    with pytest.raises(RuntimeError, match=r"help: .*ttnn.pad makes 48 of 32, ttnn.slice 32 of 48"):
        ops.add(x, y)
    with pytest.raises(RuntimeError, match=r"help: .*; \[32, -1\] would, its -1 is 32"):
        ops.reshape(x, (32, 33))
    assert ops.reshape(x, (32, -1)).shape == (32, 32)


def test_a_view_keeps_the_last_dimension(one: MeshDevice):
    x = put(one, ramp(1, 1, 64, 64))
    with pytest.raises(RuntimeError, match="attempting to change last dimension from 64 to 32, use reshape"):
        op("view")(x, (1, 1, 128, 32))
    assert op("view")(x, 64, 64).shape == (64, 64)
    assert op("experimental.view")(x, (1, 1, 128, 32)).shape == (1, 1, 128, 32)


def test_operands_that_numpy_cannot_take_are_named(one: MeshDevice):
    x = put(one, ramp(50, 70), BF16)
    with pytest.raises(RuntimeError, match="the operands do not fit") as raised:
        ops.pad(x, [2, 3, 96, 96], [0, 0, 0, 0], 0.0)
    assert "help: they are BFLOAT16 Shape([50, 70])" in str(raised.value)


@pytest.mark.torch
def test_element_types_that_are_refused(one: MeshDevice):
    x = {dtype: put(one, np.ones((32, 32)), dtype) for dtype in (BF16, F32, I32, U16)}
    for call, words in (
        (lambda: op("quantize")(x[I32], 0.1, 0), "Quantize only takes floating-point number inputs"),
        (lambda: op("dequantize")(x[U16], 0.1, 0), "Dequantize only supports int32, int8 or uint8 inputs"),
        (lambda: op("requantize")(x[BF16], 0.1, 0, 0.2, 1), "Requantize only supports int32, int8 or uint8"),
        (
            lambda: op("experimental.isin")(x[BF16], x[I32]),
            "elements.dtype: BFLOAT16, test_elements.dtype: INT32",
        ),
        (lambda: op("bitwise_not")(x[F32]), "bitwise_not is of integers, got DataType::FLOAT32"),
    ):
        with pytest.raises(RuntimeError, match=words):
            call()


def test_tables_of_embedding_are_one_and_lie_in_banks(one: MeshDevice):
    ids = put(one, np.zeros((1, 32)), U32, ROW)
    with pytest.raises(RuntimeError, match="does not currently support sharded weights"):
        ops.embedding(ids, lying(one, HIGH, HEIGHT, (3, 0), (32, 64), TILE))
    with pytest.raises(RuntimeError, match="First two dimensions for the weights must be 1 but got 2 and 3"):
        ops.embedding(ids, put(one, ramp(2, 3, 64, 64), BF16))
