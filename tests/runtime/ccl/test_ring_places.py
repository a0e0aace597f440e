"""Where the keys of a circular cache stand, and which windows lie in it: what is overwritten is seen by nobody."""

from __future__ import annotations

import numpy as np
import pytest

from tt_run.runtime.ccl.fused.ring_places import Sight


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
