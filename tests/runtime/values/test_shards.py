"""Shards: what each device of a rank holds, each distinct shard once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tt_run.runtime.values import shapes
from tt_run.runtime.values.bfloat16 import BFLOAT16
from tt_run.runtime.values.shards import Shards, combine, combine_all

Array = npt.NDArray[Any]
ONE, TWO = np.array([1.0], np.float32), np.array([2.0], np.float32)


def stack(*rows: float) -> Array:
    return np.array(rows, np.float32)[:, None]


def held(shards: Shards) -> list[float | None]:
    """The number of each device, whose shard has one."""
    found = [None if shard is None else float(shard.item()) for shard in shards.each()]
    assert found == [None if (one := shards.of(n)) is None else float(one.item()) for n in range(len(found))]
    return found


def test_shards_are_computed_once_per_combination() -> None:
    a, b = Shards(stack(1, 2), (0, 0, 1, 1)), Shards(stack(10, 20), (0, 1, 0, -1))
    sums = combine(np.add, a, b)
    assert held(sums) == [11, 21, 12, None]
    assert len(sums.data) == 3
    assert held(combine(np.subtract, b, a)) == [9, 19, 8, None]
    assert [held(one) for one in combine_all(lambda x, y: (x + y, x - y), a, b)] == [
        [11, 21, 12, None],
        [-9, -19, -8, None],
    ]


def test_a_device_that_lacks_one_operand_holds_no_result() -> None:
    a, b, c = Shards(stack(1), (0, -1, 0)), Shards(stack(2), (0, 0, -1)), Shards(stack(4), (0, 0, 0))
    assert held(combine(lambda x, y, z: x + y + z, a, b, c)) == [7, None, None]


@pytest.mark.parametrize("index", [(1,), (0, 2), (-2,), (-2, 0)])
def test_an_index_outside_of_the_stack(index: tuple[int, ...]) -> None:
    rows = stack(1, 2)[: 2 if 2 in index else 1]
    with pytest.raises(ValueError, match=f"does not fit {len(rows)} shards"):
        Shards(rows, index)


def test_a_stack_without_rows_holds_shards_without_values() -> None:
    bare = Shards(np.empty((0, 2, 3), np.float32), (0, -1))
    assert bare.bare and bare.shape == (2, 3)
    assert not Shards(np.empty((0, 2), np.float32), (-1, -1)).bare
    assert not Shards(np.empty((0, 2), np.float32), ()).bare
    assert not Shards(stack(1), (0,)).bare
    first, none = bare.each()
    assert none is None and first is not None and first.shape == (2, 3) and not first.any()
    assert bare.compact() is bare
    with pytest.raises(ValueError, match="does not fit 0 shards"):
        Shards(np.empty((0, 2), np.float32), (1,))


def test_shards_drop_rows_that_nobody_holds() -> None:
    shards = Shards(np.arange(6.0).reshape(3, 2), (2, -1, 0)).compact()
    assert shards.index == (1, -1, 0)
    assert shards.data.tolist() == [[0, 1], [4, 5]]
    assert shards.compact() is shards


@pytest.mark.parametrize(
    ("index", "seen"),
    [((1, 1), True), ((0, 3), True), ((1, 3, -1, 1), True), ((0, 1, 3), False), ((-1, -1), True)],
)
def test_rows_at_even_distances_are_seen_where_they_lie(index: tuple[int, ...], seen: bool) -> None:
    whole = Shards(np.arange(8.0).reshape(4, 2), index)
    left = whole.compact()
    assert len(left.data) == len({row for row in index if row >= 0})
    assert not len(left.data) or np.shares_memory(left.data, whole.data) is seen
    pairs = zip(left.each(), whole.each(), strict=True)
    assert all((a is None and b is None) or np.array_equal(a, b) for a, b in pairs)


def test_one_shard_for_each_device_the_same_array_once() -> None:
    shards = Shards.from_each([TWO, None, ONE, TWO])
    assert (shards.index, shards.data.tolist()) == ((0, -1, 1, 0), [[2], [1]])
    alone = Shards.from_each([None, ONE, ONE])
    assert alone.index == (-1, 0, 0) and np.may_share_memory(alone.data, ONE)


def test_the_shape_where_no_device_holds_a_shard() -> None:
    none = Shards.from_each([None, None], like=np.zeros((5, 3, 2), np.int32))
    assert (none.data.shape, none.data.dtype, none.index) == ((0, 3, 2), np.int32, (-1, -1))
    assert Shards.from_each([None]).data.shape == (0,)
    with shapes.only():
        first = Shards.from_each([None, np.ones((3, 2), np.int32), np.ones((3, 2), np.int32)])
        none = Shards.from_each([None, None], like=np.zeros((5, 4), np.int16))
        assert Shards.from_each([None]).index == (-1,)
    assert (first.data.shape, first.data.dtype, first.index) == ((0, 3, 2), np.int32, (-1, 0, 0))
    assert (none.data.shape, none.data.dtype, none.index) == ((0, 4), np.int16, (-1, -1))


def test_a_shard_without_dimensions_is_an_array() -> None:
    shards = Shards(np.array([3.0, 4.0], np.float32), (1, 0))
    assert [type(shard) for shard in shards.each()] == [np.ndarray] * 2
    assert type(shards.of(0)) is np.ndarray and shards.of(0) == 4.0


def test_new_shards_over_those_that_were_there() -> None:
    before = Shards(stack(10, 20, 30), (0, 1, 2, -1))
    assert held(Shards(stack(1, 2), (-1, 0, 1, -1)).over(before)) == [10, 1, 2, None]
    assert held(Shards(stack(1), (-1, -1, 0, -1)).over(before)) == [10, 20, 1, None]
    everywhere = Shards(stack(1, 2), (0, 1, 0, -1))
    assert everywhere.over(before) is everywhere
    first = Shards(stack(5), (-1, 0))
    assert held(first.over(Shards(stack(7, 8), (0, -1)))) == [7, 5]


def test_they_are_told_apart_as_objects() -> None:
    shards, same = Shards(stack(1, 2), (0, 1)), Shards(stack(1, 2), (0, 1))
    assert shards != same and len({shards, same, shards}) == 2


def test_replicas_are_one_object() -> None:
    shards = Shards.replicated(TWO, 3)
    assert shards.index == (0, 0, 0) and len(shards.data) == 1
    first, second, third = shards.each()
    assert first is second is third


def test_an_operand_that_is_the_same_everywhere_is_not_copied() -> None:
    seen: list[Array] = []

    def note(a: Array, b: Array) -> Array:
        seen.extend((a, b))
        return a + b

    each, same = Shards(stack(1, 2, 3), (0, 1, 2)), Shards(stack(10), (0, 0, 0))
    assert held(combine(note, each, same)) == [11, 12, 13]
    assert seen[0] is each.data and seen[1].strides[0] == 0
    assert held(combine(note, Shards(stack(1, 2, 3), (2, 0, 1)), each)) == [4, 3, 5]


def test_a_result_of_fewer_rows_is_checked() -> None:
    shards = Shards(stack(1, 2), (0, 1))
    with pytest.raises(ValueError, match="does not fit 1 shards"):
        combine(lambda a: a[:1], shards)
    with pytest.raises(ValueError, match="does not fit 1 shards"):
        shards.map(lambda a: a[:1])
    assert held(shards.map(lambda a: 2 * a)) == [2, 4]
    assert held(shards.holding(stack(5, 6))) == [5, 6]


def test_errors_of_a_function_are_the_programs_where_there_are_values() -> None:
    def refuse(*_: Array) -> Array:
        raise ValueError("no such thing")

    shards = Shards(stack(1), (0,))
    for call in (
        lambda: shards.map(refuse),
        lambda: combine(refuse, shards),
        lambda: combine(refuse, shards, shards),
    ):
        with pytest.raises(ValueError, match="no such thing"):
            call()


def test_a_rank_without_a_device_gets_the_shape_of_a_result() -> None:
    """A function that cannot have a stack without rows, as one that leaves a dimension open, is asked with one of zeros."""
    none = Shards(np.empty((0, 2, 3), np.float32), ())
    flat = none.map(lambda a: a.reshape(len(a), -1))
    assert (flat.data.shape, flat.index) == ((0, 6), ())
    both = combine(lambda a, b: a.reshape(len(a), -1) + b.reshape(len(b), -1), none, none)
    assert (both.data.shape, both.index) == ((0, 6), ())


def test_bfloat16_elements_stay_so_only_where_the_rows_are_as_many() -> None:
    halves = stack(1, 2).astype(BFLOAT16)
    shards = Shards(stack(1, 2), (0, 1))
    assert shards.holding(halves).bfloat16 is halves
    assert combine(lambda a: halves, shards).bfloat16 is halves
    shorts = np.zeros((2, 1), np.uint16)
    assert shards.holding(shorts).data is shorts and combine(lambda a: shorts, shards).data is shorts
    other = Shards.of_bfloat16(halves, (0, 1)).holding(stack(3, 4))
    assert other.bfloat16 is None and held(other) == [3, 4]


def test_in_a_run_in_shapes_a_result_is_where_all_operands_are() -> None:
    with shapes.only():
        a, b = Shards(stack(1, 2, 3), (0, 1, 2, -1)), Shards(stack(1, 2), (0, -1, 1, 1))
        sums = combine(np.add, a, b)
        assert (sums.index, sums.data.shape) == ((0, -1, 0, -1), (0, 1))
        assert combine(np.add, a, a).index == (0, 0, 0, -1)
        assert combine(
            np.add,
            a,
            b,
        ).bare
        (first,) = combine_all(
            lambda x, y: [x @ y.swapaxes(-1, -2)], *(Shards(np.ones((1, 2, 3)), (0,)),) * 2
        )
        assert first.data.shape == (0, 2, 2)
        assert a.holding(np.zeros((3, 7), np.float32)).data.shape == (0, 7)
