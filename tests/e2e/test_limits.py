"""Launches where the machine allows few open files: mpirun wants some for each of its ranks."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator

import pytest

from tests.e2e.launch import ROOT, environment, tt_run
from tt_run.contract import Exit
from tt_run.launch.open_files import needed

RANKS = 8
LAUNCH = ("--emulate", "--system", "t3000", "--split", "2x4", "--no-warm")
TELLS_ITS_LIMIT = ("sh", "-c", "sleep 0.1; ulimit -n")
FEW = 40


@pytest.fixture
def own() -> Iterator[tuple[int, int]]:
    """The limits of this process, which come back after the test."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_soft_limit_is_raised_for_mpirun_alone(own: tuple[int, int]) -> None:
    assert needed(RANKS) > FEW
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEW, own[1]))
    ran = tt_run(*LAUNCH, *TELLS_ITS_LIMIT).check()
    assert [line.split()[-1] for line in ran.out.splitlines()] == [str(FEW)] * RANKS


def test_a_hard_limit_is_told_and_no_rank_blamed() -> None:
    limited = ["sh", "-c", f'ulimit -n {FEW}; exec timeout -k 5 60 tt-run "$@"', "sh", *LAUNCH]
    ran = subprocess.run(
        [*limited, *TELLS_ITS_LIMIT], cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )
    assert ran.returncode == Exit.NO_LAUNCHER
    assert f"could not start all of {RANKS} ranks" in ran.stderr
    assert f"no more open files (ulimit -Hn), of which there may be {FEW}" in ran.stderr
    assert "help: fewer ranks on this machine, or more open files: ulimit -n" in ran.stderr
    assert "SIGTERM" not in ran.stderr and "ended because of it" not in ran.stderr
