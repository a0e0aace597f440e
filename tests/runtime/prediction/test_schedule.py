"""Ranks against each other: collectives begin with the last, messages arrive after they were sent, the path goes back through both."""

from __future__ import annotations

import pytest

from tt_run.runtime.prediction.schedule import Step, schedule


def work(us: float) -> Step:
    return Step("work", us)


def meet(us: float, key: str = "meet 0 1") -> Step:
    return Step("meet", us, key)


def test_a_collective_begins_when_the_last_rank_comes() -> None:
    found = schedule({0: [work(10), meet(5), work(1)], 1: [work(30), meet(5), work(2)]})
    assert found.makespan == 37
    assert found.waited == {0: 20, 1: 0}
    assert found.critical == {0: 0, 1: 37}


def test_the_critical_path_changes_ranks() -> None:
    found = schedule(
        {0: [work(10), meet(5), work(40)], 1: [work(30), meet(5), work(2)], 2: [work(1), meet(5), work(1)]}
    )
    assert found.makespan == 75
    assert found.critical == {0: 45, 1: 30, 2: 0}


def test_the_critical_path_comes_back_to_a_rank() -> None:
    a, b, c, d = (meet(0, f"meet {name}") for name in "abcd")
    first = [work(1), a, work(10), b, work(1), c, work(10), d, work(5)]
    found = schedule({0: first, 1: [work(5), a, work(1), b, work(20), c, work(1), d]})
    assert (found.makespan, found.critical, found.waited) == (50, {0: 25, 1: 25}, {0: 23, 1: 18})


def test_a_pipeline_of_two_stages() -> None:
    stage = [work(10), Step("send", 2, peer=1)]
    found = schedule({0: stage * 3, 1: [Step("recv", 2, peer=0), work(20)] * 3})
    assert found.makespan == 12 + 3 * 20
    assert found.waited[1] == 12
    assert found.critical[0] == pytest.approx(10)


def test_ranks_whose_counterpart_never_comes_are_named() -> None:
    found = schedule({0: [work(1), Step("recv", 1, peer=1), work(1)], 1: [work(5)]})
    assert found.unfinished == (0,)
    assert found.makespan == 5
    assert schedule({}).makespan == 0
