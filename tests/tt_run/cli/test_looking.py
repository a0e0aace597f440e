"""Which run a word names, and what is said of others that go on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tt_run.cli.commands.looking import _going_on, one_run
from tt_run.cli.main import run
from tt_run.contract import Exit
from tt_run.errors import UsageError
from tt_run.supervise.folder import RunFolder
from tt_run.supervise.looking.runs import Run

HERE = os.getpid()


def made(path: Path, began: float = 1.0) -> Run:
    return Run(RunFolder(path), (), None, began, 0)


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs of one day and one of another, of which the oldest still goes on."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "tt-run-logs"
    for name, begun in ((f"20260101-0900-{HERE}", 1), ("20260101-1000-7", 2), ("20260102-0900-7", 3)):
        (folder / name / "launch").mkdir(parents=True)
        (folder / name / "rank-0000.status").write_text(f"rank=0\nstart={begun}\n")
        if not name.endswith(str(HERE)):
            (folder / name / "plan.json").write_text('{"verdict": {"exit_code": 0}}')
    return folder


def test_logs_of_a_rank_that_a_run_has(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["logs", "--rank", "0", "20260102"]) == Exit.OK
    assert run(["logs", "--rank", "1", "20260102"]) == Exit.USAGE
    assert "20260102-0900-7 has no rank 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["ls"],
        ["status", "20260102"],
        ["stacks", "20260102"],
        ["report", "20260102"],
        ["logs", "20260102", "--rank", "7"],
    ],
)
def test_a_run_with_a_line_break_in_its_name_is_told_on_one_line(
    logs: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """Whose folder --log-dir has named, or somebody has moved."""
    (logs / "20260102-0900-7").rename(logs / "20260102\nnight")
    run(words)
    told = capsys.readouterr()
    assert "20260102\\nnight" in told.out + told.err
    assert "20260102\n" not in told.out + told.err


@pytest.mark.parametrize(
    ("words", "live", "name"),
    [
        ((), False, "20260102-0900-7"),
        ((), True, "20260101-0900-HERE"),
        (("20260102",), False, "20260102-0900-7"),
        (("20260101-09",), False, "20260101-0900-HERE"),
        (("tt-run-logs/20260101-1000-7",), False, "20260101-1000-7"),
    ],
)
def test_a_word_names_one_run(logs: Path, words: tuple[str, ...], live: bool, name: str) -> None:
    assert one_run(words, None, live).name == name.replace("HERE", str(HERE))


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("20260101", "20260101 is the beginning of several runs: 20260101-1000-7, 20260101-0900"),
        ("2025", "is called 2025"),
    ],
)
def test_a_word_that_names_none_or_several(logs: Path, word: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        one_run((word,), None)
    assert told in error.value.diagnostics[0].message


@pytest.mark.parametrize("words", [["ls"], ["status"], ["clean"], ["ls", "--json"]])
def test_a_folder_of_runs_that_is_none(
    logs: Path, words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (logs.parent / "x.py").write_text("")
    assert run([*words, "--log-dir", "x.py"]) == Exit.USAGE
    assert "error[TTR042]: there are no runs in x.py: it is a file" in capsys.readouterr().err
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert run([*words, "--log-dir", "tt-run-logs"]) == Exit.USAGE
    assert "it may not be entered" in capsys.readouterr().err


def test_without_any_run_the_folder_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as error:
        one_run((), None)
    assert error.value.diagnostics[0].message == f"there are no runs in {tmp_path / 'tt-run-logs'}"


def test_the_newest_that_goes_on_is_taken_and_the_others_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    old, new = made(tmp_path / "a", 1.0), made(tmp_path / "b", 2.0)
    assert _going_on([], [new]) is new
    assert capsys.readouterr().err == "tt-run: this run has its folder in b\n"
    assert _going_on([], [old, new]) is new
    assert capsys.readouterr().err == (
        "tt-run: this run has its folder in b; others go on too, name one: a\n"
    )
    here = made(tmp_path / f"c-{HERE}", 3.0)
    assert here.state == "running" and _going_on([here], []) is here
    assert capsys.readouterr().err == ""
    other = made(tmp_path / f"d-{HERE}", 2.0)
    assert _going_on([here, other], []) is here
    assert capsys.readouterr().err == f"tt-run: others go on too, name one: d-{HERE}\n"


def test_a_narrow_terminal_keeps_the_names_of_runs(
    logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    assert run(["ls"]) == Exit.OK
    rows = capsys.readouterr().out.splitlines()
    assert rows[0].split()[:2] == ["20260102-0900-7", "ended"] and all(row.endswith("…") for row in rows)
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert run(["ls"]) == Exit.OK
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["RUN", "STATE", "RANKS", "AGE", "SIZE", "OUTCOME"] and "ended" in rows[0]
