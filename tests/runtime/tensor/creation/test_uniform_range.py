"""Bounds of uniform random values, and the numbers next to them that a type holds."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tt_run.runtime.tensor.creation.uniform_range import check_range, first_at_least, last_below

F32, BF16 = np.float32, ml_dtypes.bfloat16
TINY = float(np.finfo(np.float32).tiny)  # the smallest number that is not subnormal, of bfloat16 too
LARGEST = float(np.finfo(np.float32).max)


@pytest.mark.parametrize(
    ("low", "high", "stored", "words"),
    [
        (0.0, 1.0, F32, ""),
        (1.0, 1.0, F32, "must be less than upper bound, got [1, 1)"),
        (2.0, 1.0, F32, "must be less than upper bound, got [2, 1)"),
        (float("nan"), 1.0, F32, "must be less than upper bound"),
        (0.0, LARGEST, F32, ""),
        (-1e38, 2.5e38, F32, "too wide for a finite FP32 scale"),
        (1.001, 1.002, F32, ""),
        (1.001, 1.002, BF16, "[1.001, 1.002) contains no value representable"),
        (1.001, 1.0078125, BF16, "contains no value representable"),
        (1.0, 1.001, BF16, ""),
        (TINY / 4, TINY, F32, "contains no value representable"),
        (TINY / 4, 2 * TINY, F32, ""),
        (-TINY / 4, TINY / 4, F32, ""),  # zero
    ],
)
def test_bounds_with_something_between_them(low: float, high: float, stored: Any, words: str) -> None:
    if not words:
        check_range(low, high, stored)
        return
    with pytest.raises(RuntimeError) as refused:
        check_range(low, high, stored)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("bound", "stored", "first", "last"),
    [
        (1.0, BF16, 1.0, 1 - 2**-8),
        (1.001, BF16, 1 + 2**-7, 1.0),
        (1.007, BF16, 1 + 2**-7, 1.0),
        (-1.001, BF16, -1.0, -1 - 2**-7),
        (0.1, F32, float(np.float32(0.1)), float(np.nextafter(np.float32(0.1), np.float32(0)))),
        (0.0, F32, 0.0, -TINY),
        (TINY, F32, TINY, 0.0),
        (TINY / 2, F32, TINY, 0.0),
        (-TINY / 2, F32, 0.0, -TINY),
        (-TINY, F32, -TINY, float(-np.nextafter(np.float32(TINY), np.float32(1)))),
    ],
)
def test_numbers_next_to_a_bound(bound: float, stored: Any, first: float, last: float) -> None:
    assert (first_at_least(bound, stored), last_below(bound, stored)) == (first, last)
