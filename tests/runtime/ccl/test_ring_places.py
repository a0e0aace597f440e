"""Where the keys of a circular cache stand, and which windows lie in it: what is overwritten is seen by nobody."""

from __future__ import annotations

import numpy as np
import pytest

from tests.runtime.ops.tensors import F32, ROW, U32, held, put
from tt_run.runtime.ccl.fused.ring_places import Cached, Sight
from tt_run.runtime.mesh import MeshDevice
from tt_run.runtime.tensor.tensor import Tensor


def seen(sight: Sight) -> list[list[int]]:
    """The gathered rows that each query sees."""
    mask = sight.mask({}, 0)
    assert mask is not None
    return [np.flatnonzero(row == 0).tolist() for row in mask[0]]


def circular(end: int, before: int, window: int, causal: bool = True) -> Sight:
    """A cache of eight rows that chunks of four are written into, in turn."""
    return Sight(end, 8, 4, 4, causal=causal, window=window, before=before, circular=True)


def test_a_query_sees_its_window_wherever_it_lies() -> None:
    # Positions 8 to 11 have taken the rows of 0 to 3; positions 4 to 7 are still in rows 4 to 7.
    assert seen(circular(12, 8, 3)) == [[0, 6, 7], [0, 1, 7], [0, 1, 2], [1, 2, 3]]


def test_rows_that_nothing_was_written_to_are_not_read() -> None:
    assert seen(circular(4, 0, 8)) == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3]]
    with pytest.raises(
        RuntimeError, match="logical_n must be 1 to 4, where the gathered keys end, got 5"
    ) as error:
        circular(5, 0, 8).mask({}, 0)
    assert "logical_n=4 reads all keys" in str(error.value)


@pytest.mark.parametrize(
    ("window", "causal", "lies"), [(5, True, True), (6, True, False), (9, False, True), (10, False, False)]
)
def test_a_window_reaches_back_no_further_than_the_cache(window: int, causal: bool, lies: bool) -> None:
    """Before position 12 the cache holds 8 to 11 beside what is written now: four back for the first query."""
    sight = circular(16, 12, window, causal)
    if lies:
        assert seen(sight)[0][-1 if causal else 0] == (4 if causal else 0)
    else:
        with pytest.raises(RuntimeError, match=f"a window of {window} keys before position 12 does not lie"):
            sight.mask({}, 0)


def test_a_key_beyond_the_end_is_seen_by_nobody() -> None:
    assert seen(Sight(3, 4, 2, 4)) == [[0, 1, 2]] * 2
    assert Sight(4, 4, 2, 4).mask({}, 0) is None
    with pytest.raises(RuntimeError, match="logical_n must be 1 to 4"):
        Sight(5, 4, 2, 4).mask({}, 0)


def number(mesh: MeshDevice, value: int) -> Tensor:
    return put(mesh, np.array([value]), U32, ROW)


@pytest.mark.parametrize(
    ("layers", "layer", "slot", "row"),
    [
        (None, None, 0, 0),
        (None, None, 3, 3),
        (1, 0, 2, 2),
        (2, 0, 1, 2),
        (2, 1, 1, 3),
        (2, 2, 0, "kv_cache_layer_idx must be below kv_cache_num_layers 2, got 2"),
        (2, -1, 1, "kv_cache_layer_idx must be below kv_cache_num_layers 2, got -1"),
        (None, 1, 0, "kv_cache_layer_idx must be below kv_cache_num_layers 1, got 1"),
        (None, None, 4, "row 4 is outside of the cache's 4"),
        (2, 0, 2, "row 4 is outside of the cache's 4"),
    ],
)
def test_a_slot_names_a_row_of_each_cache(
    mesh: MeshDevice, layers: int | None, layer: int | None, slot: int, row: int | str
) -> None:
    caches = [put(mesh, np.arange(4.0).reshape(4, 1, 1, 1) + at, F32, ROW) for at in (0, 10)]
    asked = Cached(None, None, number(mesh, slot), number(mesh, 7), layers, layer)
    if isinstance(row, str):
        with pytest.raises(RuntimeError, match=f"call: {row}"):
            asked.of("call", 1, *caches)
        return
    found, before = asked.of("call", 4, *caches)
    assert [held(each).item() for each in found] == [row, row + 10]
    assert before == 7


@pytest.mark.parametrize(
    ("row", "before", "users", "rows"),
    [
        (None, 5, 4, [0, 1, 2, 3]),
        (None, 5, 1, [0]),
        (0, None, 4, [0]),
        (3, None, 4, [3]),
        (-1, 0, 4, None),
        (4, 0, 4, None),
    ],
)
def test_a_cache_of_as_many_rows_as_users_is_read_whole(
    mesh: MeshDevice, row: int | None, before: int | None, users: int, rows: list[int] | None
) -> None:
    cache = put(mesh, np.arange(4.0).reshape(4, 1, 1, 1), F32, ROW)
    asked = Cached(row, before, None, None, None, None)
    if rows is None:
        with pytest.raises(RuntimeError, match=f"call: row {row} is outside of the cache's 4"):
            asked.of("call", users, cache)
    else:
        (found,), told = asked.of("call", users, cache)
        assert held(found).reshape(-1).tolist() == rows and told == before


def test_a_slot_and_its_position_stand_in_the_place_of_a_row(mesh: MeshDevice) -> None:
    cache, zero = put(mesh, np.zeros((4, 1, 1, 1)), F32, ROW), number(mesh, 0)
    together = "slot_id and kv_actual_isl_tensor must be given together"
    instead = "slot_id and kv_actual_isl_tensor stand in the place of kv_cache_batch_idx and kv_actual_isl"
    for given, words in (
        ((None, None, zero, None), together),
        ((None, None, None, zero), together),
        ((0, None, zero, zero), instead),
        ((None, 0, zero, zero), instead),
    ):
        with pytest.raises(RuntimeError, match=f"call: {words}"):
            Cached(*given, None, None).of("call", 1, cache)
