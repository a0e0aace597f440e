"""Sums of rows: the bits of a row follow from it alone, wherever it lies and whatever rows are beside it."""

from __future__ import annotations

import numpy as np
import pytest

from tt_run.runtime.kernels.ordered_sums import mean, of_rows, reduced_shape, rows_of, total, variance

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
