"""The process that cleans up after a killed tt-run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.jobs import until
from tests.tt_run.supervise.conftest import Records
from tt_run.supervise.guardian import Guardian, post_guardian
from tt_run.supervise.processes import end_groups, kill_group, living

Start = Callable[[], int]
STUBBORN = ("sh", "-c", "trap '' TERM HUP; echo up; while :; do sleep 0.1; done")


@pytest.fixture
def stubborn() -> Iterator[Start]:
    """Starts process groups that ignore what can be ignored, and ends them after the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> int:
        process = subprocess.Popen(STUBBORN, stdout=subprocess.PIPE, start_new_session=True)
        started.append(process)
        assert process.stdout is not None and process.stdout.readline() == b"up\n"
        return process.pid

    yield start
    for process in started:
        kill_group(process.pid, 9)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def lose(guardian: Guardian) -> None:
    """What the guardian sees when tt-run is killed: the pipe closes without a word."""
    os.close(guardian.pipe)
    assert guardian.process.wait() == 0


def test_everything_is_ended_when_the_launcher_vanishes(records: Records, stubborn: Start) -> None:
    mpirun, *ranks = stubborn(), stubborn(), stubborn()
    for rank, pgid in enumerate(ranks):
        records.status(rank, host=os.uname().nodename, pid=pgid, pgid=pgid)
    lose(post_guardian(mpirun, records.folder))
    groups = dict(enumerate((mpirun, *ranks)))
    until(lambda: not living(groups), 5, "the end of every group")


def test_ranks_of_other_hosts_are_not_its_business(records: Records, stubborn: Start) -> None:
    mpirun, mine = stubborn(), stubborn()
    records.status(0, host="elsewhere", pid=mine, pgid=mine)
    lose(post_guardian(mpirun, records.folder))
    assert living({0: mine}) == {0: mine}


def test_a_dismissed_guardian_ends_nothing(records: Records, stubborn: Start) -> None:
    mpirun = stubborn()
    records.status(0, host=os.uname().nodename, pid=mpirun, pgid=mpirun)
    guardian = post_guardian(mpirun, records.folder)
    guardian.dismiss()
    assert guardian.process.returncode == 0
    assert living({0: mpirun}) == {0: mpirun}


@pytest.mark.parametrize("end", [lose, Guardian.dismiss])
def test_what_mpirun_left_is_removed_whoever_ends_it(
    records: Records, stubborn: Start, tmp_path: Path, end: Callable[[Guardian], None]
) -> None:
    left = tmp_path / "its folder" / "ompi.123"
    left.mkdir(parents=True)
    (left / "contact").touch()
    end(post_guardian(stubborn(), records.folder, left.parent))
    assert not left.parent.exists()


def test_groups_that_are_gone_need_no_ending() -> None:
    process = subprocess.Popen(["true"], start_new_session=True)
    process.wait()
    assert end_groups({0: process.pid}) == ()


def test_a_group_of_unreaped_processes_counts_as_gone() -> None:
    process = subprocess.Popen(["true"], start_new_session=True)
    until(
        lambda: not living({0: process.pid}), 10, "the end of the process"
    )  # without wait(): it stays a zombie
    assert kill_group(process.pid, 0)
    process.wait()


def test_what_does_not_end_by_itself_is_ended(stubborn: Start) -> None:
    pgid = stubborn()
    assert end_groups({3: pgid}, grace=0.05) == (3,)
    assert living({3: pgid}) == {}
