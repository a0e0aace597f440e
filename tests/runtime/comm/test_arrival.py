"""The meeting of a host's ranks before MPI starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tests.e2e.launch import tt_run
from tests.runtime.mpi import ROOT, run_ranks
from tests.sweep import sweep
from tt_run.runtime.comm.arrival import Arrival


def env(job: str, rank: int, size: int) -> dict[str, str]:
    return {
        "PMIX_NAMESPACE": job,
        "OMPI_COMM_WORLD_LOCAL_RANK": str(rank),
        "OMPI_COMM_WORLD_LOCAL_SIZE": str(size),
    }


def test_ranks_see_each_other_and_miss_who_has_not_come() -> None:
    job = uuid.uuid4().hex
    signs = [Arrival.announce(env(job, rank, 3)) for rank in (0, 2)]
    assert all(signs)
    first, last = (sign for sign in signs if sign)
    with pytest.raises(
        RuntimeError, match=r"TTG007.*local rank 1 of this host did not start the runtime within 0.05 s"
    ):
        first.await_others(0.05)
    middle = Arrival.announce(env(job, 1, 3))
    assert middle is not None
    for sign in (first, middle, last):
        sign.await_others(5)
    for sign in (first, middle, last):
        sign.close()


def test_waiting_goes_on_until_the_last_one_comes() -> None:
    job = uuid.uuid4().hex
    sign = Arrival.announce(env(job, 0, 2))
    assert sign is not None
    late: list[Arrival] = []

    def meanwhile(_: float) -> None:
        other = Arrival.announce(env(job, 1, 2))
        assert other is not None
        late.append(other)

    sign.await_others(30, sleep=meanwhile)
    assert len(late) == 1
    for each in (sign, *late):
        each.close()


@pytest.mark.parametrize(
    "environment", [{}, {"PMIX_NAMESPACE": "x"}, env("x", 0, 1) | {"OMPI_COMM_WORLD_LOCAL_RANK": "a"}]
)
def test_without_a_job_there_is_no_sign(environment: dict[str, str]) -> None:
    assert Arrival.announce(environment) is None


def test_a_rank_that_never_comes_is_named_under_real_mpi() -> None:
    program = (
        "import os\nfrom tt_run.runtime.comm.arrival import Arrival\nrank = os.environ['OMPI_COMM_WORLD_RANK']\n"
        "if rank == '0':\n    Arrival.announce(os.environ).await_others(0.5)\n"
    )
    result = run_ranks(2, program, timeout=15)
    assert "local rank 1 of this host did not start the runtime within 0.5 s" in result.ranks[0].stderr


@pytest.mark.wide
def test_the_place_of_a_rank_that_loops_is_told(tmp_path: Path) -> None:
    """Under a launch: the run folder says which rank it is, and the hook where it is."""
    (tmp_path / "program.py").write_text(
        "import os\n"
        "from tt_run.runtime.comm.arrival import Arrival\n"
        "def forever():\n"
        "    while True: pass\n"
        "if os.environ['TT_RUN_RANK'] == '1':\n"
        "    forever()\n"
        "Arrival.announce(os.environ).await_others(1)\n"
    )
    report = tmp_path / "report.json"
    words = [
        "--emulate",
        "--system",
        "t3000",
        "--split",
        "1x2",
        "--log-dir",
        str(tmp_path / "run"),
        "--report",
        str(report),
    ]
    ran = subprocess.run(
        [sys.executable, "-m", "tt_run.cli.main", *words, sys.executable, str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=60,
    )
    assert ran.returncode == 1
    assert "rank 1 on " in ran.stderr and "is at fault: error[TTG007]: rank 1 did not start" in ran.stderr
    assert f"rank 1: running at {tmp_path}/program.py:4 in forever  <-" in ran.stderr
    assert "arrival.py" not in ran.stderr
    assert json.loads(report.read_text())["verdict"]["culprit"] == 1


def test_a_program_that_imported_mpi_itself_starts_as_well() -> None:
    program = "from mpi4py import MPI\nfrom tt_run.runtime import guard\nguard.start()\nprint(MPI.COMM_WORLD.rank)\n"
    assert sorted(run_ranks(2, program).check().stdout.split()) == ["0", "1"]


def test_under_mpirun_alone_nothing_is_waited_for() -> None:
    program = "from tt_run.runtime.comm.world import world; world().connect(); print('ok')"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **env("x", 0, 1), "OMPI_COMM_WORLD_SIZE": "1"},
        timeout=30,
        check=True,
    )
    assert done.stdout == "ok\n"


FIRST = """
import time
import ttnn
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.rank == 1:
    {of_one}
else:
    comm.allreduce(1)
"""


@pytest.mark.parametrize(
    ("of_one", "told"),
    sweep(
        [
            (
                "time.sleep(300)",
                "error[TTG005]: rank 1 did not come to MPI allreduce at {program}:9 within 1 s\n"
                "  rank 1: running at {program}:7 in <module>  <-\n",
            ),
            ("pass", "error[TTG002]: rank 1 ended before MPI allreduce at {program}:9\n"),
        ],
        quick=["pass"],
    ),
)
def test_a_rank_that_does_not_come_to_the_programs_first_collective(
    tmp_path: Path, of_one: str, told: str
) -> None:
    """MPI is up, so nothing but the ranks themselves can tell who is missing where they meet."""
    program = tmp_path / "program.py"
    program.write_text(FIRST.format(of_one=of_one))
    ran = tt_run(
        *("--emulate", "--system", "t3000", "--split", "1x2", "python", "program.py"),
        cwd=tmp_path,
        env={"TT_RUN_GUARD_TIMEOUT": "1"},
    )
    assert ran.code == 1
    assert "tt-run: rank 1 on " in ran.err and told.format(program=program) in ran.err
