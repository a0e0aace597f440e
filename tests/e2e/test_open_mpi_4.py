"""The same with Open MPI 4.1, as PyPI has it and as Debian does (`tests/e2e/open_mpi_4.py` says where they are looked for)."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.e2e.jobs import GONE_WITHIN, Job, Jobs
from tests.e2e.launch import tt_run
from tests.e2e.open_mpi_4 import OpenMpi, each_open_mpi_4
from tt_run.contract import Exit
from tt_run.launch.mpirun import Launcher

pytestmark = each_open_mpi_4


def start(jobs: Jobs, mpi: OpenMpi, *program: str, ranks: int = 2) -> Job:
    return jobs.start(*program, ranks=ranks, env=mpi.environment)


def test_the_version_is_recognised(mpi: OpenMpi) -> None:
    launcher = Launcher(str(mpi.mpirun), "test")
    assert launcher.version == (4, 1)
    assert launcher.major == 4


def test_success_with_more_ranks_than_cores(jobs: Jobs, mpi: OpenMpi) -> None:
    ran = start(jobs, mpi, "sh", "-c", "sleep 0.2; echo $TT_RUN_RANK", ranks=4).end()
    assert sorted(ran.check().out.splitlines()) == [f"[{rank}] {rank}" for rank in range(4)]


@pytest.mark.parametrize(("fault", "code"), [("exit 3", 3), ("kill -KILL $$", 137), ("kill -SEGV $$", 139)])
def test_the_failing_rank_is_named(jobs: Jobs, mpi: OpenMpi, fault: str, code: int) -> None:
    ran = start(
        jobs, mpi, "sh", "-c", f"ulimit -c 0; [ $OMPI_COMM_WORLD_RANK = 1 ] || exec sleep 600; {fault}"
    ).end()
    assert ran.code == code
    assert "tt-run: rank 1 on " in ran.err


def test_an_exception_in_the_middle_of_mpi(jobs: Jobs, mpi: OpenMpi) -> None:
    text = (
        "from mpi4py import MPI\nif rank == 1:\n    raise ValueError('no good')\nMPI.COMM_WORLD.Barrier()\n"
    )
    ran = start(jobs, mpi, mpi.python, jobs.python(text)[1]).end()
    assert ran.code == 1
    assert "ValueError: no good" in ran.err


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, Exit.INTERRUPTED), (signal.SIGTERM, Exit.TERMINATED), (signal.SIGHUP, Exit.HUNG_UP)],
)
def test_signals_end_every_rank(jobs: Jobs, mpi: OpenMpi, number: signal.Signals, code: Exit) -> None:
    job = start(
        jobs, mpi, "sh", "-c", "trap '' HUP INT TERM; echo up; while :; do sleep 0.2; done"
    ).wait_for_line("up")
    assert job.send(number).end(GONE_WITHIN).code == code


def test_nothing_outlives_a_killed_launcher(jobs: Jobs, mpi: OpenMpi) -> None:
    job = start(jobs, mpi, "sleep", "600").wait_started()
    job.process.kill()
    job.process.wait()
    job.check_gone()


def test_a_rankfile_places_ranks_and_pins_none(tmp_path: Path, mpi: OpenMpi) -> None:
    """A slot with one number counts ranks; this mpirun itself would pin rank N to core N, and not start where there is none."""
    host = os.uname().nodename
    (tmp_path / "rankfile").write_text(f"rank 1={host} slot=999\nrank 0={host} slot=0\n")
    words = ("--emulate", "--system", "t3000", "--split", "1x2", "--mpi-args", "--rankfile rankfile")
    tell = "sleep 0.2; echo $TT_RUN_RANK; grep ^Cpus_allowed_list /proc/self/status"
    ran = tt_run(*words, "sh", "-c", tell, cwd=tmp_path, env=mpi.environment).check()
    allowed = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if "Cpus_allowed_list" in line
    )
    assert sorted(ran.out.splitlines()) == ["[0] 0", f"[0] {allowed}", "[1] 1", f"[1] {allowed}"]


def test_the_pasted_line_runs(tmp_path: Path, mpi: OpenMpi) -> None:
    ran = tt_run(
        *("--emulate", "--system", "t3000", "--split", "1x2", "--dry-run"),
        *("sh", "-c", "sleep 0.2; echo $TT_RUN_RANK"),
        cwd=tmp_path,
        env=mpi.environment,
    )
    pasted = subprocess.run(
        ["timeout", "-k", "2", "30", "sh", "-c", ran.out], capture_output=True, text=True, timeout=60
    )
    assert sorted(line.rpartition(":")[2].strip() for line in pasted.stdout.splitlines()) == ["0", "1"]


EMULATED = """
import os, sys
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
x = ttnn.ones((1, 1, 32, 128), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
ttnn.all_reduce(x, cluster_axis=1)
if sys.argv[1:] and int(ttnn.distributed_context_get_rank()) == 1:
    os.closerange(3, 65536)
ttnn.close_mesh_device(mesh)
print("fine")
"""


def test_an_emulated_program(tmp_path: Path, mpi: OpenMpi) -> None:
    """Its ranks meet, are recorded and repeated, and end; one that closes every descriptor is told before MPI waits for it."""
    if not (mpi.home / "bin" / "tt-run").exists():
        pytest.skip(f"{mpi.home} has no tt-run, which emulated programs import")
    (tmp_path / "program.py").write_text(EMULATED)
    words = ("--emulate", "--system", "t3000", "--split", "1x2")
    program = (mpi.python, "program.py")
    ran = tt_run(*words, "--record", "rec", *program, cwd=tmp_path, env=mpi.environment).check()
    assert sorted(ran.out.splitlines()) == ["[0] fine", "[1] fine"]
    assert "all as recorded" in tt_run("replay", "rec", "--rank", "1", cwd=tmp_path).check().err
    ran = tt_run(*words, *program, "close", cwd=tmp_path, env=mpi.environment)
    assert ran.code == 1 and "the program has closed every socket that MPI had opened" in ran.err, ran.err
