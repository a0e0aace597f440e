"""Transposed views are copied piece by piece: the same elements as by any other way."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tt_run.runtime.kernels.ordering import in_order

X = np.arange(3 * 130 * 4 * 257, dtype=np.float32).reshape(3, 130, 4, 257)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_any_order_of_dimensions(order: tuple[int, ...]):
    view = X.transpose(order)
    found = in_order(view)
    assert found.flags.c_contiguous
    assert np.array_equal(found, view)


@pytest.mark.parametrize(
    "view", [X[:, ::-1], np.broadcast_to(X[:1, :, :1], X.shape).swapaxes(1, 3), X[..., ::2], X[0, 0, 0]]
)
def test_other_views(view: np.ndarray):
    assert np.array_equal(in_order(view), view)


@pytest.mark.parametrize("dtype", [np.float32, np.uint16])
@pytest.mark.parametrize(
    "shape", [(1024, 1024), (300, 1, 2048), (5, 70, 2, 512), (16, 4096), (15, 8192), (2, 34, 3, 512)]
)
def test_rows_that_a_power_of_two_lies_between(shape: tuple[int, ...], dtype: type):
    array = np.arange(np.prod(shape), dtype=np.int64).astype(dtype).reshape(shape)
    for order in itertools.permutations(range(len(shape))):
        view = array.transpose(order)
        found = in_order(view)
        assert found.flags.c_contiguous
        assert np.array_equal(found, view)
