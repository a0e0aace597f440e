"""`tt-run ls`, `status`, `stacks`, `logs` and `clean` at a run that goes on, and after it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.jobs import until
from tests.e2e.launch import environment, tt_run

PROGRAM = """
import pathlib, sys, time
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
print("rank", rank, "is here", flush=True)
def sleeping():
    while not pathlib.Path("go").exists():
        time.sleep(0.01)
if rank == 1:
    sleeping()
MPI.COMM_WORLD.Barrier()
print("done", flush=True)
"""
BINDINGS = "t3k_2x4_two_hosts"


def test_a_run_seen_from_outside(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(PROGRAM)
    line = [
        "timeout",
        "-k",
        "5",
        "100",
        sys.executable,
        "-m",
        "tt_run",
        "--rank-binding",
        BINDINGS,
        sys.executable,
        "prog.py",
    ]
    with (tmp_path / "launch.txt").open("w") as said:
        run = subprocess.Popen(line, cwd=tmp_path, env=environment(), stdout=said, stderr=said)
    try:
        logs = tmp_path / "tt-run-logs"
        until(
            lambda: "here" in "".join(p.read_text() for p in logs.glob("*/rank-0001.out")),
            what="rank 1's first line",
        )
        (row,) = json.loads(tt_run("ls", "--json", cwd=tmp_path).check().out)
        assert (row["state"], row["ranks"]) == ("running", 2)
        until(
            lambda: "rank 0 waits for rank 1" in tt_run("status", cwd=tmp_path).out,
            what="rank 0 in its barrier",
        )
        status = tt_run("status", cwd=tmp_path).check().out
        assert "rank 1 on" in status
        assert "computes at" in status
        assert "waits for others at" in status
        tree = tt_run("stacks", cwd=tmp_path).check().out
        assert "rank 1\n" in tree
        assert "in sleeping" in tree
        assert tt_run("clean", cwd=tmp_path).check().out.startswith("0 runs removed")
    finally:
        (tmp_path / "go").touch()
        run.wait(timeout=60)
    assert "[1] rank 1 is here" in tt_run("logs", "--rank", "1", cwd=tmp_path).check().out
    assert tt_run("logs", "-f", cwd=tmp_path).check().out.count("done") == 2
    assert "ended well" in tt_run("ls", cwd=tmp_path).check().out
    assert tt_run("stacks", cwd=tmp_path).code == 1
    assert "[0]" in tt_run("logs", "--rank", "0", cwd=tmp_path).check().out
    wrong = tt_run("logs", "--rank", "7", cwd=tmp_path)
    assert wrong.code == 2
    assert "it has ranks 0 to 1" in wrong.err
    assert tt_run("clean", "--dry-run", cwd=tmp_path).check().out.startswith("1 run would be removed")
    assert tt_run("clean", "--keep", "0", cwd=tmp_path).check().out.startswith("1 run removed")
    told = "no runs here, in ./tt-run-logs; --log-dir DIR looks in another folder\n"
    assert tt_run("ls", cwd=tmp_path).check().out == told
    assert tt_run("ls", "--log-dir", "x", cwd=tmp_path).check().out == "no runs here: there is no folder x\n"
    nothing = tt_run("status", cwd=tmp_path)
    assert nothing.code == 2
    assert "there are no runs in" in nothing.err


COMPUTING = """
import pathlib, time
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
while not pathlib.Path("go").exists():
    time.sleep(0.02)
"""


@pytest.mark.wide
def test_a_rank_that_computes_is_told_with_its_last_call(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(COMPUTING)
    words = ["-m", "tt_run", "--emulate", "--system", "n300", "--split", "1x2", sys.executable, "prog.py"]
    line = ["timeout", "-k", "5", "100", sys.executable, *words]
    run = subprocess.Popen(line, cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL)
    try:
        until(
            lambda: ", after open_mesh_device at prog.py:4" in tt_run("status", cwd=tmp_path).out,
            what="the rank's note of its last call",
        )
        _, rank = json.loads(tt_run("status", "--json", cwd=tmp_path).check().out)
        assert rank["last_call"].startswith("open_mesh_device(shape [1, 2]") and rank["waits"] is None
    finally:
        (tmp_path / "go").touch()
        assert run.wait(timeout=60) == 0


@pytest.mark.wide
def test_a_run_that_goes_on_is_found_wherever_its_folder_is(tmp_path: Path) -> None:
    """The newest folder in `tt-run-logs` is of a run that ended long ago."""
    (tmp_path / "prog.py").write_text(PROGRAM)
    work, logs = tmp_path / "work", tmp_path / "logs" / "mine"
    work.mkdir()
    (tmp_path / "unrelated").mkdir()
    assert "there are no runs in" in tt_run("status", cwd=work).err
    words = ("--rank-binding", BINDINGS)
    line = [sys.executable, "-m", "tt_run", *words, "--log-dir", str(logs), sys.executable, "../prog.py"]
    with (tmp_path / "launch.txt").open("w") as said:
        run = subprocess.Popen(
            ["timeout", "-k", "5", "100", *line], cwd=work, env=environment(), stdout=said, stderr=said
        )
    try:
        until(lambda: "here" in _read(logs / "rank-0001.out"), what="rank 1's first line")
        alone = tt_run("logs", "--rank", "1", cwd=work).check()
        assert "[1] rank 1 is here" in alone.out and f"has its folder in {logs}" in alone.err
        tt_run(*words, "true", cwd=work).check()
        status = tt_run("status", cwd=work).check()
        assert (
            status.out.startswith("mine: 2 of 2 ranks running") and f"has its folder in {logs}" in status.err
        )
        assert "in sleeping" in tt_run("stacks", cwd=work).check().out
        assert tt_run("status", "mi", cwd=work).check().out.startswith("mine: ")
        newest, other = tt_run("ls", cwd=work).check().out.splitlines()
        assert "ended well" in newest and other.startswith(f"{logs} ") and "running" in other
        assert "ended well" in tt_run("status", "--log-dir", "tt-run-logs", cwd=work).check().out
        assert "there are no runs in" in tt_run("status", cwd=tmp_path / "unrelated").err
        assert tt_run("clean", cwd=work).check().out.startswith("1 run removed")
    finally:
        (work / "go").touch()
        run.wait(timeout=60)
    assert "there are no runs in" in tt_run("status", cwd=work).err


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""
