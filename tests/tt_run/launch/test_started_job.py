"""The process between tt-run and mpirun: nothing of a job outlives the one that started it, whatever ends that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.jobs import until
from tests.sweep import sweep
from tt_run.launch.keeper import Order
from tt_run.launch.started_job import KeptJob

STARTER = """
import os, sys, time
from pathlib import Path
from tt_run.launch.keeper import Order
from tt_run.launch.started_job import KeptJob
job = KeptJob(Order(("/bin/sh", "-c", sys.argv[1]), Path.cwd(), dict(os.environ), scratch=Path("scratch").absolute()))
Path("pid").write_text(str(job.pid))
time.sleep(600)
"""


def order(script: str, folder: Path) -> Order:
    return Order(("/bin/sh", "-c", script), folder, dict(os.environ), scratch=folder / "scratch")


def running(mark: str) -> list[str]:
    """Processes that live and have the mark among their words."""
    listed = subprocess.run(
        ["ps", "-wweo", "stat=,args="], capture_output=True, text=True
    ).stdout.splitlines()
    return [line for line in listed if mark in line and not line.startswith("Z")]


@pytest.fixture
def mark(tmp_path: Path) -> str:
    return f"6{os.getpid()}{abs(hash(str(tmp_path))) % 10**6}"


@pytest.mark.parametrize(("script", "code"), [("exit 3", 3), ("kill -9 $$", -9), ("exit 0", 0)])
def test_the_end_is_told_as_it_was(tmp_path: Path, script: str, code: int) -> None:
    job = KeptJob(order(script, tmp_path))
    until(lambda: job.poll() is not None, 10, "the end")
    assert job.poll() == code
    assert job.finish() == ()


def test_what_cannot_be_executed_is_told_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        KeptJob(Order((f"{tmp_path}/absent",), tmp_path, dict(os.environ), scratch=tmp_path / "scratch"))
    assert caught.value.filename == f"{tmp_path}/absent"
    assert not (tmp_path / "scratch").exists()


def test_what_mpirun_left_in_its_folder_is_removed(tmp_path: Path) -> None:
    job = KeptJob(
        order(f"mkdir {tmp_path}/scratch/ompi.123; touch {tmp_path}/scratch/ompi.123/contact", tmp_path)
    )
    until(lambda: job.poll() is not None, 10, "the end")
    job.finish()
    assert not (tmp_path / "scratch").exists()


def test_signals_reach_it(tmp_path: Path) -> None:
    job = KeptJob(order("trap 'exit 9' USR2; touch up; while :; do sleep 0.02; done", tmp_path))
    until((tmp_path / "up").exists)
    job.send(signal.SIGUSR2)
    until(lambda: job.poll() == 9, 10, "the end")
    job.finish()


def test_processes_are_known_by_their_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "for rank in 0 1; do OMPI_COMM_WORLD_RANK=$rank sleep 60 & done; wait"
    job = KeptJob(order(script, tmp_path))
    until(lambda: sorted(job.processes().values()) == [0, 1], 10, "the ranks")
    signalled: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr(os, "kill", lambda pid, number: signalled.append(number))
        assert job.poll() is None and signalled == []
    job.finish()


def test_a_program_that_cannot_be_executed(tmp_path: Path) -> None:
    (tmp_path / "text").touch()
    with pytest.raises(PermissionError):
        KeptJob(Order((str(tmp_path / "text"),), tmp_path, {}))
    with pytest.raises(FileNotFoundError):
        KeptJob(Order((str(tmp_path / "missing"),), tmp_path, {}))


@pytest.mark.parametrize(
    "way",
    sweep(["setsid", "setsid env -i", "setsid setsid -f", "setsid -f env -i"], quick=["setsid -f env -i"]),
)
def test_what_leaves_its_session_and_environment_is_found(tmp_path: Path, mark: str, way: str) -> None:
    job = KeptJob(order(f"OMPI_COMM_WORLD_RANK=3 {way} sleep {mark} & sleep 0.1", tmp_path))
    until(lambda: job.poll() is not None, 10, "the end")
    assert job.finish() == ((-1,) if "env -i" in way else (3,))
    assert not running(mark)


def test_what_ignores_its_end_is_killed(tmp_path: Path, mark: str) -> None:
    job = KeptJob(order(f"setsid sh -c 'trap \"\" TERM HUP; touch up; sleep {mark}' & sleep 0.2", tmp_path))
    until((tmp_path / "up").exists)
    until(lambda: job.poll() is not None, 10, "the end")
    assert job.finish()
    assert not running(mark)


@pytest.mark.parametrize("victim", sweep(["starter", "its group"], quick=["its group"]))
def test_nothing_is_left_when_the_starter_is_killed(tmp_path: Path, mark: str, victim: str) -> None:
    script = f"setsid -f env -i sleep {mark}; trap '' TERM; while :; do sleep 0.0{mark}; done"
    starter = subprocess.Popen([sys.executable, "-c", STARTER, script], cwd=tmp_path, start_new_session=True)
    until((tmp_path / "pid").exists)
    until(lambda: len(running(mark)) >= 2)
    (os.kill if victim == "starter" else os.killpg)(starter.pid, signal.SIGKILL)
    starter.wait()
    until(lambda: not running(mark), 6, "the end of everything")
    until(lambda: not (tmp_path / "scratch").exists(), 6, "the end of its folder")


def test_a_killed_keeper_takes_the_job_along(tmp_path: Path, mark: str) -> None:
    job = KeptJob(order(f"sleep {mark}", tmp_path))
    until(lambda: bool(running(mark)))
    parent = Path(f"/proc/{job.pid}/stat").read_text().rpartition(")")[2].split()[1]
    os.kill(int(parent), signal.SIGKILL)
    until(lambda: job.poll() is not None, 10, "the end")
    assert job.finish() is None
    job_group = job.pid
    until(lambda: not any(str(job_group) in line for line in running(mark)), 6)
    assert not (tmp_path / "scratch").exists()
    subprocess.run(["pkill", "-g", str(job_group)])
