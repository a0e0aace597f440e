"""What a terminal of few columns is shown: sentences folded, commands and other programs' words in one piece."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.sweep import sweep
from tt_run.cli import execute
from tt_run.cli.commands import looking, ls

ROOT = Path(__file__).parents[3]
REPORT = [
    "tt-run: ranks 0-1 are at fault together: error[TTG001]: ranks 0 and 1 disagree on call 2",
    "  rank 0: in call 2 all_gather(shape [1, 1, 32, 32]) at program.py:19",
    "  help: all ranks of a group must make the same calls in the same order",
    "    Traceback of a program, whose lines are its own: they stay as they are",
    "  run again: tt-run --emulate --system t3000 --split 1x2 python program.py",
    "  help: write tt-run --emulate --system t3000 --split 1x2 python program.py",
]


def test_a_report_is_folded_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert execute._fitting(REPORT) == REPORT
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert "\n".join(execute._fitting(REPORT)).splitlines() == [
        "tt-run: ranks 0-1 are at fault together: error[TTG001]:",
        "    ranks 0 and 1 disagree on call 2",
        "  rank 0: in call 2 all_gather(shape [1, 1, 32, 32]) at",
        "      program.py:19",
        "  help: all ranks of a group must make the same calls in the",
        "      same order",
        *REPORT[3:],
    ]


def shown(columns: int, module: str, *words: str) -> list[str]:
    """The lines of a command in a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"NO_COLOR": "1"}
    with subprocess.Popen(
        ["timeout", "-k", "5", "60", sys.executable, "-m", module, *words],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        cwd=ROOT,
        env=environment,
    ):
        os.close(theirs)
        data = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # the other end has been closed
                break
            if not part:
                break
            data += part
    os.close(ours)
    return data.decode().replace("\r\n", "\n").splitlines()


@pytest.mark.parametrize("columns", sweep([60, 80], quick=[60]))
@pytest.mark.parametrize(
    "line",
    [
        "tt_run",
        "tt_run --help",
        "tt_run explain",
        "tt_run explain TTR204",
        "tt_run --version",
        "tt_run examples",
        "tt_run --rank-binding examples/broken/unknown_mesh.yaml python -c pass",
        "mgd",
        "mgd explain",
        "mgd new --help",
        "mgd systems",
        "mgd show t3000-two-hosts",
        "mgd check nothing.textproto examples/broken",
    ],
)
def test_nothing_is_wider_than_the_terminal(columns: int, line: str) -> None:
    lines = shown(columns, *line.split())
    # A word that is longer than what is left of a line, such as a path, cannot be folded.
    wide = [each for each in lines if len(each) > columns and " " in each.strip()]
    assert len(lines) > 2 and not wide


def test_a_pager_is_as_wide_as_its_terminal() -> None:
    """What `tt-run -h | less` shows, where standard output is no terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 60, 0, 0))
    line = ["timeout", "-k", "5", "60", sys.executable, "-m", "tt_run", "-h"]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    read = subprocess.run(line, stdout=subprocess.PIPE, stderr=theirs, env=environment, text=True)
    os.close(ours)
    os.close(theirs)
    lines = read.stdout.splitlines()
    assert len(lines) > 100 and max(map(len, lines)) <= 60


def test_findings_as_json_are_not_told_again_at_a_terminal() -> None:
    [line] = shown(
        80,
        "tt_run",
        *["--rank-binding", "examples/broken/unknown_mesh.yaml", "--dry-run", "--format", "json", "true"],
    )
    assert line.startswith('{"ranks": null, "findings": [{"code": "TTR204"')


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (None, "a-run  ended      4 ranks      0 s      2 KiB  rank 1 on one is at fault: error[TTG005]"),
        (80, "a-run  ended      4 ranks      0 s      2 KiB  rank 1 on one is at fault: error…"),
        (70, "a-run  ended      4 ranks      0 s      2 KiB  rank 1 on one is at fa…"),
        (60, "a-run  ended      4 ranks      0 s  rank 1 on one is at fau…"),
        (48, "a-run  ended      4 ranks  rank 1 on one is at …"),
        (40, "a-run  ended    rank 1 on one is at fau…"),
    ],
)
def test_facts_of_runs_give_way_to_what_became_of_them(
    width: int | None, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "columns", lambda: width)
    run = SimpleNamespace(
        state="ended",
        ranks=range(4),
        began=time.time(),
        size=2048,
        sentence="rank 1 on one is at fault: error[TTG005]",
    )
    assert ls.table(["a-run"], [run], width) == [shown]  # type: ignore[list-item]
    head = ls.heading(["a-run"], [run], width)  # type: ignore[list-item]
    assert head.index("STATE") == shown.index("ended") and head.index("OUTCOME") == shown.index("rank 1")
    for name, fact in {"RANKS": "4 ranks", "AGE": "0 s", "SIZE": "2 KiB"}.items():
        assert (name in head) == (fact in shown)
        assert name not in head or head.index(name) + len(name) == shown.index(fact) + len(fact)
    assert ls.table([], [], width) == []
