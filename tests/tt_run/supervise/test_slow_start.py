"""Ranks that do not start: said after a while, ever more seldom, with their hosts and the deadline."""

from __future__ import annotations

from pathlib import Path

from tests.tt_run.supervise.conftest import Records
from tt_run.inputs.hosts.lists import HostSlots
from tt_run.plan.model import LaunchPlan, Placement, RankPlan
from tt_run.supervise.attend import _hosts
from tt_run.supervise.looking.slow_start import SlowStart


def test_it_is_said_ever_more_seldom_until_all_have_started(records: Records) -> None:
    said: list[str] = []
    board = records.board
    start = SlowStart(board, ["a", "b"], said.append, 600.0)
    for elapsed in (0.0, 19.0, 21.0, 41.0, 43.0):
        start.look(elapsed)
    assert said == [
        "ranks 0-1 on a, b have not started for 21 s; tt-run doctor --hosts a,b asks each of them; at 600 s the run ends (--start-timeout)",
        "ranks 0-1 on a, b have not started for 43 s; tt-run doctor --hosts a,b asks each of them; at 600 s the run ends (--start-timeout)",
    ]
    records.status(0, host="a", pid=41)
    board.refresh()
    start.look(90.0)
    assert said[2].startswith("rank 1 on b has not started for 90 s; tt-run doctor --hosts b asks")
    records.status(1, host="b", pid=42)
    board.refresh()
    start.look(500.0)
    assert len(said) == 3


def test_nothing_is_waited_for_once_mpirun_has_said_that_it_cannot(records: Records) -> None:
    """Asked ever more seldom, since it reads a file."""
    asked: list[float] = []
    said: list[str] = []

    def is_hopeless() -> bool:
        asked.append(elapsed)
        return elapsed > 12.0

    board = records.board
    start = SlowStart(board, [], said.append, None, is_hopeless)
    found = {}
    for elapsed in (1.0, 4.9, 5.0, 6.0, 9.9, 10.0, 19.0, 20.0):
        found[elapsed] = start.look(elapsed)
    assert asked == [5.0, 10.0, 20.0] and [elapsed for elapsed, ends in found.items() if ends] == [20.0]
    assert said == []
    for rank in (0, 1):
        records.status(rank, host="a", pid=41 + rank)
    board.refresh()
    assert not start.look(50.0)


def test_on_this_machine_there_is_nobody_to_ask(records: Records) -> None:
    said: list[str] = []
    SlowStart(records.board, [], said.append, None).look(20.0)
    assert said == ["ranks 0-1 have not started for 20 s"]


def test_hosts_are_those_of_the_ranks_or_all_that_have_slots() -> None:
    def plan(hosts: tuple[HostSlots, ...], *of_ranks: str | None) -> LaunchPlan:
        ranks = tuple(RankPlan(rank, ("x",), {}, 0, host=host) for rank, host in enumerate(of_ranks))
        return LaunchPlan(ranks, ("x",), Path("/"), placement=Placement(hosts))

    two = (HostSlots("a", 1), HostSlots("b", 2))
    assert _hosts(plan((), None, None)) == []
    assert _hosts(plan(two, "b", "a", "b")) == ["b", "a", "b"]
    assert _hosts(plan(two, "b", None, "b")) == ["a", "b"]
