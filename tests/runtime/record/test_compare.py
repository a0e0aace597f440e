"""The element in which two recorded calls differ, for values of any kind."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tt_run.runtime.record.compare import Difference, _closer

COMPLEX = np.arange(6, dtype=np.complex128).reshape(2, 3)


def difference(ours: list[Any], theirs: list[Any], what: str = "other values") -> Difference:
    """Of two calls outside of devices that gave these arrays."""
    calls = tuple(
        SimpleNamespace(seen=(None, [np.asarray(each) for each in side])) for side in (ours, theirs)
    )
    return _closer(Difference(calls, what))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ours", "theirs", "element", "values", "extent"),
    [
        (np.float32(1.5), np.float32(2.5), (), ("1.5", "2.5"), "1 of 1"),
        (COMPLEX, COMPLEX + np.array([[0, 0, 1j], [0, 1, 0]]), (0, 2), ("(2+0j)", "(2+1j)"), "2 of 6"),
        ([[1, 2], [3, 4]], [[1, 2], [0, 0]], (1, 0), ("3", "0"), "2 of 4"),
        ([0.0, np.nan], [-0.0, np.nan], (0,), ("0", "-0"), "1 of 2"),
        (np.arange(6).reshape(2, 3).T, np.arange(1, 7).reshape(2, 3).T, (0, 0), ("0", "1"), "6 of 6"),
        (np.array([("a", 1), ("b", 2)], "U1,i4"), np.array([("a", 1), ("b", 3)], "U1,i4"), (1,), ("('b', 2)", "('b', 3)"), "1 of 2"),
    ],
    ids=["one number", "complex", "integers", "signs of zero", "transposed", "records"],
)  # fmt: skip
def test_the_first_element_that_differs(
    ours: Any, theirs: Any, element: tuple[int, ...], values: tuple[str, str], extent: str
) -> None:
    found = difference([7, ours], [7, theirs])
    assert (found.element, found.values) == (element, values)
    assert found.extent == f"{extent} elements differ"


def test_no_element_where_arrays_are_of_another_shape_or_the_calls_differ() -> None:
    assert difference([[1, 2]], [[1, 2, 3]]).element is None
    assert difference([np.int32(1)], [np.int64(1)]).element is None
    assert difference([1], [2], "other errors").element is None
    assert difference([], [1]).element is None
