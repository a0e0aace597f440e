"""Launches that succeed: what every rank sees, through real mpirun."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.jobs import Jobs
from tests.e2e.launch import environment, tt_run
from tests.tt_run.sandbox import MESH_2X4_TWO_HOSTS, TWO_RANKS

SYSTEM = ("--emulate", "--system", "t3000", "--split", "1x2")
PRINT_ENVIRONMENT = ("sh", "-c", "sleep 0.1; cat /proc/self/environ")


@pytest.fixture
def bound(tmp_path: Path) -> Path:
    """A folder with two rank bindings, the second with values that a shell would break."""
    hostile = '      ODD: "it\'s \\"a\\"\\n$HOME `x` * ="\n'
    (tmp_path / "rb.yaml").write_text(TWO_RANKS.replace('"2,3"\n', '"2,3"\n' + hostile))
    (tmp_path / "mesh.textproto").write_text(MESH_2X4_TWO_HOSTS)
    return tmp_path


def seen(folder: Path, rank: int) -> dict[str, str]:
    entries = (folder / "run" / f"rank-{rank:04d}.out").read_text().split("\0")
    return {name: value for name, _, value in (entry.partition("=") for entry in entries if entry)}


LEAKS = {
    "TT_VISIBLE_DEVICES": "31",
    "TT_MESH_HOST_RANK": "7",
    "TT_METAL_MOCK_CLUSTER_DESC_PATH": "/leak",
    "TT_MESH_ID": "9",
}


@pytest.mark.parametrize("form", [(), ("--mpmd",), ("--bare",)], ids=["one context", "mpmd", "bare"])
def test_each_rank_sees_exactly_its_plan(bound: Path, form: tuple[str, ...]) -> None:
    """The reference lets blocked variables of the parent through to local ranks."""
    words = ("--rank-binding", "rb.yaml", "--log-dir", "run", *form)
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    ran = tt_run(*words, *PRINT_ENVIRONMENT, cwd=bound, env={**LEAKS, **root, "FOO": "bar"})
    assert ran.check().code == 0
    zero, one = seen(bound, 0), seen(bound, 1)
    assert (zero["TT_VISIBLE_DEVICES"], one["TT_VISIBLE_DEVICES"]) == ("0,1", "2,3")
    assert (zero["TT_MESH_HOST_RANK"], one["TT_MESH_HOST_RANK"]) == ("0", "1")
    assert (zero["TT_RUN_RANK"], one["TT_RUN_RANK"]) == ("0", "1")
    assert zero["TT_MESH_ID"] == one["TT_MESH_ID"] == "0"
    assert "TT_METAL_MOCK_CLUSTER_DESC_PATH" not in zero
    assert "ODD" not in zero and one["ODD"].startswith('it\'s "a"\n')
    assert zero["FOO"] == "bar"
    assert zero["TT_METAL_CACHE"] != one["TT_METAL_CACHE"]


OF_MPI = ("OMPI_", "PMIX_", "PRTE_", "OPAL_")
OF_THE_SHELL = {"PWD", "OLDPWD", "SHLVL", "_"}


@pytest.mark.parametrize("rule", [(), ("--clean-env",), ("--inherit-env",)])
def test_what_print_env_says_is_what_the_rank_sees(bound: Path, rule: tuple[str, ...]) -> None:
    """Every variable, and no other one."""
    options = ("--rank-binding", "rb.yaml", "--log-dir", "run", *rule)
    shell = {"DATASETS": "/data"} | ({"PS1": "(base) "} if rule == ("--clean-env",) else {})
    said = json.loads(
        tt_run(*options, "--print-env", "1", "--format", "json", "true", cwd=bound, env=shell).check().out
    )
    tt_run(*options, *PRINT_ENVIRONMENT, cwd=bound, env=shell).check()
    environ = {
        name: value
        for name, value in seen(bound, 1).items()
        if not name.startswith(OF_MPI) and name not in OF_THE_SHELL
    }
    assert environ == {name: entry["value"] for name, entry in said.items()}
    assert ("DATASETS" in environ) is (rule != ("--clean-env",))


def test_nobody_reads_standard_input_unless_asked(jobs: Jobs) -> None:
    assert jobs.run("cat").out == ""


@pytest.mark.parametrize(("option", "shown"), [((), ""), (("--stdin",), "[0] hello\n")])
def test_rank_0_reads_standard_input_when_asked(tmp_path: Path, option: tuple[str, ...], shown: str) -> None:
    ran = subprocess.run(
        ["timeout", "-k", "5", "60", "tt-run", *SYSTEM, *option, "--log-dir", "run", "cat"],
        cwd=tmp_path,
        env=environment(),
        input="hello\n",
        capture_output=True,
        text=True,
    )
    assert (ran.returncode, ran.stdout) == (0, shown)


def test_a_colon_is_an_argument_like_any_other(jobs: Jobs) -> None:
    """In the reference it splits the command line."""
    assert jobs.run("echo", "a", ":", "b", options=("--no-prefix",)).out == "a : b\na : b\n"


def test_options_of_the_program_reach_the_program(jobs: Jobs) -> None:
    ran = jobs.run("echo", "-svv", "--dry-run", "--help", "-M", "x", options=("--tee", "0", "--no-prefix"))
    assert ran.out == "-svv --dry-run --help -M x\n"


@pytest.mark.wide
def test_more_ranks_than_cores(jobs: Jobs) -> None:
    ran = jobs.run("sh", "-c", "sleep 0.2; echo $TT_RUN_RANK", ranks=4)
    assert sorted(ran.check().out.splitlines()) == [f"[{rank}] {rank}" for rank in range(4)]


def test_the_run_folder_holds_plan_logs_and_records(jobs: Jobs) -> None:
    jobs.run("sh", "-c", "echo out; echo err >&2").check()
    folder = jobs.started[0].folder
    plan = json.loads((folder.path / "plan.json").read_text())
    assert plan["verdict"]["exit_code"] == 0
    assert [outcome["exit"] for outcome in plan["outcomes"]] == [0, 0]
    assert (folder.path / "plan.json").stat().st_mode & 0o077 == 0
    assert folder.out(1).read_text() == "out\n" and folder.err(1).read_text() == "err\n"


def test_a_report_that_cannot_be_written_does_not_change_the_verdict(jobs: Jobs) -> None:
    place = jobs.root / "folder"
    ran = jobs.run("touch", str(place), options=("--report", str(place / "report.json")))
    assert ran.code == 0
    assert "TTR036" in ran.err


def test_a_failing_line_is_annotated_when_asked(jobs: Jobs) -> None:
    ran = jobs.run(
        *jobs.python("if rank == 1:\n    raise ValueError('no good')\n"), options=("--annotations", "github")
    )
    assert f"::error file={jobs.root}/program.py,line=4,title=tt-run::" in ran.out


def test_a_program_chooses_its_system_when_nothing_names_one(jobs: Jobs) -> None:
    script = "import ttml; c = ttml.autograd.AutoContext.get_instance(); c.open_device([1, 8]); print(c.get_device().shape)"
    ran = tt_run("--emulate", "--log-dir", str(jobs.root / "run"), "python", "-c", script).check()
    assert "[0] MeshShape([1, 8])" in ran.out


def test_what_killed_jobs_left_behind_does_not_stop_a_launch(tmp_path: Path) -> None:
    """Open MPI 5 names a job's folder after its mpirun's process number, and fails when that folder is there already."""
    last = int(Path("/proc/loadavg").read_text().split()[-1])
    for number in range(last, last + 1000):
        left = tmp_path / f"ompi.{number}"
        left.mkdir()
        (left / f"pmix.{os.uname().nodename}.tool").touch()
    tt_run(*SYSTEM, "sh", "-c", "exit 0", cwd=tmp_path, env={"TMPDIR": str(tmp_path)}).check()
    assert not list(tmp_path.glob("tt-run-[0-9]*"))


def test_mpiruns_own_files_are_in_memory_and_gone_with_the_run(tmp_path: Path) -> None:
    script = 'test -d "$PMIX_SERVER_TMPDIR" && echo "$PMIX_SERVER_TMPDIR"'
    ran = tt_run(*SYSTEM, "sh", "-c", script, cwd=tmp_path, env={"TMPDIR": "", "TEMP": "", "TMP": ""}).check()
    place = Path(ran.out.split()[1])
    assert ran.out.count(str(place)) == 2 and place.parts[:3] == ("/", "dev", "shm")
    assert not Path(*place.parts[:4]).exists()


def test_a_folder_for_jobs_that_the_user_names_is_used(tmp_path: Path) -> None:
    env = {"PRTE_MCA_prte_tmpdir_base": str(tmp_path / "mine")}
    ran = tt_run(*SYSTEM, "sh", "-c", "echo $PMIX_SERVER_TMPDIR", cwd=tmp_path, env=env).check()
    assert ran.out.count(f"{tmp_path}/mine/") == 2


SPAWNING = """
import sys
import ttnn
from mpi4py import MPI
world = MPI.COMM_WORLD
child = "from mpi4py import MPI; p = MPI.Comm.Get_parent(); p.send(MPI.COMM_WORLD.size * 7, 0); p.Disconnect()"
pair = MPI.COMM_SELF.Spawn(sys.executable, ["-c", child], 1)
print("heard", pair.recv(source=0))
pair.Disconnect()
print("ranks", world.allreduce(1))
"""


def test_a_program_meets_what_it_spawns(tmp_path: Path) -> None:
    """As under plain mpirun, where there are slots for it."""
    (tmp_path / "program.py").write_text(SPAWNING)
    words = ("--emulate", "--system", "t3000", "--split", "1x2", "--mpi-args=--oversubscribe")
    ran = tt_run(*words, "python", "program.py", cwd=tmp_path).check()
    assert ran.field("heard") == ["7", "7"]
    assert ran.field("ranks") == ["2", "2"]


LAUNCHING = """\
import os, subprocess, sys
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
ttnn.distributed_context_barrier()
if "inside" in os.environ:
    print("inside", int(ttnn.distributed_context_get_rank()))
