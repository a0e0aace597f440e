"""Rows of a table by their ids, in either form that tables are held in."""

from __future__ import annotations

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.ops.tensors import BF16, F32, ROW, TILE, U32, held, put
from tt_run.runtime.mesh import MeshDevice

ROWS, WIDTH = 600, 512


@pytest.fixture
def table() -> np.ndarray:
    return np.random.default_rng(2).standard_normal((ROWS, WIDTH), np.float32)


@pytest.mark.torch
@pytest.mark.listening  # a second look in shapes would read the table
@pytest.mark.parametrize("count", [3, 400])
def test_a_table_from_torch_stays_in_its_16_bits(one: MeshDevice, table: np.ndarray, count: int):
    """A table of a vocabulary is the largest tensor of many models: to read some rows must not make it float32."""
    import torch

    from tt_run.runtime.tensor.borders.arrays import from_torch

    weight = from_torch(torch.from_numpy(table).bfloat16(), layout=ROW, device=one)
    assert weight.shards.bfloat16 is not None
    ids = np.random.default_rng(3).integers(0, ROWS, (2, count))
    found = ops.embedding(put(one, ids, U32, ROW), weight)
    assert weight.shards.bfloat16 is not None
    plain = ops.embedding(put(one, ids, U32, ROW), put(one, table, BF16, ROW))
    assert tuple(found.shape) == (2, count, WIDTH)
    assert held(found).dtype == np.float32 and held(found).tobytes() == held(plain).tobytes()
    assert np.array_equal(held(found), held(weight)[ids])


@pytest.mark.parametrize("dtype", [BF16, F32])
def test_rows_of_another_type_and_layout(one: MeshDevice, table: np.ndarray, dtype: object):
    ids = np.array([[5, 0, ROWS - 1]])
    found = ops.embedding(put(one, ids, U32, ROW), put(one, table, BF16, ROW), layout=TILE, dtype=dtype)
    assert found.dtype is dtype and found.layout is TILE
    wanted = held(put(one, table, BF16, ROW))[ids]
    assert np.array_equal(held(found), wanted)


@pytest.mark.parametrize("shape", [(4, 1, 1, 7), (4, 1, 7)])
def test_ids_of_more_dimensions_count_as_first_and_last(
    one: MeshDevice, table: np.ndarray, shape: tuple[int, ...]
):
    ids = np.random.default_rng(4).integers(0, ROWS, shape)
    found = ops.embedding(put(one, ids, U32, ROW), put(one, table, BF16, ROW))
    assert np.array_equal(held(found), held(put(one, table, BF16, ROW))[ids.reshape(4, 7)])


def test_an_id_beyond_the_table_and_ids_between_dimensions(one: MeshDevice, table: np.ndarray):
    weight = put(one, table, BF16, ROW)
    with pytest.raises(RuntimeError, match=rf"id {ROWS} is outside of the table of {ROWS} rows"):
        ops.embedding(put(one, [[1, ROWS]], U32, ROW), weight)
    with pytest.raises(RuntimeError, match="dimensions between the first and the last must be 1"):
        ops.embedding(put(one, np.zeros((2, 3, 4)), U32, ROW), weight)
