"""What a run from the command line is given to watch with, and what is said of where it goes."""

from __future__ import annotations

import dataclasses
import shlex
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tt_run.cli import execute
from tt_run.cli.execute import run_options, say
from tt_run.cli.reading.parse import parse
from tt_run.errors import UsageError
from tt_run.inputs.site import Site
from tt_run.plan.model import Placement


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "this machine"),
        (1, "h0 (--hosts)"),
        (4, "h0, h1, h2, h3 (--hosts)"),
        (5, "h0, h1, h2, h3 and 1 more (--hosts)"),
        (9, "h0, h1, h2, h3 and 5 more (--hosts)"),
    ],
)
def test_the_first_hosts_are_named_and_the_others_counted(count: int, said: str) -> None:
    hosts: Any = tuple(SimpleNamespace(name=f"h{number}") for number in range(count))
    plan: Any = SimpleNamespace(placement=Placement(hosts, source="--hosts" if count else "this machine"))
    assert execute._where(plan) == said


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", {"hang_timeout": None, "automatic_hang": True, "prefixes": True, "debugged": False}),
        ("--hang-timeout auto", {"hang_timeout": None, "automatic_hang": True}),
        ("--hang-timeout off", {"hang_timeout": None, "automatic_hang": False}),
        ("--hang-timeout 0.5", {"hang_timeout": 0.5, "automatic_hang": True}),
        ("--timeout 7 --start-timeout 3", {"timeout": 7.0, "start_timeout": 3.0, "hang_timeout": None}),
        ("--max-restarts 2 --no-prefix", {"max_restarts": 2, "prefixes": False}),
        ("--debug-rank 0", {"debugged": True, "progress": False, "editors": ()}),
        ("--debugpy 5", {"debugged": True}),
    ],
)
def test_what_a_run_is_watched_with(line: str, expected: dict[str, object]) -> None:
    options = run_options(parse([*shlex.split(line), "prog"]))
    assert {name: getattr(options, name) for name in expected} == expected


def test_progress_is_for_a_terminal_that_no_debugger_has(monkeypatch: pytest.MonkeyPatch) -> None:
    for terminal in (True, False):
        monkeypatch.setattr("sys.stderr", SimpleNamespace(isatty=lambda seen=terminal: seen))
        shown = [run_options(parse([*words, "prog"])).progress for words in ([], ["--debug-rank", "0"])]
        assert shown == [terminal, False]


@pytest.mark.parametrize("seconds", ["0", "-1", "soon", "nan"])
def test_a_hang_is_no_shorter_than_a_moment(seconds: str) -> None:
    with pytest.raises(UsageError, match="TTR034") as refused:
        run_options(parse([f"--hang-timeout={seconds}", "prog"]))
    assert f"--hang-timeout {seconds}: not seconds, auto or off" in str(refused.value)


def test_faults_are_the_ranks_where_they_are_emulated() -> None:
    assert run_options(parse(["--inject", "rank 1: exit at 2 s", "prog"])).faults == ("rank 1: exit at 2 s",)
    assert run_options(parse(["--emulate", "--inject", "rank 1: exit at 2 s", "prog"])).faults == ()


def test_each_line_of_a_message_says_who_speaks(capsys: pytest.CaptureFixture[str]) -> None:
    say("one\ntwo")
    assert capsys.readouterr().err == "tt-run: one\ntt-run: two\n"


def test_what_no_rank_has_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = parse(["--emulate", "--ledger", "ledger.json", "--timeline", "/dev/null", "true"])
    around: Any = SimpleNamespace(site=dataclasses.replace(Site.current(), cwd=tmp_path))
    for is_whole, told in (
        (False, ""),
        (True, "tt-run: --ledger: no rank has used ttnn, so ledger.json was not written\n"),
    ):
        execute._tell_written(given, around, time.time(), is_whole)
        assert capsys.readouterr().err == told
