"""mpirun, or the wrapper of a rank that has ended, stopped by a signal: said soon, and given up where the ranks have a deadline."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.e2e.jobs import until
from tests.tt_run.supervise.conftest import Records
from tt_run.supervise.looking.stopped_launcher import StoppedLauncher
from tt_run.supervise.vitals import parent_of, state_of


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[str]]:
    """A process that does not ask after its child, whose number is its first line; the child has ended."""
    with subprocess.Popen(
        ["sh", "-c", "sleep 0 & echo $!; exec sleep 60"], stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def watching(records: Records, pid: int, patience: float | None = 30.0) -> tuple[StoppedLauncher, list[str]]:
    said: list[str] = []
    return StoppedLauncher(pid, records.board, "here", said.append, patience), said


def stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGSTOP)
    until(lambda: state_of(process.pid) == "T", 10.0, "the stop")


def test_a_stopped_mpirun_is_said_once_and_given_up(records: Records, parent: subprocess.Popen[str]) -> None:
    stops, said = watching(records, parent.pid)
    assert stops.look(0.0) == ""
    stop(parent)
    for now in (1.0, 10.0, 12.0, 31.0):
        assert stops.look(now) == ""
    assert said == [
        f"mpirun has been stopped for 11 s (SIGSTOP or SIGTSTP, process {parent.pid}): kill -CONT {parent.pid} lets it go on, or the run ends in 19 s"
    ]
    assert stops.look(31.5) == ""  # no second look within a second
    assert stops.look(32.0) == (
        f"mpirun was stopped by a signal (SIGSTOP or SIGTSTP); kill -CONT {parent.pid} would have let it go on"
    )


def test_one_that_goes_on_begins_anew_and_without_a_deadline_it_is_waited_for(
    records: Records, parent: subprocess.Popen[str]
) -> None:
    stops, said = watching(records, parent.pid, None)
    stop(parent)
    stops.look(0.0)
    parent.send_signal(signal.SIGCONT)
    until(lambda: state_of(parent.pid) != "T", 10.0, "going on")
    stops.look(9.0)
    stop(parent)
    assert [stops.look(now) for now in (10.0, 19.0, 1000.0)] == ["", "", ""]
    assert said == [
        f"mpirun has been stopped for 990 s (SIGSTOP or SIGTSTP, process {parent.pid}): kill -CONT {parent.pid} lets it go on"
    ]


def test_a_stopped_wrapper_counts_once_its_rank_has_ended(
    records: Records, parent: subprocess.Popen[str]
) -> None:
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    until(lambda: state_of(child) == "Z", 10.0, "the end of the child")
    assert parent_of(child) == parent.pid
    records.status(0, host="here", pid=child)
    records.status(1, host="there", pid=child)  # a process of another host, whatever has its number here
    stops, said = watching(records, 0)
    stops.look(0.0)
    stop(parent)
    for now in (1.0, 11.0):
        assert stops.look(now) == ""
    who = "the wrapper of rank 0, which has ended,"
    assert said == [
        f"{who} has been stopped for 10 s (SIGSTOP or SIGTSTP, process {parent.pid}): kill -CONT {parent.pid} lets it go on, or the run ends in 20 s"
    ]
    assert stops.look(31.5).startswith(f"{who} was stopped by a signal")
