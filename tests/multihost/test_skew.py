"""Hosts whose clocks differ: the rank at fault is named by what happened, not by what a clock says."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tests.multihost.jobs import FOREVER, IN_MPI, HostJobs, named, python

pytestmark = [pytest.mark.multihost, pytest.mark.wide]

FAULTS = {
    "raise RuntimeError('boom')": "exited with 1",
    "os._exit(3)": "exited with 3",
    "os.kill(os.getpid(), 9)": "was killed by SIGKILL",
    "os.killpg(os.getpgid(0), 9)": "was killed by SIGKILL",
    "os.kill(os.getppid(), 9)": "was killed by SIGKILL",
    "os.abort()": "was killed by SIGABRT",
}


def set_clock(jobs: HostJobs, host: str, seconds: float, folder: Path) -> str:
    """Lets a host's `date` be wrong, by a program in its place; the text that does the same to Python's clock in the ranks there."""
    program = folder / f"date-{host}"
    # A copy of the true one, which takes the difference as a word: another interpreter would take longer than mpirun waits.
    true = folder / "true-date"
    shutil.copy2("/usr/bin/date", true)
    program.write_text(f'#!/bin/sh\nexec {true} -d "{seconds:+.0f} seconds" "$@"\n')
    program.chmod(0o755)
    jobs.cluster.run(host, "mount", "--bind", str(program), "/usr/bin/date").check()
    number = int(host[1:]) - 1
    return f"if rank == {number}:\n    right = time.time\n    time.time = lambda: right() + {seconds}\n"


def check(jobs: HostJobs, folder: Path, clocks: str, fault: str, culprit: int, delay: float = 0.0) -> None:
    folder.mkdir()
    text = f"{clocks}{IN_MPI}if rank == {culprit}:\n    time.sleep({delay})\n    {fault}\n{FOREVER}"
    ran = jobs.start(*python(folder, text)).end()
    assert named(ran.err).startswith(f"rank {culprit} on h{culprit + 1} {FAULTS[fault]}"), ran.err


@pytest.mark.parametrize("seconds", [-60.0, 2.0])
def test_a_clock_that_is_wrong(doomed: HostJobs, tmp_path: Path, seconds: float) -> None:
    clocks = set_clock(doomed, "h2", seconds, tmp_path)
    for culprit, fault in (
        (0, "os._exit(3)"),
        (1, "raise RuntimeError('boom')"),
        (2, "os.kill(os.getppid(), 9)"),
    ):
        check(doomed, tmp_path / str(culprit), clocks, fault, culprit)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seconds", [-3600.0, -60.0, -2.0, 2.0, 60.0, 3600.0])
def test_every_fault_on_every_host(doomed: HostJobs, tmp_path: Path, seconds: float) -> None:
    chance = random.Random(20261122)
    clocks = set_clock(doomed, "h2", seconds, tmp_path) + set_clock(doomed, "h3", -seconds / 2, tmp_path)
    for number, fault in enumerate(FAULTS):
        for culprit in range(3):
            folder = tmp_path / f"{number}-{culprit}"
            check(doomed, folder, clocks, fault, culprit, chance.uniform(0, 0.3))
