"""Subcommands: found by their name, loaded late, and never in the way of a program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sweep import thinned
from tt_run.cli.commands import COMMANDS, named_command
from tt_run.cli.help import _typed
from tt_run.cli.main import run
from tt_run.contract import Exit

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_each_says_how_it_is_used(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == Exit.OK
    assert capsys.readouterr().out.startswith(f"Usage: tt-run {name}")


@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("words", [["--help"], *([name, "--help"] for name in sorted(COMMANDS))])
def test_each_is_as_wide_as_the_terminal(
    words: list[str], width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    run(words)
    wide = [line for line in capsys.readouterr().out.splitlines() if len(line) > width]
    assert [line for line in wide if not line.startswith("  -") and "/" not in line] == []


def test_examples_are_as_wide_as_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    run(["examples"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_a_long_line_to_be_typed_is_continued() -> None:
    line = "  tt-run --emulate --system t3000 --split 1x2 python train.py  # no hardware"
    assert _typed(line, 100) == [line]
    *above, last = _typed(line, 50)
    assert above == ["  # no hardware", "  tt-run --emulate --system t3000 --split \\"]
    assert last == "      1x2 python train.py"


def test_the_help_lists_them(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    run(["--help"])
    out = capsys.readouterr().out
    assert all(f"  {name} " in out and text in out for name, (_, text) in COMMANDS.items())


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_it_is_run_by_a_test(name: str) -> None:
    tests = [path for folder in ("tt_run/cli", "e2e") for path in (ROOT / "tests" / folder).rglob("*.py")]
    called = re.compile(rf"""["']{name}["']""")
    assert any(called.search(path.read_text(encoding="utf-8")) for path in tests), (
        f"no test runs tt-run {name}: add one here or beside this file, as in run(['{name}'])"
    )


def test_a_program_of_that_name_is_a_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert named_command(["doctor"]) == "doctor"
    assert named_command(["./doctor"]) is None
    assert named_command(["--", "doctor"]) is None
    assert named_command(["--emulate", "doctor"]) is None
    assert named_command([]) is None
    (tmp_path / "doctor").write_text("notes")
    assert named_command(["doctor"]) == "doctor"
    (tmp_path / "doctor").chmod(0o755)
    assert named_command(["doctor"]) is None


def test_help_tells_what_an_option_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["logs", "--help"]) == Exit.OK
    assert "--log-dir DIR" in capsys.readouterr().out


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "TTR204", "ttg001"]) == Exit.OK
    out = capsys.readouterr().out
    assert out.startswith("TTR204: ") and "\nTTG001: " in out
    assert run(["explain"]) == Exit.OK
    *codes, empty, _ = capsys.readouterr().out.splitlines()
    assert len(codes) > 80 and not empty and all(re.match(r"TT[RGP]\d{3}  \S", line) for line in codes)
    assert run(["explain", "TTR2040"]) == Exit.USAGE
    assert "TTR204?" in capsys.readouterr().err
    assert run(["explain", "12"]) == Exit.USAGE
    assert "12 is the number of MGD012 and of TTR012" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("77", "exit code 77: the ranks made no progress within --hang-timeout\nfindings of that number: tt-run explain MGD077\n"),
        ("137", "exit code 137: ranks, or mpirun, were killed by SIGKILL\n"),
        ("143", "exit code 143: ended by SIGTERM\n"),
        ("065", "MGD065: "),
    ],
)  # fmt: skip
def test_explain_an_exit_code(code: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", code]) == Exit.OK
    assert capsys.readouterr().out.startswith(told)


def test_zero_needs_no_explanation(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "0"]) == Exit.USAGE
    assert "there is no code 0" in capsys.readouterr().err


def test_completion_is_the_same_as_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    run(["--completion", "bash"])
    option = capsys.readouterr().out
    assert run(["completion", "bash"]) == Exit.OK
    assert capsys.readouterr().out == option
    assert run(["completion", "tcsh"]) == Exit.USAGE
    assert "bash, zsh, fish" in capsys.readouterr().err


def test_an_unknown_option_of_a_subcommand(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "--hepl"]) == Exit.USAGE
    assert "did you mean --help" in capsys.readouterr().err


def test_a_replay_of_a_script_that_is_not_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    assert run(["replay", "rec", "--rank", "1", "--", "python", "trian.py"]) == Exit.UNREADABLE
    assert "the script trian.py is not in" in (told := capsys.readouterr().err)
    assert "did you mean train.py?" in told


def test_a_replay_has_one_debugger(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", "rec", "--pdb", "--debugpy", "5678"]) == Exit.USAGE
    assert "--pdb and --debugpy are two debuggers of one program" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "idle"),
    thinned(
        [
            ("examples --to x", ["--to"]),
            ("doctor --dry-run --emit slurm", ["--dry-run", "--emit"]),
            ("--doctor --print-env 0", ["--print-env"]),
            ("validate-model --points none.tsv --all-rows --output x.yaml", ["--output", "--all-rows"]),
            ("validate-model --calibrate none.tsv --all-rows --output x.yaml", []),
        ],
        3,
    ),
)
def test_options_of_subcommands_that_do_nothing_are_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    idle: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    run(words.split())
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning[TTR024]")]
    assert sorted(line.split(": ")[1] for line in told) == sorted(idle)
