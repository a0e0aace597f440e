"""Sums of rows: the bits of a row follow from it alone, wherever it lies and whatever rows are beside it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from tests.sweep import sweep
from tt_run.runtime.kernels.ordered_sums import (
    lie_beside,
    mean,
    of_rows,
    reduced_shape,
    rows_of,
    total,
    total_beside,
    variance,
)
from tt_run.runtime.values.bfloat16 import BFLOAT16

WIDTHS = [1, 2, 31, 255, 256, 257, 300, 1000, 1023, 1024, 4096, 4097, 9000]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_row_has_the_same_sum_everywhere(width: int):
    room = np.random.default_rng(width).standard_normal(7 * width + 20).astype(np.float32)
    for start in (0, 1, 3, 8, 16):
        rows = room[start : start + 7 * width].reshape(7, width)
        sums = of_rows(rows)
        assert sums.shape == (7, 1) and np.allclose(sums[:, 0], rows.sum(-1, dtype=np.float64), atol=1e-3)
        for count in (1, 2, 5):
            elsewhere = np.empty(count * width + 5, np.float32)[5:].reshape(count, width)
            np.copyto(elsewhere, rows[:count])
            assert np.array_equal(of_rows(elsewhere), sums[:count])


@pytest.mark.parametrize(
    ("axes", "kept", "with_ones"),
    [
        ((0,), (3, 4), (1, 3, 4)),
        ((2,), (2, 3), (2, 3, 1)),
        ((0, 2), (3,), (1, 3, 1)),
        ((2, 0), (3,), (1, 3, 1)),
        ((0, 1, 2), (), (1, 1, 1)),
    ],
)
def test_reduced_axes_are_one_row(axes: tuple[int, ...], kept: tuple[int, ...], with_ones: tuple[int, ...]):
    stack = np.arange(2 * 24, dtype=np.float32).reshape(2, 2, 3, 4)
    rows = rows_of(stack, axes)
    assert rows.flags.c_contiguous and rows.shape == (2, *kept, 24 // int(np.prod(kept)))
    assert np.array_equal(rows.sum(-1), stack.sum(tuple(axis + 1 for axis in axes)))
    assert reduced_shape((2, 3, 4), axes, False) == kept and reduced_shape((2, 3, 4), axes, True) == with_ones
    first = [0, 0, 0]
    for length, axis in zip(np.unravel_index(1, [stack.shape[a + 1] for a in axes]), axes, strict=True):
        first[axis] = int(length)
    assert rows.reshape(2, -1, rows.shape[-1])[0, 0, 1] == stack[(0, *first)]  # in the order of the axes


def test_sums_of_integers_have_64_bits():
    rows = np.full((2, 3), 2**31 - 1, np.int32)
    assert total(rows).tolist() == [3 * (2**31 - 1)] * 2 and total(rows).dtype == np.int64
    assert total(rows.astype(np.float32)).dtype == np.float32


def test_means_and_variances():
    rows = np.array([[1, 2, 3, 6], [5, 5, 5, 5]], np.float32)
    assert mean(rows).tolist() == [3, 5] and mean(rows.astype(np.float64)).dtype == np.float32
    assert variance(rows).tolist() == [3.5, 0] and variance(rows, 1).tolist() == [np.float32(14 / 3), 0]
    assert rows[0].tolist() == [1, 2, 3, 6]
    assert mean(rows[:, :0]).tolist() == [0, 0]
    assert np.isnan(variance(rows[:, :1], 1)).all() and np.isnan(variance(rows[:, :0])).all()


@pytest.mark.parametrize("dtype", [np.float32, BFLOAT16])
@pytest.mark.parametrize(
    "length", sweep([8, 9, 15, 16, 100, 127, 128, 129, 136, 255, 1000, 1024, 4097], quick=[8, 15, 129, 1000])
)
def test_rows_side_by_side_have_the_sums_of_rows(length: int, dtype: npt.DTypeLike):
    random = np.random.default_rng(length)
    for shape, axes in (
        *([((length, 1100), (0,))] if length < 200 else []),  # more than are added across at a time
        ((3, length, 32), (1,)),
        ((2, length, 40), (1,)),
        ((length, 5, 33), (0,)),
        ((2, 2, length // 2, 2, 40), (2, 3)),
    ):
        stack = random.standard_normal((2, *shape)) * 10.0 ** random.integers(-4, 4, (2, *shape))
        stack[1, ..., :3] = -0.0
        stack[0, ..., 3] = np.inf
        held = stack.astype(np.float32).astype(dtype)
        wanted = total(rows_of(held.astype(np.float32), axes))
        found = total_beside(held, axes)
        assert found.shape == wanted.shape and np.array_equal(found.view(np.uint32), wanted.view(np.uint32))


@pytest.mark.parametrize(
    ("shape", "axes", "beside"),
    [
        ((128, 32), (0,), True),
        ((127, 32), (0,), False),  # not worth it
        ((128, 31), (0,), False),  # short rows
        ((7, 1024), (0,), False),
        ((128, 32), (1,), False),
        ((128, 32), (0, 1), False),
        ((4, 32, 2, 32), (0, 1), True),
        ((4, 32, 2, 32), (1, 0), False),
        ((4, 32, 8, 32), (0, 2), False),
        ((), (), False),
    ],
)
def test_which_rows_are_added_where_they_lie(shape: tuple[int, ...], axes: tuple[int, ...], beside: bool):
    assert lie_beside(shape, axes) is beside
