"""Ranks that a signal has stopped: said soon, asked of other hosts while ranks wait, and given up where somebody waits with a deadline."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.e2e.jobs import until
from tests.tt_run.supervise.conftest import Records
from tt_run.inputs.environment import EnvVar
from tt_run.plan.model import LaunchPlan, RankPlan
from tt_run.supervise.attend import _patience
from tt_run.supervise.looking.stopped_ranks import StoppedRanks
from tt_run.supervise.status import RankStatus
from tt_run.supervise.verdict.stopped import stopped_elsewhere
from tt_run.supervise.vitals import state_of

PATIENCE = 30.0


def watching(
    records: Records, ask: Callable[[], tuple[int, ...]] | None = None
) -> tuple[StoppedRanks, list[str]]:
    said: list[str] = []
    return StoppedRanks(records.board, "here", said.append, PATIENCE, ask), said


def test_it_is_said_once_with_what_lets_it_go_on(records: Records) -> None:
    records.status(0, host="here", pid=41)
    stops, said = watching(records)
    for now in (0.0, 9.0, 11.0, 20.0):
        assert stops.look(now, (0,), 0.0) == ()
    assert said == [
        "rank 0 on here has been stopped for 11 s (SIGSTOP or SIGTSTP, process 41): kill -CONT 41 lets it go on, or the run ends in 19 s"
    ]
    assert stops.look(31.0, (0,), 0.0) == (0,)


def test_one_that_goes_on_begins_anew(records: Records) -> None:
    records.status(0, host="here", pid=41)
    stops, said = watching(records)
    stops.look(0.0, (0,), 0.0)
    stops.look(29.0, (), 0.0)
    assert stops.look(31.0, (0,), 0.0) == () and said == []


def test_other_hosts_are_asked_while_somebody_waits(records: Records) -> None:
    records.status(1, host="there", pid=42)
    asked: list[float] = []
    waited = 0.0

    def ask() -> tuple[int, ...]:
        asked.append(waited)
        return (1,)

    stops, said = watching(records, ask)
    for step in range(200):
        waited = step / 10
        stops.look(step / 10, (), waited)
        until(lambda: stops._asking is None or not stops._asking.is_alive(), 5.0)
    assert asked == pytest.approx([2.0, 3.0, 4.5, 6.8, 10.2, 15.3], abs=0.11)
    assert said == [
        "rank 1 on there has been stopped for 10 s (SIGSTOP or SIGTSTP, process 42): kill -CONT 42 on there lets it go on, or the run ends in 20 s"
    ]
    assert stops.elsewhere == (1,)
    stops.look(20.0, (), 0.0)  # nobody waits any more
    assert stops.elsewhere == ()


class Asked:
    """Hosts that all have the processes of this machine."""

    def ask(self, hosts: Sequence[str], line: str, seconds: float) -> dict[str, SimpleNamespace]:
        out = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=10).stdout
        return {host: SimpleNamespace(out=out) for host in (*hosts, "here")}


def test_other_hosts_tell_which_of_their_ranks_are_stopped() -> None:
    with subprocess.Popen(["sleep", "60"]) as held, subprocess.Popen(["sleep", "60"]) as other:
        held.send_signal(signal.SIGSTOP)
        until(lambda: state_of(held.pid) == "T", 10.0, "the stop")
        pids = ("here", held.pid), ("there", held.pid), ("there", other.pid), ("there", None)
        ranks = [RankStatus(n, host, pid=pid, start=1.0) for n, (host, pid) in enumerate(pids)]
        ranks.append(RankStatus(4, "there", pid=held.pid, start=1.0, end=2.0, code=0))
        assert stopped_elsewhere(Asked(), ranks, "here") == (1,)  # type: ignore[arg-type]
        held.kill()
        other.kill()


def test_hosts_that_take_long_to_answer_hold_nothing_up(records: Records) -> None:
    stops, _ = watching(records, lambda: time.sleep(0.5) or ())  # type: ignore[func-returns-value]
    began = time.monotonic()
    for step in range(20, 100):
        stops.look(step, (), float(step))
    assert time.monotonic() - began < 0.4


@pytest.mark.parametrize(
    ("said", "emulate", "expected"),
    [
        ({}, True, 70.0),
        ({"TT_RUN_GUARD_TIMEOUT": "5"}, True, 15.0),
        ({"TT_RUN_GUARD_TIMEOUT": "soon"}, True, None),
        ({"TT_RUN_GUARD": "off"}, True, None),
        ({}, False, None),
    ],
)
def test_how_long_is_the_ranks_own_deadline_and_a_little_more(
    said: dict[str, str], emulate: bool, expected: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TT_RUN_GUARD", "TT_RUN_GUARD_TIMEOUT"):
        monkeypatch.delenv(name, raising=False)
    variables = {name: EnvVar(value, "") for name, value in said.items()}
    plan = LaunchPlan((RankPlan(0, ("true",), variables, 0),), ("true",), Path("/"), emulate=emulate)
    assert _patience(plan) == expected
