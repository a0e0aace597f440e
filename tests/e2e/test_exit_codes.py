"""Every exit code of the table in `tt_run.contract`, from a run that ends with it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.jobs import Jobs
from tests.e2e.launch import environment, tt_run
from tests.sweep import sweep
from tt_run.contract import EXIT_MEANING, Exit
from tt_run.supervise.looking.runs import find_runs

README = Path(__file__).resolve().parents[2] / "README.md"
SYSTEM = ("--emulate", "--system", "t3000", "--split", "1x2")
# Interrupted, terminated and hung up are in test_signals, a lost host among the tests with several hosts.


def test_every_code_has_a_meaning() -> None:
    lacking = [code.name for code in Exit if code not in EXIT_MEANING]
    assert not lacking, f"say in EXIT_MEANING (tt_run/contract.py) what these mean: {lacking}"
    assert set(EXIT_MEANING) == set(Exit)


@pytest.mark.parametrize("code", Exit)
def test_every_code_is_met_by_a_test(code: Exit) -> None:
    folder = README.parent / "tests"
    paths = [
        *(folder / "e2e").glob("*.py"),
        *(folder / "multihost").glob("*.py"),
        *(folder / "tt_run").rglob("*.py"),
    ]
    assert any(f"Exit.{code.name}" in path.read_text(encoding="utf-8") for path in paths), (
        f"add a run here that ends with Exit.{code.name}"
    )


def test_the_readme_lists_every_code() -> None:
    rows = re.findall(r"^\| ([\d, ]+) \|", README.read_text(encoding="utf-8"), re.MULTILINE)
    listed = {int(code) for row in rows for code in row.split(",")}
    assert listed == set(Exit), (
        f"write these into the table of README.md, or out of it: {sorted(listed ^ set(Exit))}"
    )


def test_success(tmp_path: Path) -> None:
    ran = tt_run(*SYSTEM, "--log-dir", tmp_path / "run", "sleep", "0.1")
    assert ran.code == Exit.OK
    assert ran.out == ""


@pytest.mark.parametrize("code", sweep([1, 2, 3, 65, 70, 124, 130, 255], quick=[65]))
def test_the_programs_own_code_is_passed_on(tmp_path: Path, code: int) -> None:
    assert tt_run(*SYSTEM, "--log-dir", tmp_path / "run", "sh", "-c", f"exit {code}").code == code


def test_usage(tmp_path: Path) -> None:
    ran = tt_run("--rank-bindng", "x.yaml", "true", cwd=tmp_path)
    assert ran.code == Exit.USAGE
    assert "--rank-binding" in ran.err
    assert "Nothing was launched." in ran.err


def test_refused_by_the_check(tmp_path: Path) -> None:
    (tmp_path / "mesh.textproto").write_text(
        'mesh_descriptors { name: "M0" arch: WORMHOLE_B0 device_topology { dims: [2, 4] } host_topology { dims: [1, 2] } '
        'channels { count: 2 } }\ntop_level_instance { mesh { mesh_descriptor: "M0" mesh_id: 0 } }\n'
    )
    (tmp_path / "rb.yaml").write_text(
        "rank_bindings:\n  - {rank: 0, mesh_id: 7, mesh_host_rank: 0}\nmesh_graph_desc_path: mesh.textproto\n"
    )
    ran = tt_run("--rank-binding", "rb.yaml", "true", cwd=tmp_path)
    assert ran.code == Exit.REFUSED
    assert not (tmp_path / "tt-run-logs").exists()


def test_unreadable_input(tmp_path: Path) -> None:
    assert tt_run("--rank-binding", "missing.yaml", "true", cwd=tmp_path).code == Exit.UNREADABLE


def test_no_launcher(tmp_path: Path) -> None:
    ran = tt_run(*SYSTEM, "true", cwd=tmp_path, env={"MPIRUN": "/no/such/mpirun"})
    assert ran.code == Exit.NO_LAUNCHER
    assert "MPIRUN" in ran.err


def test_a_launcher_that_starts_no_rank(tmp_path: Path) -> None:
    """What mpirun says then is in the report."""
    ran = tt_run(*SYSTEM, "--mpi-args", "--map-by no-such-policy", "true", cwd=tmp_path)
    assert ran.code == Exit.NO_LAUNCHER
    assert "mpirun said:" in ran.err
    assert "no-such-policy" in ran.err


def test_timeout(jobs: Jobs) -> None:
    ran = jobs.run("sleep", "600", options=("--timeout", "1"))
    assert ran.code == Exit.TIMEOUT


def fake_mpirun(folder: Path, does: str, version: str = "5.0.11") -> dict[str, str]:
    """The variable that makes a script the launcher; `$@` are the words of the wrapper in it."""
    launcher = folder / "mpirun"
    launcher.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && {{ echo "mpirun (Open MPI) {version}"; exit; }}\n'
        f'while [ "$1" != -np ]; do shift; done; shift 2\n{does}\n'
    )
    launcher.chmod(0o755)
    return {"MPIRUN": str(launcher)}


def test_a_launcher_that_crashes_over_several_contexts(tmp_path: Path) -> None:
    """As the Open MPI 5.0 of Debian 13 and Ubuntu 26.04 does."""
    launcher = fake_mpirun(tmp_path, "kill -SEGV $$")
    ran = tt_run(*SYSTEM, "--mpmd", "sh", "-c", "exit 0", cwd=tmp_path, env=launcher)
    assert ran.code == Exit.NO_LAUNCHER, ran.err
    assert "mpirun started no rank (it was killed by SIGSEGV)" in ran.err and "leave --mpmd out" in ran.err


def test_start_timeout(jobs: Jobs, tmp_path: Path) -> None:
    launcher = fake_mpirun(tmp_path, "exec sleep 600")
    job = jobs.start("true", options=("--start-timeout", "0.5"), env=launcher)
    ran = job.end()
    assert ran.code == Exit.START_TIMEOUT
    assert "2 of 2 ranks did not start" in ran.err


def test_a_launcher_that_lies_is_not_believed(jobs: Jobs, tmp_path: Path) -> None:
    """mpirun has been seen to return 0 although ranks were gone."""
    launcher = fake_mpirun(tmp_path, "exit 0")
    ran = jobs.start("true", env=launcher).end()
    assert ran.code == Exit.NO_LAUNCHER


def test_a_rank_without_a_record_is_no_success(jobs: Jobs, tmp_path: Path) -> None:
    """One of two ranks runs and succeeds, mpirun returns 0: the job has failed all the same."""
    launcher = fake_mpirun(tmp_path, 'OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 "$@"; exit 0')
    ran = jobs.start("true", env=launcher).end()
    assert ran.code == Exit.FAILED
    assert "1 rank left no record" in ran.err


def test_a_host_that_does_not_see_the_run_folder_is_told_apart(jobs: Jobs, tmp_path: Path) -> None:
    found = "for word; do case $word in */launch/rank.sh) launch=${word%/rank.sh} ;; esac; done"
    launcher = fake_mpirun(tmp_path, f'{found}; mv "$launch" "$launch-elsewhere"; "$@"; exit 127')
    ran = jobs.start("true", env=launcher).end()
    assert ran.code == Exit.NO_LAUNCHER
    assert f"every host must see {jobs.started[0].folder.path}" in ran.err


def test_singletons_are_not_taken_for_a_job(jobs: Jobs, tmp_path: Path) -> None:
    """A launcher of another MPI starts processes that do not know each other: each would be rank 0 of 1."""
    launcher = fake_mpirun(tmp_path, '"$@"; "$@"; exit 0')
    ran = jobs.start("touch", str(tmp_path / "ran"), env=launcher).end()
    assert ran.code == Exit.NO_LAUNCHER
    assert "expected 2" in ran.err
    assert not (tmp_path / "ran").exists()


def test_a_bug_of_ours_is_one_line_and_a_file(tmp_path: Path) -> None:
    code = (
        "import sys, tt_run.cli.launch as l\n"
        "def broken(*a): raise ZeroDivisionError('by zero')\n"
        "l.build_plan = broken\n"
        "from tt_run.cli.main import run\n"
        "sys.exit(run(['--system', 't3000', 'true']))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=environment({"TMPDIR": str(tmp_path)}),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == Exit.INTERNAL
    assert "Traceback" not in ran.stderr
    [record] = tmp_path.glob("tt-run-bug-*.txt")
    assert str(record) in ran.stderr
    assert "ZeroDivisionError: by zero" in record.read_text()


def test_restarts_until_it_succeeds(jobs: Jobs) -> None:
    script = "mkdir seen 2>/dev/null; [ $(ls seen | wc -l) -ge 4 ] || { touch seen/$OMPI_COMM_WORLD_RANK-$$; exit 3; }"
    ran = jobs.run("sh", "-c", script, options=("--max-restarts", "5"))
    assert ran.code == Exit.OK
    assert "restart 1 of 5" in ran.err
    runs = {run.name: run.sentence for run in find_runs(jobs.root)}
    last = max(runs, key=lambda name: int(name.partition(".")[2] or 1))
    assert runs.pop(last) == "ended well" and runs, runs
    assert all("exited with 3" in sentence for sentence in runs.values()), runs


def test_restarts_are_limited(jobs: Jobs) -> None:
    ran = jobs.run("sh", "-c", "exit 3", options=("--max-restarts", "1"))
    assert ran.code == 3
    assert ran.err.count("restart ") == 1


def test_a_launcher_of_another_mpi_is_refused_for_the_programs_it_would_break(tmp_path: Path) -> None:
    launcher = fake_mpirun(tmp_path, "exit 1", version="4.1.8")
    broken = tt_run(*SYSTEM, "--dry-run", "python3", "-c", "pass", cwd=tmp_path, env=launcher)
    assert broken.code == Exit.REFUSED, broken.err
    assert "TTR402" in broken.err
    tt_run(*SYSTEM, "--dry-run", "sh", "-c", "exit 0", cwd=tmp_path, env=launcher).check()
    elsewhere = tmp_path / "python3"
    elsewhere.symlink_to("/bin/sh")
    tt_run(*SYSTEM, "--dry-run", str(elsewhere), "-c", "exit 0", cwd=tmp_path, env=launcher).check()
