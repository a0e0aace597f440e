"""Room for intermediate results: the same arrays again for a purpose on a thread, each at another place of its page."""

from __future__ import annotations

import threading

import pytest

from tt_run.runtime.values import scratch_arrays
from tt_run.runtime.values.scratch_arrays import BLOCK, scratch


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch_arrays, "_here", threading.local())


def address(array: object) -> int:
    return int(array.__array_interface__["data"][0])  # type: ignore[attr-defined]


def test_the_same_arrays_for_the_same_purpose() -> None:
    first = scratch("one", 2)
    assert [array.size for array in first] == [BLOCK, BLOCK]
    assert scratch("one", 2) is first and scratch("one", 1) is first
    assert scratch("other", 2) is not first
    more = scratch("one", 3)
    assert len(more) == 3 and scratch("one", 2) is more


def test_longer_ones_take_the_place_of_shorter_ones_until_they_are_too_long_to_keep() -> None:
    short = scratch("one", 1, 100)
    assert short[0].size == 100 and scratch("one", 1, 100) is short
    longer = scratch("one", 1, 2 * BLOCK)
    assert longer[0].size == 2 * BLOCK and scratch("one", 1, 100) is longer
    longest = scratch("one", 2, 2 * BLOCK + 1)
    assert [array.size for array in longest] == [2 * BLOCK + 1] * 2
    assert scratch("one", 2, 2 * BLOCK + 1) is not longest and scratch("one", 1, 100) is longer


def test_they_begin_at_a_cache_line_apart_from_each_other() -> None:
    for arrays in (scratch("one", 4), scratch("one", 4, 2 * BLOCK + 1)):
        assert [address(array) % 4096 for array in arrays] == [0, 1024, 2048, 3072]


def test_each_thread_has_its_own() -> None:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(scratch("one", 1)))
    thread.start()
    thread.join()
    assert found[0] is not scratch("one", 1)
