"""Copies of matrices that lie the other way round: tile by tile, and the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tt_run.runtime.values.copying import copy_into, dense, lines, stacked

Array = npt.NDArray[Any]


class Target(np.ndarray[Any, Any]):
    """Counts the pieces that are written into it."""

    pieces: int = 0

    def __setitem__(self, where: Any, values: Any) -> None:
        self.pieces += 1
        super().__setitem__(where, values)


def written(source: Array) -> int:
    """In how many pieces it was copied; the copy is compared."""
    target = np.full(source.shape, -1, source.dtype).view(Target)
    copy_into(target, source)
    assert np.array_equal(target, source)
    return target.pieces


def counted(*shape: int) -> Array:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


@pytest.mark.parametrize(
    ("source", "pieces"),
    [
        (counted(256, 256).T, 1),
        (counted(257, 256).T, 2),
        (counted(256, 257).T, 2),
        (counted(300, 700).T, 6),
        (counted(2, 300, 300).swapaxes(1, 2), 4),
        (counted(300, 2, 300).swapaxes(0, 2), 2),
        (counted(300, 700)[::-1, ::-1].T, 6),
        (counted(255, 256).T, 1),  # too small for it to matter
        (counted(300, 700), 1),
        (counted(2, 300, 300).swapaxes(0, 1), 1),  # rows stay rows
        (np.broadcast_to(counted(1, 1), (300, 300)), 1),
        (counted(1 << 17), 1),
    ],
)
def test_matrices_that_lie_the_other_way_round_are_copied_in_tiles(source: Array, pieces: int) -> None:
    assert written(source) == pieces


def test_dense_copies_only_what_is_not() -> None:
    rows = counted(300, 300)
    assert dense(rows) is rows
    turned = dense(rows.T)
    assert turned.flags.c_contiguous and np.array_equal(turned, rows.T)


def test_lines_of_a_stack() -> None:
    rows = counted(2, 3, 4)
    assert lines(rows).shape == (2, 12) and lines(rows, 6).shape == (2, 2, 6)
    assert lines(rows)[1, 0] == 12 and lines(rows, 6)[1, 1, 0] == 18
    assert lines(rows[:0]).shape == (0, 12) and lines(rows[:0], 6).shape == (0, 2, 6)
    assert lines(np.ones(3)).shape == (3, 1)


def test_stacked_copies_every_array() -> None:
    found = stacked([counted(2, 3), counted(3, 2).T])
    assert found.dtype == np.float32
    assert found.tolist() == [[[0, 1, 2], [3, 4, 5]], [[0, 2, 4], [1, 3, 5]]]
