"""Launches where the machine allows little: few open files, small ones, little memory or processor time, no room for records."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.launch import ROOT, Ran, environment, tt_run
from tests.sweep import sweep
from tt_run.contract import Exit
from tt_run.launch.open_files import descriptors_needed

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
    assert descriptors_needed(RANKS) > FEW
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEW, own[1]))
    ran = tt_run(*LAUNCH, *TELLS_ITS_LIMIT).check()
    assert [line.split()[-1] for line in ran.out.splitlines()] == [str(FEW)] * RANKS


def limited(limit: str, *words: str, cwd: Path = ROOT) -> Ran:
    """`tt-run WORDS…` in a shell with a limit."""
    line = ["sh", "-c", f'ulimit {limit}; exec timeout -k 5 60 tt-run "$@"', "sh", *words]
    ran = subprocess.run(line, cwd=cwd, env=environment(), capture_output=True, text=True, check=False)
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def test_a_hard_limit_is_told_and_no_rank_blamed() -> None:
    ran = limited(f"-n {FEW}", *LAUNCH, *TELLS_ITS_LIMIT)
    assert ran.code == Exit.NO_LAUNCHER
    assert f"could not start all of {RANKS} ranks" in ran.err
    assert f"no more open files (ulimit -Hn), of which there may be {FEW}" in ran.err
    assert "help: fewer ranks on this machine, or more open files: ulimit -n" in ran.err
    assert "SIGTERM" not in ran.err and "ended because of it" not in ran.err


TWO = ("--emulate", "--system", "n300", "--split", "1x2")
TURNS = ("python", "-c", "while True: pass")
WRITES = ("dd", "if=/dev/zero", "of=written", "bs=1M", "count=4")
MEETS = ("python", "-c", "import ttnn; ttnn.open_mesh_device(ttnn.MeshShape(1, 2))")
NEEDS_MEMORY = ("python", "-c", "held = bytearray(1 << 30)")


@pytest.mark.parametrize(
    ("limit", "words", "code", "says"),
    sweep(
        [
            ("-S -t 1", TURNS, 152, "was killed by SIGXCPU: it had used the processor time that it may have"),
            (
                "-t 1",
                TURNS,
                137,
                "was killed by SIGKILL: it had used the 1 s of processor time that it may have",
            ),
            (
                "-t 2",
                ("--warm", "json", *TURNS),
                137,
                "was killed by SIGKILL: it had used the 2 s of processor time that it may have",
            ),
            ("-f 2048", WRITES, 153, "was killed by SIGXFSZ: it wrote more into a file than that may hold"),
            ("-f 64", MEETS, Exit.NO_LAUNCHER, "larger than files may be (ulimit -f), which is 32 KiB"),
            ("-f 8", MEETS, Exit.FAILED, "which ulimit -f shows: ulimit -f unlimited"),
            ("-v 900000", NEEDS_MEMORY, 1, "a program may have 900000 KiB of memory here (ulimit -v)"),
        ],
        quick=["-v 900000"],
    ),
)
def test_a_limit_that_a_rank_comes_to_is_named(
    tmp_path: Path, limit: str, words: tuple[str, ...], code: int, says: str
) -> None:
    ran = limited(limit, *TWO, *words, cwd=tmp_path)
    assert ran.code == code, ran.err
    assert says in ran.err


def test_a_rank_that_may_not_write_its_log_says_so(tmp_path: Path) -> None:
    """As where the run folder has no room for one more file."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "rank-0001.out").symlink_to("nowhere/out")
    ran = tt_run(*TWO, "--log-dir", "run", *MEETS, cwd=tmp_path)
    assert ran.code == Exit.NO_LAUNCHER
    assert "did not start: " in ran.err and "rank-0001.out cannot be written on" in ran.err


@pytest.mark.wide
def test_a_rank_without_room_for_its_stacks_runs(tmp_path: Path) -> None:
    (tmp_path / "run" / "rank-0001.stacks").mkdir(parents=True)
    assert not tt_run(*TWO, "--log-dir", "run", *MEETS, cwd=tmp_path).check().out


@pytest.mark.parametrize(
    ("ends", "code", "says"),
    sweep(
        [("exit 3", 3, "exited with 3"), ("kill -9 $$", 137, "was killed by SIGKILL\n")], quick=["kill -9 $$"]
    ),
)
def test_an_end_that_no_disk_takes_is_told_all_the_same(
    tmp_path: Path, ends: str, code: int, says: str
) -> None:
    """As where the disk fails, or its last block is taken, before the rank ends."""
    lost = "rm run/rank-0001.status && mkdir run/rank-0001.status"
    program = f"[ $OMPI_COMM_WORLD_RANK = 0 ] && exec sleep 60; {lost}; {ends}"
    ran = tt_run(*TWO, "--log-dir", "run", "sh", "-c", program, cwd=tmp_path)
    assert ran.code == code, ran.err
    assert "tt-run: rank 1" in ran.err and says in ran.err and "wrapper" not in ran.err
    assert "ended because of it: rank 0" in ran.err
