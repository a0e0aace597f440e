"""Rows of packed weights, as the reference counts them."""

from __future__ import annotations

import pytest

from tt_run.runtime.ops.experts.ring_rows import w0_w1_bank_rows_per_expert, w2_core_rows_per_expert


@pytest.mark.parametrize(
    ("sizes", "rows"),
    [
        ((224, 64, 12), 21504),
        ((224, 64, 8), 28672),
        ((90, 90, 8, 12), 11648),
        ((64, 24, 8, 8, 10), 3200),
        ((224, 64, 8, 8, 10), 28800),
        ((4, 4, 8, 8), 224),
    ],
)
def test_rows_of_the_first_weights(sizes: tuple[int, ...], rows: int) -> None:
    assert w0_w1_bank_rows_per_expert(*sizes) == rows


@pytest.mark.parametrize(
    ("sizes", "rows"),
    [
        ((224, 64, 12, 14), 11200),
        ((224, 64, 8, 10), 14560),
        ((90, 90, 12, 14), 5824),
        ((90, 90, 8, 10), 8640),
        ((4, 4, 8, 14), 224),
        ((64, 24, 8, 14), 1792),
    ],
)
def test_rows_of_the_second_weights(sizes: tuple[int, int, int, int], rows: int) -> None:
    assert w2_core_rows_per_expert(*sizes) == rows
