"""Deadlines on a busy machine, with a clock that the test turns."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from tt_run.runtime.comm import deadlines
from tt_run.runtime.comm.deadlines import MOST, Patience, delayed


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def wait(
    clock: Clock, subject: Patience, seconds: float, step: float = 0.1, pids: tuple[int, ...] = ()
) -> None:
    for _ in range(round(seconds / step)):
        clock.now += step
        subject.look(pids)


def test_quiet_seconds_count_in_full() -> None:
    clock = Clock()
    subject = Patience(clock)
    wait(clock, subject, 9.8)
    assert not subject.over(10)
    wait(clock, subject, 0.4)
    assert subject.over(10)


def test_a_time_in_which_nobody_looked_counts_little() -> None:
    clock = Clock()
    subject = Patience(clock)
    wait(clock, subject, 30, step=30)
    assert not subject.over(10)


def test_a_stop_is_no_part_of_the_wait_however_long() -> None:
    clock = Clock()
    subject = Patience(clock)
    wait(clock, subject, 100 * MOST, step=100 * MOST)
    wait(clock, subject, 8.8)
    assert not subject.over(10)
    wait(clock, subject, 0.4)
    assert subject.over(10)


def test_a_gap_without_a_processor_is_a_part_of_the_longest_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(deadlines, "delayed", lambda pid: clock.now)
    subject = Patience(clock)
    wait(clock, subject, 10 * MOST + 1, step=10 * MOST + 1)
    assert subject.over(10)


def test_a_rank_without_a_processor_is_given_time_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(deadlines, "delayed", lambda pid: 0.9 * clock.now)
    subject = Patience(clock)
    wait(clock, subject, 20, pids=(1, 2))
    assert not subject.over(10)
    wait(clock, subject, 10 * MOST, pids=(1, 2))
    assert subject.over(10)


def test_what_the_kernel_says_of_a_process() -> None:
    assert delayed(os.getpid()) >= 0.0
    assert delayed(2**22 + 1) == 0.0


@pytest.mark.parametrize(
    ("ranks", "load", "cores", "seconds"),
    [(2, 0.1, 4, 60), (32, 2.0, 2, 900), (2, 8.0, 4, 120), (8, 1.0, 4, 120)],
)
def test_shutting_down_has_its_time_on_a_busy_machine(
    monkeypatch: pytest.MonkeyPatch, ranks: int, load: float, cores: int, seconds: int
) -> None:
    from tt_run.runtime.guard import lifecycle

    monkeypatch.setattr(lifecycle, "os", SimpleNamespace(getloadavg=lambda: (load, 0, 0)))
    monkeypatch.setattr(lifecycle, "usable_cpus", lambda: range(cores))
    assert lifecycle.shutdown_seconds(ranks) == seconds


def test_a_pause_in_a_debugger_moves_the_beginning_of_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    clock.now = 1000.0
    subject = Patience(clock)
    wait(clock, subject, 5)
    monkeypatch.setattr(deadlines.debugger_pause, "is_now", lambda: True)
    wait(clock, subject, 100 * MOST)
    monkeypatch.undo()
    wait(clock, subject, 4)
    assert not subject.over(10)
    assert subject.over(8)
    monkeypatch.setattr(deadlines, "delayed", lambda pid: clock.now)
    wait(clock, subject, 10 * MOST - 10, pids=(1,))
    assert not subject.over(10)
    wait(clock, subject, 2, pids=(1,))
    assert subject.over(10)
