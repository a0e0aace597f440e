"""MeshShape, MeshCoordinate, ranges: values, their texts and their errors."""

from __future__ import annotations

import operator
import pickle
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tt_run.runtime.mesh import (
    MeshCoordinate,
    MeshCoordinateRange,
    MeshCoordinateRangeSet,
    MeshShape,
    compute_distribution_to_mesh_mapping,
)
from tt_run.runtime.mesh.view import SubDevice

extents = st.lists(st.integers(1, 5), min_size=1, max_size=3)


@pytest.mark.parametrize(
    "shape",
    [
        MeshShape(2, 4),
        MeshShape((2, 4)),
        MeshShape([2, 4]),
        MeshShape(s0=2, s1=4),
        MeshShape(y=2, x=4),
        MeshShape(shape=(2, 4)),
    ],
)
def test_all_spellings_of_a_shape(shape: MeshShape) -> None:
    assert shape == MeshShape(2, 4)
    assert (repr(shape), str(shape), hash(shape)) == ("MeshShape([2, 4])",) * 2 + (hash(MeshShape(2, 4)),)
    assert (list(shape), shape.dims(), shape.mesh_size(), shape[0], shape[-1]) == ([2, 4], 2, 8, 2, 4)
    assert pickle.loads(pickle.dumps(shape)) == shape


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: MeshShape([]), RuntimeError, "MeshShape cannot have 0 dimension."),
        (lambda: MeshShape(-1, 4), TypeError, "__init__(): incompatible function arguments."),
        (
            lambda: MeshShape(2.5, 4),
            TypeError,
            "Invoked with types: ttnn._ttnn.multi_device.MeshShape, float, int",
        ),
        (lambda: MeshShape(a=1, b=2), TypeError, "kwargs = { a: int, b: int }"),
        (lambda: MeshShape(8), TypeError, "incompatible"),
        (lambda: MeshShape("24"), TypeError, "incompatible"),
        (lambda: MeshShape(2, 4)[2], RuntimeError, "ShapeBase[] index out of range. 2 not in [-4, 2)"),
        (lambda: MeshShape(2, 4)[-5], RuntimeError, "ShapeBase[] index out of range. -5 not in [-4, 2)"),
        (lambda: MeshShape(2, 4)[2], RuntimeError, "help: a 2x4 mesh has the axes 0, 1"),
        (lambda: MeshShape(2, 4) == (2, 4), TypeError, "__eq__(): incompatible"),
        (lambda: len(MeshShape(2, 4)), TypeError, "has no len()"),
        (
            lambda: len(MeshCoordinate(0, 1)),
            TypeError,
            "object of type 'ttnn._ttnn.multi_device.MeshCoordinate' has no len()",
        ),
        (lambda: MeshCoordinate(0, 1)[2], RuntimeError, "Index out of bounds: 2 not in [-2, 2)"),
        (lambda: MeshCoordinate(0, 1)[-3], RuntimeError, "Index out of bounds: -3 not in [-2, 2)"),
        (lambda: MeshCoordinate(0, 1) < MeshCoordinate(0, 2), TypeError, "'<' not supported"),
        (lambda: MeshCoordinate(0, 1) + MeshCoordinate(0, 2), TypeError, "unsupported operand"),
        (
            lambda: MeshCoordinateRange(MeshCoordinate(1, 1), MeshCoordinate(0, 2)),
            RuntimeError,
            "Start coordinate is greater",
        ),
        (
            lambda: MeshCoordinateRange(MeshCoordinate(0, 0), MeshCoordinate([1])),
            RuntimeError,
            "dimensions of a coordinate range do not match",
        ),
        (lambda: MeshCoordinateRange(3), TypeError, "incompatible"),
        (lambda: MeshCoordinateRange(MeshCoordinate(0, 0), 3), TypeError, "incompatible"),
        (lambda: MeshCoordinateRange(3, MeshCoordinate(0, 0)), TypeError, "incompatible"),
        (lambda: SubDevice(3), TypeError, "incompatible"),
        (lambda: SubDevice([3]), TypeError, "incompatible"),
    ],
)
def test_what_is_no_value_is_an_error(make: object, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as caught:
        make()  # type: ignore[operator]
    assert type(caught.value) is kind
    assert text in str(caught.value)


def test_indices_from_the_end() -> None:
    assert [MeshShape(2, 4)[index] for index in (-4, -3, -2, -1)] == [1, 1, 2, 4]
    assert [MeshShape((2, 3, 4, 5, 6))[index] for index in (-5, 4)] == [2, 6]
    assert [MeshCoordinate(5, 1)[index] for index in (-2, -1, 0, 1)] == [5, 1, 5, 1]


def test_values_cannot_be_changed() -> None:
    for value in (MeshShape(2, 4), MeshCoordinate(0, 1)):
        with pytest.raises(AttributeError, match="immutable"):
            value.x = 1


def test_an_empty_extent_is_a_shape() -> None:
    assert MeshShape(0, 4).mesh_size() == 0
    assert bool(MeshShape(0, 4))


@given(extents)
def test_a_range_lists_its_coordinates_row_major(shape: list[int]) -> None:
    whole = MeshCoordinateRange(MeshShape(shape))
    assert [tuple(c) for c in whole] == list(product(*map(range, shape)))
    assert whole.shape() == MeshShape(shape)
    assert all(whole.contains(c) for c in whole)
    assert not whole.contains(MeshCoordinate(shape))


corner = st.tuples(st.integers(0, 3), st.integers(0, 3))


@given(st.lists(st.tuples(corner, corner), max_size=5))
@example([((0, 0), (0, 0)), ((0, 2), (1, 3)), ((1, 1), (1, 2))])  # cut anew beside a gap of one
def test_a_range_set_holds_each_coordinate_once(
    corners: list[tuple[tuple[int, int], tuple[int, int]]],
) -> None:
    ranges = MeshCoordinateRangeSet()
    points = set()
    for a, b in corners:
        low, high = tuple(map(min, a, b)), tuple(map(max, a, b))
        entry = MeshCoordinateRange(MeshCoordinate(low), MeshCoordinate(high))
        points |= {tuple(c) for c in entry}
        ranges.merge(entry)
    held = [tuple(c) for c in ranges.coords()]
    assert len(held) == len(set(held))
    assert set(held) == points
    assert ranges.empty() == (not points)


def test_neighbouring_ranges_become_one() -> None:
    ranges = MeshCoordinateRangeSet(range=MeshCoordinateRange(MeshCoordinate(0, 0), MeshCoordinate(0, 1)))
    assert ranges == MeshCoordinateRangeSet(MeshCoordinateRange(MeshCoordinate(0, 0), MeshCoordinate(0, 1)))
    ranges.merge(MeshCoordinateRange(MeshCoordinate(1, 0), MeshCoordinate(1, 1)))
    assert ranges.ranges() == [MeshCoordinateRange(MeshShape(2, 2))]
    assert ranges.size() == 1


@pytest.mark.parametrize(
    ("distribution", "mesh", "expected"),
    [
        (MeshShape(2, 2), MeshShape(2, 4), [(0, 0), (0, 1), (1, 0), (1, 1)]),
        (MeshShape(4, 2), MeshShape(2, 4), list(product(range(2), range(4)))),
        (MeshShape([3]), MeshShape(2, 4), [(0, 0), (0, 1), (0, 2)]),
        (MeshShape([9]), MeshShape(2, 4), list(product(range(2), range(4)))),
        (MeshShape(1, 2, 2), MeshShape(2, 4), [(0, 0), (0, 1), (0, 2), (0, 3)]),
        (MeshShape(0, 4), MeshShape(2, 4), []),
    ],
)
def test_where_a_distribution_lies(
    distribution: MeshShape, mesh: MeshShape, expected: list[tuple[int, int]]
) -> None:
    assert [tuple(c) for c in compute_distribution_to_mesh_mapping(distribution, mesh)] == expected


@pytest.mark.parametrize("operation", [operator.lt, operator.le, operator.gt, operator.ge])
def test_nothing_has_an_order(operation: Any) -> None:
    for value, name in ((MeshShape(1, 2), "MeshShape"), (MeshCoordinate(1, 2), "MeshCoordinate")):
        bound = f"'ttnn._ttnn.multi_device.{name}'"
        with pytest.raises(TypeError, match=f"not supported between instances of {bound} and {bound}"):
            operation(value, value)


@pytest.mark.parametrize(
    ("symbol", "operation"), [("+", operator.add), ("-", operator.sub), ("*", operator.mul)]
)
def test_nothing_has_arithmetic(symbol: str, operation: Any) -> None:
    for value, name in ((MeshShape(1, 2), "MeshShape"), (MeshCoordinate(1, 2), "MeshCoordinate")):
        with pytest.raises(TypeError) as error:
            operation(value, 2)
        assert str(error.value) == (
            f"unsupported operand type(s) for {symbol}: 'ttnn._ttnn.multi_device.{name}' and 'int'"
        )
