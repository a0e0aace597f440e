"""Times of hosts whose clocks differ."""

from __future__ import annotations

import pytest

from tt_run.supervise.status import FirstSeen, RankStatus
from tt_run.supervise.verdict.clocks import failures_on_one_clock, offsets, on_one_clock

BEGAN = 1000.0


def record(host: str, skew: float, start: float = BEGAN + 0.3, end: float = BEGAN + 2.0) -> RankStatus:
    return RankStatus(1, host, start=start + skew, end=end + skew, code=1)


def seen(late: float = 0.02) -> dict[int, FirstSeen]:
    return {1: FirstSeen(BEGAN + 0.3 + late, BEGAN + 2.0 + late)}


@pytest.mark.parametrize("skew", [-3600.0, -60.0, -2.0, 2.0, 60.0, 3600.0])
def test_a_wrong_clock_is_corrected(skew: float) -> None:
    added = offsets([record("b", skew)], seen(), BEGAN, "a")
    [corrected] = on_one_clock([record("b", skew)], added)
    assert corrected.start == pytest.approx(BEGAN + 0.3, abs=0.5)
    assert corrected.end == pytest.approx(BEGAN + 2.0, abs=0.5)
    failures = failures_on_one_clock({1: {"time": BEGAN + 1.5 + skew}}, [record("b", skew)], added)
    assert failures[1]["time"] == pytest.approx(BEGAN + 1.5, abs=0.5)


@pytest.mark.parametrize("late", [0.02, 3.0, 30.0])
def test_a_right_clock_is_left_alone_however_late_its_records_are_seen(late: float) -> None:
    assert offsets([record("b", 0.0)], seen(late), BEGAN, "a") == {}


def test_this_machines_clock_is_the_measure() -> None:
    assert on_one_clock([record("a", 0.0)], {"b": 5.0}) == [record("a", 0.0)]
    assert offsets([record("a", 60.0)], seen(), BEGAN, "a") == {}
