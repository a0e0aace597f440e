"""Borders of images: taken off and put around again."""

from __future__ import annotations

import numpy as np
import pytest

from tt_run.runtime.kernels.borders import rows_around, with_borders, without_interior


@pytest.mark.parametrize("outer", [(), (2,), (2, 3)])
@pytest.mark.parametrize(("above", "beside"), [(1, 1), (1, 2), (2, 1), (0, 1), (1, 0)])
def test_off_and_on_again(outer: tuple[int, ...], above: int, beside: int) -> None:
    shape = (*outer, 4, 5, 3)
    padded = np.arange(np.prod((*outer, 4 + 2 * above, 5 + 2 * beside, 3)), dtype=np.float32)
    padded = padded.reshape(*outer, 4 + 2 * above, 5 + 2 * beside, 3)
    rows = without_interior(padded, len(outer), len(outer) + 1, above, beside)
    assert rows.shape == (rows_around(int(np.prod(outer)), 4, 5, above, beside), 3)
    inner = padded[..., above : above + 4, beside : beside + 5, :]
    assert inner.shape == shape
    assert np.array_equal(with_borders(rows, inner, above, beside, False), padded)
    elsewhere = padded.copy()
    for edge in (
        np.s_[..., :above, :, :],
        np.s_[..., above + 4 :, :, :],
        np.s_[..., :beside, :],
        np.s_[..., beside + 5 :, :],
    ):
        elsewhere[edge] = -1
    assert np.array_equal(with_borders(rows, elsewhere, above, beside, True), padded)


def test_their_order_is_above_below_left_right() -> None:
    image = np.arange(20, dtype=np.float32).reshape(1, 4, 5, 1)
    rows = without_interior(image, 1, 2, 1, 1)[:, 0].tolist()
    assert rows == [1, 2, 3, 16, 17, 18, 0, 5, 10, 15, 4, 9, 14, 19]
