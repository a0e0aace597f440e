"""When a circle of waits is certain, and what a rank's own requests still move."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tt_run.runtime.guard import watch
from tt_run.runtime.guard.board import WAITING
from tt_run.runtime.guard.diagnosis import Finding
from tt_run.runtime.guard.own_traffic import OwnTraffic
from tt_run.runtime.guard.states import RankState, Wait
from tt_run.runtime.guard.watch import _Suspicion

# The package names the one object of that module by the module's name.
own_traffic = sys.modules[OwnTraffic.__module__]
CIRCLE = Finding("TTG004", (0, 1), (0, 1), "two ranks wait for each other")


def known(*looks: tuple[int, float]) -> dict[int, RankState]:
    """Ranks in the wait of that number, of which they looked last at that time."""
    wait = Wait("collective", "all_gather()", "p.py:3", (0, 1), 0, (1,), 1.0)
    return {
        rank: RankState(rank, WAITING, wait=replace(wait, generation=number, checked=at))
        for rank, (number, at) in enumerate(looks)
    }


def test_a_circle_is_certain_once_all_have_looked_again_in_the_same_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter((10.0, 20.0))
    monkeypatch.setattr(watch, "_now", lambda: next(clock))
    suspicion = _Suspicion()
    assert not suspicion.confirmed(CIRCLE, known((5, 9.0), (7, 9.5)))  # seen once, at 10
    assert not suspicion.confirmed(CIRCLE, known((5, 11.0), (7, 9.5)))  # one has not looked since
    assert not suspicion.confirmed(CIRCLE, known((5, 11.0), (8, 12.0)))  # another wait: seen anew, at 20
    assert not suspicion.confirmed(CIRCLE, known((5, 21.0), (8, 20.0)))
    assert suspicion.confirmed(CIRCLE, known((5, 21.0), (8, 20.5)))


class Request:
    """A request of MPI, which is over or not."""

    def __init__(self, over: bool) -> None:
        self.over = over

    def Get_status(self) -> bool:
        return self.over


@pytest.fixture
def traffic(monkeypatch: pytest.MonkeyPatch) -> OwnTraffic:
    comm = SimpleNamespace(Iprobe=lambda *_: False)
    monkeypatch.setattr(
        own_traffic, "world", lambda: SimpleNamespace(rank=0, control=SimpleNamespace(comm=comm))
    )
    return OwnTraffic()


def test_a_program_without_mpi_of_its_own_moves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def world() -> Any:
        raise AssertionError("nobody has to be asked")

    monkeypatch.setattr(own_traffic, "world", world)
    assert not OwnTraffic().moves()


def test_a_request_moves_until_it_is_over(traffic: OwnTraffic) -> None:
    first, last = Request(False), Request(True)
    for request in (first, last):
        traffic.started(request)
    assert traffic.moves()
    first.over = True
    assert not traffic.moves()


def test_a_request_that_nobody_keeps_is_forgotten(traffic: OwnTraffic) -> None:
    traffic.started(Request(False))
    assert not traffic.moves()


def test_a_window_moves_until_it_is_freed(traffic: OwnTraffic) -> None:
    class Window:
        is_open = True

        def __bool__(self) -> bool:
            return self.is_open

    window = Window()
    traffic.opened(window)
    assert traffic.moves()
    window.is_open = False
    assert not traffic.moves()
