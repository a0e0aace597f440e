"""What a device does not move: types of other shapes, dimensions that are not there, values of another kind. As reference library 0.81.1 refuses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, F32, I32, ROW, TILE, U32, held, put
from tt_run.runtime import catalog
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.ops.reduction.losses import LossReductionMode
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG

U16, U8 = DataType.UINT16, DataType.UINT8
TILES = "Can only tilize bfloat16/float32 or int32/uint32/uint16 or fp8_e4m3 tensors"
REPEATS = "Can only work with UINT16, BFLOAT16, UINT32, INT32, FLOAT32 data types"
MOVES = "Can only work with bfloat16/float32 or int32/uint32 tensors"


def call(name: str, *given: Any, **words: Any) -> Any:
    found = catalog.find(f"ttnn.{name}")
    assert found is not None
    return found(*given, **words)


def ones(one: MeshDevice, *shape: int, dtype: DataType = BF16, layout: Layout = TILE) -> Any:
    return put(one, np.ones(shape), dtype, layout)


REFUSED: dict[str, tuple[str, Callable[[MeshDevice], object]]] = {
    "another last dimension of 16 bits": (MOVES, lambda d: ops.reshape(ones(d, 4, 6, dtype=U16), (6, 4))),
    "another last dimension of bytes": (MOVES, lambda d: ops.reshape(ones(d, 4, 6, dtype=U8, layout=ROW), (24,))),
    "a dimension among tiles": (MOVES, lambda d: ops.unsqueeze(ones(d, 4, 6, dtype=U16), 1)),
    "bytes into tiles": (TILES, lambda d: ops.to_layout(ones(d, 4, 6, dtype=U8, layout=ROW), TILE)),
    "bytes into tiles that nothing fills": (TILES, lambda d: ops.tilize_with_zero_padding(ones(d, 32, 32, dtype=U8, layout=ROW))),
    "every second byte": (TILES, lambda d: ops.slice(ones(d, 32, 64, dtype=U8), (0, 0), (32, 64), (2, 1))),
    "bytes repeated": (REPEATS, lambda d: ops.repeat(ones(d, 4, 6, dtype=U8), (2, 1))),
    "bytes expanded": (REPEATS, lambda d: ops.expand(ones(d, 4, 6, dtype=U8), [2, 4, 6])),
    "one dimension of 16 bits, each repeated": (MOVES, lambda d: ops.repeat_interleave(ones(d, 4, dtype=U16), 2, 0)),
    "a turn of everything": (MOVES, lambda d: ops.roll(ones(d, 4, 6, dtype=U16), 1)),
    "a length that is not there": (
        r"Leading dimension must be non-negative \(got -1\)",
        lambda d: ops.expand(ones(d, 32, 64), [-1, 32, 64]),
    ),
    "rows in another type elsewhere": (
        "Only tile layout supports dtype conversion",
        lambda d: ops.to_memory_config(ones(d, 4, 6, layout=ROW), L1_MEMORY_CONFIG, F32),
    ),
    "bytes with a border": ("Cannot pad RM tensor", lambda d: ops.pad(ones(d, 4, 6, dtype=U8, layout=ROW), [(0, 1)], value=0)),
    "one dimension exchanged": ("Can't convert shape rank", lambda d: ops.transpose(ones(d, 5), 0, -1)),
    "one dimension picked from": (
        "Can't convert shape rank",
        lambda d: ops.gather(ones(d, 5), 0, put(d, np.zeros(5), U32)),
    ),
    "a triangle of 16 bits": ("Mixed dtype is not supported", lambda d: call("tril", ones(d, 32, 64, dtype=U16))),
    "few elements of rows": (
        "Input shape inner dim 8 must be a power of two >= 64",
        lambda d: ops.sort(ones(d, 3, 6, layout=ROW)),
    ),
    "a fraction among whole numbers": (
        "Got DataType::INT32 input dtype with float value type",
        lambda d: call("index_fill", ones(d, 4, 6, dtype=I32, layout=ROW), 0, put(d, [1], U32, ROW), 1.0),
    ),
    "a whole number among fractions": (
        "Got DataType::BFLOAT16 input dtype with int value type",
        lambda d: call("index_fill", ones(d, 4, 6, layout=ROW), 0, put(d, [1], U32, ROW), 1),
    ),
    "signed places": (
        "Index tensor must have UINT32 dtype; got DataType::INT32",
        lambda d: call("index_fill", ones(d, 4, 6, layout=ROW), 0, put(d, [1], I32, ROW), 1.0),
    ),
    "the whole of a matrix": ("Cannot support non-rank 4 Tensor", lambda d: call("normalize_global", ones(d, 32, 64))),
    "matrices of five dimensions": ("Broadcast with batch", lambda d: call("normalize_hw", ones(d, 1, 2, 3, 32, 32))),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(one: MeshDevice, case: str):
    said, attempt = REFUSED[case]
    with pytest.raises(RuntimeError, match=said):
        attempt(one)


def test_what_stays_where_it_is_has_any_type(one: MeshDevice):
    for dtype in (U16, U8):
        rows = ones(one, 4, 6, dtype=dtype, layout=ROW)
        assert tuple(ops.reshape(rows, (2, 2, 6)).shape) == (2, 2, 6)
        assert tuple(ops.unsqueeze(rows, 0).shape) == (1, 4, 6)
    assert held(ops.sort(ones(one, 3, 17, layout=ROW))[0]).shape == (3, 17)


def test_one_element_of_any_type_is_in_order(one: MeshDevice):
    for dtype in (DataType.BFLOAT8_B, U32, I32):
        values, places = ops.sort(put(one, np.arange(5).reshape(5, 1), dtype))
        assert (values.dtype, places.dtype) == (dtype, U16)
        assert np.array_equal(held(values), np.arange(5).reshape(5, 1))
        assert not held(places).any()
        with pytest.raises(RuntimeError, match="must be BFLOAT16, UINT16, or FLOAT32"):
            ops.sort(put(one, np.arange(5).reshape(5, 1), dtype), 0)


def test_bytes_become_whole_tiles(one: MeshDevice):
    rows = ones(one, 32, 64, dtype=U8, layout=ROW)
    for tiled in (
        ops.tilize(rows),
        ops.to_layout(rows, TILE),
        ops.slice(ones(one, 64, 64, dtype=U8), (0, 0), (64, 64), (2, 1)),
    ):
        assert tiled.layout is TILE
        assert np.array_equal(held(tiled), np.ones((32, 64)))


def test_a_dimension_to_fill_is_counted_from_the_front(one: MeshDevice):
    with pytest.raises(TypeError):
        call("index_fill", ones(one, 4, 6, layout=ROW), -1, put(one, [1], U32, ROW), 1.0)


@pytest.mark.parametrize(("shape", "layout"), [((4, 6), TILE), ((2, 3, 4, 6), TILE), ((6,), ROW)])
def test_losses_of_rows_are_summed_as_sums_are(one: MeshDevice, shape: tuple[int, ...], layout: Layout):
    a, b = ones(one, *shape, layout=ROW), put(one, np.full(shape, 3.0), BF16, ROW)
    found = call("mse_loss", a, b, reduction=LossReductionMode.SUM)
    assert (found.layout, held(found).item()) == (layout, 4 * np.prod(shape))
    assert call("mse_loss", a, b).layout is ROW


def test_a_number_is_what_is_picked_cut_or_summed_of_it(one: MeshDevice):
    for layout in (TILE, ROW):
        number = put(one, np.array(3.0), BF16, layout)
        assert held(ops.slice(number, [], [])).tolist() == 3.0
        assert held(ops.gather(number, -1, put(one, np.array(0), U32, layout))).tolist() == 3.0
        values, places = ops.topk(number, 1, -1)
        assert (held(values).tolist(), held(places).tolist()) == (3.0, 0)
        found = [
            ops.sum(number),
            ops.max(number),
            ops.prod(number),
            ops.argmax(number),
            ops.cumprod(number, -1),
        ]
        assert [(t.layout, held(t).tolist()) for t in found] == [(layout, v) for v in (3, 3, 3, 0, 3)]
    few = put(one, np.array(3), U16, ROW)
    assert held(ops.sum(few)).tolist() == 3
