"""Open MPI 4.1 over several hosts (TT_RUN_OPENMPI4=/path/to/venv): the same placement, and the same names after a failure."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.e2e.launch import ROOT
from tests.multihost.jobs import THREE, HostJobs, named
from tt_run.contract import Exit

MPIRUN = Path(os.environ.get("TT_RUN_OPENMPI4", "/nonexistent")) / "bin" / "mpirun"
pytestmark = [
    pytest.mark.multihost,
    pytest.mark.wide,
    pytest.mark.skipif(not MPIRUN.exists(), reason="TT_RUN_OPENMPI4 names no environment with Open MPI 4.1"),
]
FOUR_RANKS = str(ROOT / "configs" / "bindings" / "t3k_2x4_four_hosts.yaml")
ENVIRONMENT = {"MPIRUN": str(MPIRUN)}


def test_a_rankfile_places_the_ranks(jobs: HostJobs, tmp_path: Path) -> None:
    (tmp_path / "rf").write_text("rank 3=h1 slot=1\nrank 0=h2 slot=0\nrank 1=h1 slot=0\nrank 2=h3 slot=0\n")
    where = ("--rank-binding", FOUR_RANKS, "--mpi-args", "--rankfile rf")
    job = jobs.start("sh", "-c", "hostname; sleep 0.3", where=where, ranks=4, env=ENVIRONMENT)
    job.end().check()
    assert [job.folder.out(rank).read_text().strip() for rank in range(4)] == ["h2", "h1", "h3", "h1"]


@pytest.mark.parametrize(
    ("fault", "code", "says"),
    [("exit 3", 3, "exited with 3"), ("kill -KILL $$", 137, "was killed by SIGKILL")],
)
def test_a_rank_that_fails(jobs: HostJobs, fault: str, code: int, says: str) -> None:
    """mpirun 4.1 itself does not end here, or crashes."""
    script = f"sleep 0.5; [ $TT_RUN_RANK != 1 ] || {fault}; exec sleep 600"
    job = jobs.start("sh", "-c", script, env=ENVIRONMENT)
    ran = job.end()
    assert (ran.code, named(ran.err)) == (code, f"rank 1 on h2 {says}")
    job.check_gone()


def test_a_host_that_dies(doomed: HostJobs) -> None:
    job = doomed.start("sh", "-c", "echo up; exec sleep 600", where=THREE, env=ENVIRONMENT).wait_for_line(
        "up"
    )
    doomed.cluster.order("kill", "h3")
    ran = job.end(10)
    # mpirun 4.1 may crash over the daemon that goes.
    assert ran.code == Exit.HOST_LOST, ran.err
    assert re.fullmatch(
        r"host h3 was lost; rank 2 ran there(; mpirun crashed with it \(SIG\w+\))?", named(ran.err)
    )
    job.check_gone(("h1", "h2"))
