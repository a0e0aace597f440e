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


@pytest.mark.parametrize(
    "arguments", [{}, {"start": MeshCoordinate(0, 0)}, {"shape": MeshShape(2, 2), "rows": 2}]
)
def test_a_range_needs_both_corners_or_a_shape(arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"__init__\(\): incompatible"):
        MeshCoordinateRange(**arguments)


def test_forms_of_a_range() -> None:
    whole = MeshCoordinateRange(MeshShape(2, 4))
    corners = {"start": MeshCoordinate(0, 0), "end": MeshCoordinate(1, 3)}
    assert whole == MeshCoordinateRange(**corners) == MeshCoordinateRange(shape=MeshShape(2, 4))
    assert whole == MeshCoordinateRange(MeshCoordinate(0, 0), end=MeshCoordinate(1, 3))
    assert (whole.dims(), hash(whole)) == (2, hash(MeshCoordinateRange(**corners)))
    empty = MeshCoordinateRange(MeshShape(0, 1, 3))
    assert (empty.start, empty.end) == (MeshCoordinate(0, 0, 0), MeshCoordinate(0, 0, 2))
    point = MeshCoordinateRange(MeshCoordinate(1, 2), MeshCoordinate(1, 2))
    assert list(point) == [MeshCoordinate(1, 2)] and point.shape() == MeshShape(1, 1)
    assert not point.contains(MeshCoordinate(1, 1)) and not point.contains(MeshCoordinate(2, 2))


def range_of(a: tuple[int, int], b: tuple[int, int]) -> MeshCoordinateRange:
    return MeshCoordinateRange(MeshCoordinate(a), MeshCoordinate(b))


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        (((0, 0), (0, 1)), ((0, 2), (0, 3)), [((0, 0), (0, 3))]),
        (((0, 2), (0, 3)), ((0, 0), (0, 1)), [((0, 0), (0, 3))]),
        (((0, 0), (0, 1)), ((0, 3), (0, 3)), [((0, 0), (0, 1)), ((0, 3), (0, 3))]),
        (((0, 0), (1, 3)), ((1, 1), (1, 2)), [((0, 0), (1, 3))]),
        (((1, 1), (1, 2)), ((0, 0), (1, 3)), [((0, 0), (1, 3))]),
        (((0, 0), (0, 1)), ((1, 0), (1, 2)), [((0, 0), (0, 1)), ((1, 0), (1, 2))]),
        (((0, 0), (0, 2)), ((0, 1), (0, 3)), [((0, 0), (0, 3))]),
        (((0, 0), (1, 1)), ((1, 1), (2, 2)), [((0, 0), (0, 1)), ((1, 0), (1, 2)), ((2, 1), (2, 2))]),
    ],
)
def test_what_becomes_of_two_ranges(first: Any, second: Any, joined: list[Any]) -> None:
    merged = MeshCoordinateRangeSet(range_of(*first), range_of(*second))
    assert merged.ranges() == [range_of(*one) for one in joined]
    assert merged == MeshCoordinateRangeSet(*(range_of(*one) for one in joined))
    assert hash(merged) == hash(MeshCoordinateRangeSet(*(range_of(*one) for one in reversed(joined))))
    assert merged != MeshCoordinateRangeSet(range_of((0, 0), (0, 0))) and merged != merged.ranges()
    assert str(merged) == f"MeshCoordinateRangeSet([{', '.join(str(range_of(*one)) for one in joined)}])"


def test_ranges_of_other_dimensions_and_other_things_are_no_part_of_a_set() -> None:
    held = MeshCoordinateRangeSet(range_of((0, 0), (0, 1)))
    with pytest.raises(RuntimeError, match="Cannot merge ranges of 2 and 3 dimensions"):
        held.merge(MeshCoordinateRange(MeshShape(1, 1, 1)))
    with pytest.raises(TypeError, match=r"merge\(\): incompatible"):
        held.merge(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"__init__\(\): incompatible"):
        MeshCoordinateRangeSet(3)  # type: ignore[arg-type]
    assert held.ranges() == [range_of((0, 0), (0, 1))]


def test_forms_of_a_shape_and_of_a_coordinate() -> None:
    assert MeshShape(s0=1, s1=2, s2=3) == MeshShape(1, 2, s2=3) == MeshShape(MeshShape(1, 2, 3))
    assert MeshCoordinate(c0=1, c1=2, c2=3) == MeshCoordinate(coords=[1, 2, 3]) == MeshCoordinate(1, 2, 3)
    assert MeshShape(2**32 - 1, 1)[0] == 2**32 - 1
    for wrong in (
        lambda: MeshShape(2**32, 1),
        lambda: MeshShape(1, 2, 3, 4),
        lambda: MeshShape(y=2, s0=2),
        lambda: MeshShape(1, s0=2),
        lambda: MeshShape({1: 2}),
        lambda: MeshShape(b"12"),
        lambda: MeshCoordinate(MeshShape(1, 2)),
        lambda: MeshCoordinate([1], c1=2),
        lambda: MeshShape(2, 4)["a"],
    ):
        with pytest.raises(TypeError, match="incompatible"):
            wrong()
    assert MeshShape(2, 4) != MeshShape(4, 2) and not MeshShape(2, 4) != MeshShape(2, 4)  # noqa: SIM202
    for compared in (lambda: MeshShape(2, 4) != 8, lambda: MeshCoordinate(0, 1) == 1):
        with pytest.raises(TypeError, match="incompatible"):
            compared()
    assert pickle.loads(pickle.dumps(MeshCoordinate(1, 2))) == MeshCoordinate(1, 2)
