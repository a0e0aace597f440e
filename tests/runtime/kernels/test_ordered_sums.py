"""Sums of rows: the bits of a row follow from it alone, wherever it lies and whatever rows are beside it."""

from __future__ import annotations

import numpy as np
import pytest

from tt_run.runtime.kernels.ordered_sums import of_rows

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
