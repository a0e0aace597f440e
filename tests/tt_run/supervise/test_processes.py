"""Ending the process groups of ranks."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.jobs import until
from tt_run.supervise.processes import end_groups, end_strays, kill_group, left_behind, living

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


def test_who_left_something_is_told_where_it_is_known() -> None:
    assert left_behind((-1, 0, 1)) == "ranks 0-1 left processes behind, which were ended"
    assert "sessions of their own" in left_behind((-1,))


@pytest.mark.parametrize(("rank", "known"), [("3", 3), ("", -1)])
def test_who_left_its_group_is_known_by_the_run_folder(tmp_path: Path, rank: str, known: int) -> None:
    environ = {**os.environ, "TT_RUN_DIR": str(tmp_path), "OMPI_COMM_WORLD_RANK": rank}
    pipe = subprocess.PIPE
    with subprocess.Popen(["cat"], env=environ, start_new_session=True, stdin=pipe, stdout=pipe) as stray:
        assert stray.stdin is not None and stray.stdout is not None
        stray.stdin.write(b"here\n")
        stray.stdin.flush()
        assert (
            stray.stdout.readline() == b"here\n"
        )  # or it might be on its way into its program, and have no variables yet
        assert end_strays(tmp_path / "another", os.getpid()) == ()
        assert stray.poll() is None
        assert end_strays(tmp_path, os.getpid()) == (known,)
        assert stray.wait(20) == -15
    assert end_strays(tmp_path, os.getpid()) == ()
