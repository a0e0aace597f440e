"""The command as a whole: what goes to which stream, and what a user's mistake looks like."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from mgd.resources import configs_root
from tests.tt_run.sandbox import MESH_2X4_TWO_HOSTS, TWO_RANKS
from tt_run.cli.main import run
from tt_run.contract import Exit

DEADLINE = 60
UNTRACED = pytest.mark.skipif("coverage" in sys.modules, reason="measuring coverage imports much by itself")


@pytest.fixture
def launch_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with two rank bindings, and an environment without a developer's TT_ variables."""
    (tmp_path / "rb.yaml").write_text(TWO_RANKS)
    (tmp_path / "mesh.textproto").write_text(MESH_2X4_TWO_HOSTS)
    monkeypatch.chdir(tmp_path)
    for name in (
        "TT_METAL_HOME",
        "TT_VISIBLE_DEVICES",
        "TT_MESH_ID",
        "MPIRUN",
        "SLURM_JOB_ID",
        "SLURM_JOBID",
    ):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


BINDING = ("--rank-binding", "rb.yaml")


def test_help_is_short_lines_and_names_every_group(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert run(["--help"]) == Exit.OK
    out, err = capsys.readouterr()
    assert err == ""
    assert len(out.splitlines()) <= 150, "a screen or three; tt-run alone shows one"
    assert max(map(len, out.splitlines())) <= 110
    assert not any(line.endswith("-") for line in out.splitlines()), "names of options are not torn apart"
    for title in ("What to launch:", "Emulation:", "Looking without running:", "Examples:"):
        assert title in out


def test_the_examples_of_the_help_are_understood(
    launch_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tt_run.cli.help import EXAMPLES
    from tt_run.cli.reading.parse import parse

    for example in EXAMPLES:
        assert parse(shlex.split(example, comments=True)[1:]).program


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == Exit.OK
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert re.match(r"tt-run \d+\.\d+", first) and " numpy " in second


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--rankfile-syntax mca true", "--rankfile-syntax: mpirun is given no rankfile"),
        ("--warm json true", "--warm: its ranks are not one Python script or module"),
        ("--tcp-interface lo --bare true", "--tcp-interface: --bare adds no network setting"),
        ("--tcp-interface lo --mpi-args '--mca btl_tcp_if_include lo' true", "--tcp-interface: --mpi-args names the networks itself"),
    ],
)  # fmt: skip
def test_options_without_effect_in_this_plan(
    launch_folder: Path, capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    assert run([*BINDING, "--check-only", *shlex.split(words)]) == Exit.OK
    assert f"warning[TTR024]: {message}" in capsys.readouterr().err
    assert run([*BINDING, "--check-only", "--check", "off", *shlex.split(words)]) == Exit.OK
    assert "TTR024" not in capsys.readouterr().err


def test_options_with_an_effect_in_this_plan(launch_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (launch_folder / "rf.txt").write_text("rank 0=localhost slot=0\nrank 1=localhost slot=1\n")
    (launch_folder / "train.py").write_text("")
    words = "--rankfile-syntax mca --mpi-args '--rankfile rf.txt' --warm json --tcp-interface lo --check-only"
    assert run([*BINDING, *shlex.split(words), sys.executable, "train.py"]) == Exit.OK
    assert "TTR024" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code"), [("--hang-timeout -3", "TTR034"), ("--emulate --ledger rb.yaml/x.json", "TTR036")]
)
def test_a_check_refuses_what_a_run_would(
    launch_folder: Path, capsys: pytest.CaptureFixture[str], words: str, code: str
) -> None:
    assert run([*BINDING, "--check-only", *words.split(), "true"]) == Exit.USAGE
    assert f"error[{code}]" in capsys.readouterr().err


def test_an_emitted_job_runs(launch_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What else was to be looked at is told to be left out, and is none of the job's words."""
    looks = ["--dry-run", "--print-env", "0", "--format", "json"]
    assert run([*BINDING, "--emit", "slurm", *looks, "true"]) == Exit.OK
    out, err = capsys.readouterr()
    assert out.splitlines()[-1].endswith(" --rank-binding rb.yaml true")
    assert [
        line.split(":")[1].strip() for line in err.splitlines() if line.startswith("warning[TTR024]")
    ] == [
        "--dry-run",
        "--format",
        "--print-env",
    ]


class TestDryRun:
    def test_what_tt_run_itself_does_is_told_to_be_missing(
        self, launch_folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = ["--timeout", "5", "--tee", "none", "--annotations", "github", "--dry-run", "true"]
        assert run([*BINDING, *words]) == Exit.OK
        told = [line for line in capsys.readouterr().err.splitlines() if "not in these lines" in line]
        assert told == ["tt-run: not in these lines, for tt-run does it itself: --tee, --timeout"]
        assert run([*BINDING, "--dry-run", "true"]) == Exit.OK
        assert "not in these lines" not in capsys.readouterr().err

    def test_nothing_but_the_line_is_on_stdout(
        self, launch_folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run([*BINDING, "--dry-run", "python", "train.py", "--dry-run"]) == Exit.OK
        out, err = capsys.readouterr()
        [line] = out.splitlines()
        assert "mpirun" in line and line.endswith("python train.py --dry-run")
        assert err.startswith("tt-run: added ")

    def test_nothing_is_written(self, launch_folder: Path) -> None:
        before = sorted(launch_folder.rglob("*"))
        assert run([*BINDING, "--dry-run", "true"]) == Exit.OK
        assert sorted(launch_folder.rglob("*")) == before

    def test_the_line_gives_each_rank_its_environment(
        self, launch_folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run([*BINDING, "--dry-run", "true"])
        words = shlex.split(capsys.readouterr().out)
        ranks = " ".join(words).split(" : ")
        assert [re.findall(r"-x TT_VISIBLE_DEVICES=(\S+)", rank) for rank in ranks] == [["0,1"], ["2,3"]]

    def test_the_pasted_line_runs(self, launch_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        run([*BINDING, "--dry-run", "sh", "-c", 'echo "I am $TT_RUN_RANK: $0"', "it's me"])
        line = capsys.readouterr().out
        ran = subprocess.run(
            ["timeout", "-k", "2", "30", "sh", "-c", line], capture_output=True, text=True, timeout=DEADLINE
        )
        assert sorted(ran.stdout.splitlines()) == [
            "[1,0]<stdout>: I am 0: it's me",
            "[1,1]<stdout>: I am 1: it's me",
        ]

    def test_json_is_one_object(self, launch_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run([*BINDING, "--dry-run", "--format", "json", "prog", "a b", "--skip-x"]) != Exit.OK
        capsys.readouterr()
        run([*BINDING, "--dry-run", "--format", "json", "--skip-executable-check", "prog", "a b"])
        plan = json.loads(capsys.readouterr().out)
        assert {"launcher", "command", "global_args", "ranks", "findings"} <= set(plan)
        assert [rank["argv"] for rank in plan["ranks"]] == [["prog", "a b"]] * 2
        assert plan["ranks"][1]["env"]["TT_VISIBLE_DEVICES"] == "2,3"
        assert "rb.yaml" in plan["ranks"][1]["env_origin"]["TT_VISIBLE_DEVICES"]
        assert plan["command"][0] == plan["launcher"]
        assert plan["command_without_wrapper"].count(":") == 1

    def test_a_table(self, launch_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run([*BINDING, "--dry-run", "--format", "table", "true"]) == Exit.OK
        assert "2,3" in capsys.readouterr().out

    def test_without_a_launcher_the_plan_can_still_be_seen(
        self, launch_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (launch_folder / "bin").mkdir()  # and none of the system's: an mpirun may be there
        (launch_folder / "bin" / "true").symlink_to("/bin/true")
        monkeypatch.setenv("PATH", str(launch_folder / "bin"))
        monkeypatch.setattr(sys, "executable", "/nowhere/python")
        assert run([*BINDING, "--dry-run", "true"]) == Exit.OK
        out, err = capsys.readouterr()
        assert "warning[TTR501]" in err
        assert " mpirun " in f" {out}"


def test_print_env_tells_where_each_variable_comes_from(
    launch_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*BINDING, "--print-env", "1", "true"]) == Exit.OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[lines.index("TT_VISIBLE_DEVICES=2,3") - 1].startswith("# env_overrides (rb.yaml:")
    assert "TT_RUN_WORLD_SIZE=2" in lines


def test_print_env_of_a_rank_that_is_not_there(
    launch_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*BINDING, "--print-env", "7", "true"]) == Exit.USAGE
    assert "ranks 0 to 1" in capsys.readouterr().err


def test_check_only_starts_nothing(launch_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*BINDING, "--check-only", "true"]) == Exit.OK
    assert "2 ranks, no errors" in capsys.readouterr().err
    assert not (launch_folder / "tt-run-logs").exists()


def test_errors_are_counted_and_nothing_goes_to_stdout(
    launch_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (launch_folder / "rb.yaml").write_text(TWO_RANKS.replace("mesh_id: 0", "mesh_id: 7"))
    assert run([*BINDING, "true"]) == Exit.REFUSED
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    assert err.count("error[TTR204]") == 2
    assert err.rstrip().endswith("Nothing was launched.")


@pytest.mark.parametrize(
    "option", [("--guard", "off"), ("--ledger", "x.json"), ("--timeline", "x.json"), ("--shapes-only",)]
)
def test_options_of_the_emulation_need_it(
    launch_folder: Path, capsys: pytest.CaptureFixture[str], option: tuple[str, ...]
) -> None:
    assert run([*BINDING, *option, "true"]) == Exit.USAGE
    assert "TTR022" in capsys.readouterr().err


def test_options_of_the_emulation_reach_the_ranks(
    launch_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "--emulate",
        "--guard",
        "off",
        "--ledger",
        "bytes.json",
        "--timeline",
        "/t.json",
        "--shapes-only=strict",
        "--memory=m.json",
        "--enforce-memory",
        "--check-replicas",
        "--print-env",
        "0",
        "true",
    ]
    assert run([*BINDING, *words]) == Exit.OK
    lines = capsys.readouterr().out.splitlines()
    assert "TT_RUN_GUARD=off" in lines
    assert f"TT_RUN_LEDGER={launch_folder}/bytes.json" in lines
    assert "TT_RUN_TIMELINE=/t.json" in lines
    assert "TT_RUN_SHAPES_ONLY=strict" in lines
    assert f"TT_RUN_MEMORY={launch_folder}/m.json" in lines
    assert "TT_RUN_ENFORCE_MEMORY=1" in lines
    assert "TT_RUN_CHECK_REPLICAS=1" in lines


class TestExplain:
    @pytest.mark.parametrize("code", ["TTR204", "ttr020", " TTR501 "])
    def test_a_known_code(self, code: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["--explain", code]) == Exit.OK
        assert capsys.readouterr().out.startswith(code.strip().upper() + ": ")

    def test_an_unknown_one_with_the_nearest(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["--explain", "TTR2040"]) == Exit.USAGE
        assert "TTR204" in capsys.readouterr().err


@UNTRACED
def test_the_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from tt_run.cli.main import run; run(['--help']); print(*sys.modules, file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=DEADLINE)
    loaded = set(ran.stderr.split())
    assert not loaded & {
        "click",
        "yaml",
        "google.protobuf",
        "rich",
        "dataclasses",
        "subprocess",
        "numpy",
        "mpi4py",
        "typing",
    }


@UNTRACED
def test_a_launch_imports_no_numpy_and_no_mpi(launch_folder: Path) -> None:
    code = (
        "import sys; from tt_run.cli.main import run\n"
        "run(['--rank-binding', 'rb.yaml', '--log-dir', 'logs', 'sleep', '0.1']); print(*sys.modules, file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=DEADLINE)
    assert ran.returncode == 0
    assert not set(ran.stderr.splitlines()[-1].split()) & {
        "click",
        "rich",
        "numpy",
        "mpi4py",
        "socket",
        "google.protobuf",
        "typing",
    }


def in_shell(command: str, *words: str) -> subprocess.CompletedProcess[str]:
    """`tt-run WORDS…` as "$@" of a shell command."""
    line = ["sh", "-c", command, "sh", sys.executable, "-m", "tt_run.cli.main", *words]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
    return subprocess.run(line, env=environ, capture_output=True, text=True, timeout=DEADLINE)


@pytest.mark.parametrize("words", [("--version",), ("--help",)])
def test_a_full_disk_behind_the_output_is_told(words: tuple[str, ...]) -> None:
    ran = in_shell('"$@" > /dev/full', *words)
    assert (ran.returncode, ran.stderr) == (
        Exit.FAILED,
        "error[TTR038]: output cannot be written: No space left on device\n",
    )


def test_a_full_disk_behind_the_console_does_not_end_the_run(launch_folder: Path) -> None:
    script = "echo lost; echo done > ended-$TT_RUN_RANK; exit 3"
    ran = in_shell('"$@" > /dev/full', "--rank-binding", "rb.yaml", "--log-dir", "logs", "sh", "-c", script)
    assert (ran.returncode, sorted(path.name for path in launch_folder.glob("ended-*"))) == (
        3,
        ["ended-0", "ended-1"],
    )


def test_a_limit_on_the_size_of_files_is_told(launch_folder: Path) -> None:
    """What is written to a file object names no file."""
    ran = in_shell('ulimit -f 1; "$@"', "--rank-binding", "rb.yaml", "--log-dir", "logs", "true")
    assert ran.returncode == Exit.FAILED
    assert ran.stderr.startswith(f"error[TTR039]: cannot write {launch_folder}/logs: File too large\n")


def test_a_record_that_cannot_be_written_changes_no_verdict(launch_folder: Path) -> None:
    """As on a disk that the ranks have filled."""
    words = (
        "--rank-binding",
        "rb.yaml",
        "--log-dir",
        "logs",
        "sh",
        "-c",
        "rm -f logs/plan.json; mkdir -p logs/plan.json",
    )
    ran = in_shell('"$@"', *words)
    assert ran.returncode == Exit.OK
    assert "warning[TTR036]: " in ran.stderr and "plan.json cannot be written: Is a directory" in ran.stderr


def test_streams_that_the_caller_has_closed(launch_folder: Path) -> None:
    """What tt-run opens must not take their numbers: ranks would write into it."""
    words = ("--rank-binding", "rb.yaml", "--log-dir", "logs", "sh", "-c", "echo $TT_RUN_RANK; cat")
    assert in_shell('"$@" <&- >&- 2>&-', *words).returncode == Exit.OK
    assert (launch_folder / "logs/rank-0001.out").read_text() == "1\n"


def test_a_launch_directory_that_is_gone(tmp_path: Path) -> None:
    leave = f'mkdir {tmp_path}/gone && cd {tmp_path}/gone && rmdir ../gone && "$@"'
    ran = in_shell(leave, "--rank-binding", "rb.yaml", "true")
    assert (ran.returncode, "error[TTR017]" in ran.stderr) == (Exit.UNREADABLE, True), ran.stderr


@pytest.mark.parametrize("words", [["ls"], ["init"], ["examples", "sharding"], ["report"], ["clean"]])
def test_a_command_in_a_folder_that_is_gone(
    tmp_path: Path, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert run(words) == Exit.UNREADABLE
    err = capsys.readouterr().err
    assert "error[TTR017]" in err and "TTR900" not in err


def test_descriptor_and_guard_codes_are_explained_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--explain", "MGD071"]) == Exit.OK
    assert "MGD071" in capsys.readouterr().out
    assert run(["--explain", "TTG004"]) == Exit.OK
    assert "wait for each other" in capsys.readouterr().out


def test_notes_are_for_those_who_want_more(launch_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    launch = ("--emulate", "--system", "n300", "--meshes", "2", "--check-only", "true")
    assert run(launch) == Exit.OK
    assert capsys.readouterr().err == "tt-run: 2 ranks, no errors\n"
    assert run(["-v", *launch]) == Exit.OK
    assert "more: mgd explain MGD071" in capsys.readouterr().err


def test_one_rank_is_one_rank(launch_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--emulate", "--system", "n300", "--check-only", "true"]) == Exit.OK
    assert capsys.readouterr().err == "tt-run: 1 rank, no errors\n"


def test_json_says_on_which_chip_every_device_sits(
    launch_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configs = configs_root()
    descriptor, mock = configs / "mgd/t3k_2x4_two_hosts.textproto", configs / "mock/t3000_two_ranks.yaml"
    words = ["-m", str(descriptor), "--mock-cluster-rank-binding", str(mock), "--placement-timeout", "30"]
    assert run([*words, "--dry-run", "--format", "json", "true"]) == Exit.OK
    chips = json.loads(capsys.readouterr().out)["placement"]["chips"]
    assert [device["chip"] for device in chips["meshes"][0]["devices"]] == [4, 0, 2, 6, 5, 1, 3, 7]
    assert chips["proven"] is True
    assert not (launch_folder / "generated").exists()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EFBIG])
def test_a_file_that_cannot_be_written_is_no_bug_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    def fails(words: Sequence[str]) -> int:
        raise OSError(number, os.strerror(number), "/logs/rank-0000.out")

    monkeypatch.setattr("tt_run.cli.main._dispatch", fails)
    assert run([]) == Exit.FAILED
    told = capsys.readouterr().err
    assert told.startswith(f"error[TTR039]: cannot write /logs/rank-0000.out: {os.strerror(number)}\n")
    assert ("ulimit -f" if number == errno.EFBIG else "--log-dir DIR") in told


@pytest.mark.parametrize(
    ("words", "code"), [(("true",), 0), (("sh", "-c", "exit 3"), 3), (("--nonsense",), 2)]
)
def test_a_full_disk_under_the_messages_changes_no_exit_code(
    launch_folder: Path, words: tuple[str, ...], code: int
) -> None:
    assert in_shell('"$@" 2> /dev/full', "--rank-binding", "rb.yaml", *words).returncode == code