elif int(ttnn.distributed_context_get_rank()) == 0:
    words = ("tt-run", "--emulate", "--system", "t3000", "--split", "1x2", "python", sys.argv[0])
    launch = subprocess.run(words, env={**os.environ, "inside": "1"}, capture_output=True, text=True, timeout=60)
    print("launched", sorted(word for word in launch.stdout.split() if word.isdigit()), launch.stderr)
ttnn.distributed_context_barrier()
"""


@pytest.mark.wide
def test_a_rank_launches_a_job_of_its_own(tmp_path: Path) -> None:
    """Nothing of the job around it reaches the one inside."""
    (tmp_path / "program.py").write_text(LAUNCHING)
    ran = tt_run(*SYSTEM, "python", "program.py", cwd=tmp_path).check()
    assert "launched ['0', '1']" in ran.out, ran.out


@pytest.mark.wide
def test_names_that_are_no_text(tmp_path: Path) -> None:
    """A folder, a program and its words in another encoding than UTF-8, as old file systems hold them."""
    folder = tmp_path / os.fsdecode(b"n\xff")
    folder.mkdir()
    program = os.fsdecode(b"p\xe9.py")
    (folder / program).write_text(
        "import os, sys\nimport ttnn\nmesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))\n"
        "print(os.fsencode(sys.argv[1]))\nttnn.close_mesh_device(mesh)\n"
    )
    words = ("--emulate", "--system", "t3000", "--split", "1x2")
    ran = tt_run(*words, "--record", "rec", "python", program, os.fsdecode(b"\xfe"), cwd=folder).check()
    assert "[1] b'\\xfe'" in ran.out
    assert "all as recorded" in tt_run("replay", "rec", "--rank", "1", cwd=folder).check().err
    assert "ended well" in tt_run("ls", cwd=folder).check().out
    chaos = ("chaos", "--runs", "1", "--faults", "kill", "--", *words, "python", program, "x")
    assert "1 of 1 named correctly" in tt_run(*chaos, cwd=folder).check().out
