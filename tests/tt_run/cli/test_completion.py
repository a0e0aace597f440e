"""The completion scripts, asked in the shells themselves: what each offers after the words that are there."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sweep import thinned
from tt_run.cli.completion import completion_script
from tt_run.cli.line_ranks import ranks_of_line

DEADLINE = 20

OFFERED = [
    ("doc", "doctor"),
    ("--rank-b", "--rank-binding"),
    ("--emulate --system t3000-", "t3000-two-hosts"),
    ("--rank-binding t3k_2x4_t", "t3k_2x4_two_hosts"),
    ("-m t3k_1x8_t", "t3k_1x8_two_hosts"),
    ("--explain TTG00", "TTG001"),
    ("explain TTR20", "TTR204"),
    ("explain TTP00", "TTP003"),
    ("explain MGD01", "MGD012"),
    ("examples ring", "ring_all_gather"),
    ("examples nano", "nano_gpt"),
    ("completion f", "fish"),
    ("help re", "replay"),
    ("logs --rank ", "1"),
    ("--check e", "error"),
    ("--rankfile-syntax m", "map-by"),
    ("replay --al", "--allow-changes"),
    ("logs --fol", "--follow"),
    ("status 2026", "20261122-120000-17"),
    ("--emulate --ledger prog", "program.py"),
    ("python prog", "program.py"),
    ("--log-dir ", "tt-run-logs"),
    ("--emulate --system t3000 --split ", "2x1"),
    ("--tee ", "first"),
    ("--emulate --inject ki", "kill="),
    ("--emulate --predict --hardware galaxy_", "galaxy_4u"),
    ("what-if --hardware p150x", "p150x8"),
    ("--emulate --predict --set dram.inter", "dram.interleaved="),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the shells are: two runs, a program, and the three scripts."""
    folder = tmp_path_factory.mktemp("shell")
    for run in ("20261122-120000-17", "20261121-120000-17"):
        (folder / "tt-run-logs" / run).mkdir(parents=True)
    (folder / "program.py").touch()
    for shell in ("bash", "fish", "zsh"):
        (folder / f"of.{shell}").write_text(completion_script(shell), encoding="utf-8")
    (folder / "functions").mkdir()
    (folder / "functions/_tt-run").write_text(completion_script("zsh"), encoding="utf-8")
    return folder


def run(folder: Path, *words: str) -> str:
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    ran = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=DEADLINE, check=True)
    return ran.stdout


@pytest.mark.parametrize(("line", "offered"), thinned(OFFERED, 3), ids=[line for line, _ in OFFERED])
def test_bash(folder: Path, line: str, offered: str) -> None:
    words = line.split(" ")
    ask = f'COMP_WORDS=(tt-run {line}); COMP_CWORD={len(words)}; _tt_run; printf "%s\\n" "${{COMPREPLY[@]}}"'
    answers = run(folder, "bash", "-c", f". ./of.bash\n{ask}").split()
    assert offered in answers
    assert all(answer.startswith(words[-1]) for answer in answers)


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("--system = t3000-two-h", "t3000-two-hosts"),
        ("--guard =", "off"),
        ("what-if --format =", "json"),
        ("--emulate --ledger = prog", "program.py"),
    ],
)
def test_bash_after_an_equals_sign(folder: Path, line: str, offered: str) -> None:
    """Bash parts words at it, which leaves its two sides and itself."""
    words = line.split(" ")
    ask = f'COMP_WORDS=(tt-run {line}); COMP_CWORD={len(words)}; _tt_run; printf "%s\\n" "${{COMPREPLY[@]}}"'
    assert offered in run(folder, "bash", "-c", f". ./of.bash\n{ask}").split()


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("tt-run --emulate --system t3000 --split 2x4 --debug-rank ", 8),
        ("A=1 tt-run --emulate --system=galaxy --split=4x2 --tee=", 8),
        ("tt-run --rank-binding t3k_2x4_two_hosts --print-env 1", 2),
        ("tt-run logs --rank ", None),
        ("tt-run --tee ", None),
        ("tt-run --emulate --system t3000 --split 3x1 --tee ", None),
        ("tt-run --emulate --system 't3000 --tee ", None),
        ("tt-run replay absent --rank ", None),
        ("tt-run --doctor --hosts a,b --tee ", None),
        ("tt-run chaos --runs 2 -- --emulate --system t3000 --split 1x4 --tee ", 4),
    ],
)
def test_the_ranks_that_a_line_is_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, number: int | None
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ranks_of_line(line) == number


def test_the_ranks_of_runs_and_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for run, ranks in (("20261121-120000-17", 3), ("20261122-120000-17", 2)):
        (tmp_path / "rec" / run).mkdir(parents=True)
        for rank in range(ranks):
            (tmp_path / "rec" / run / f"rank-{rank:04}.record").touch()
    assert ranks_of_line("tt-run replay rec --rank ") == 2
    assert ranks_of_line("tt-run replay rec/20261121-120000-17 --rank ") == 3


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_a_shell_offers_the_ranks_of_the_line(
    folder: Path, shell: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    line = "tt-run --emulate --system t3000 --split 1x2 --tee "
    ask = {
        "bash": f"COMP_LINE='{line}'; COMP_POINT={len(line)}; COMP_WORDS=({line} ''); COMP_CWORD=7; _tt_run; "
        'printf "%s\\n" "${COMPREPLY[@]}"',
        "fish": f"complete -C '{line}'",
    }[shell]
    answers = run(folder, shell, "-c", f"source ./of.{shell}\n{ask}").split()
    assert {"first", "0", "1"} <= set(answers) and not {"2", "3"} & set(answers)


@pytest.mark.parametrize("line", ["--split ", "--timeout ", "--hosts ", "logs --rank "])
def test_where_no_file_is_meant_none_is_offered(folder: Path, line: str) -> None:
    words = line.split(" ")
    ask = (
        f'COMP_WORDS=(tt-run {line} ""); COMP_CWORD={len(words)}; _tt_run; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    assert "program.py" not in run(folder, "bash", "-c", f". ./of.bash\n{ask}").split()


def test_where_a_folder_is_meant_no_file_is_offered(folder: Path) -> None:
    ask = 'COMP_WORDS=(tt-run --emulate --record ""); COMP_CWORD=3; _tt_run; printf "%s\\n" "${COMPREPLY[@]}"'
    answers = run(folder, "bash", "-c", f". ./of.bash\n{ask}").split()
    assert "functions" in answers and "program.py" not in answers


def test_fish_offers_files_where_names_may_be_files() -> None:
    lines = completion_script("fish").splitlines()
    for option, words in (("rank-binding", " -r -a "), ("split", " -x -a "), ("log-dir", " -x -a ")):
        named = [line for line in lines if f" -l {option} " in line]
        assert named and all(words in line for line in named)


def test_fish(folder: Path) -> None:
    asked = "\n".join(f"echo '== {line}'; complete -C 'tt-run {line}'" for line, _ in OFFERED)
    answers = run(folder, "fish", "-c", f"source of.fish\n{asked}").split("== ")[1:]
    assert len(answers) == len(OFFERED)
    for (line, offered), answer in zip(OFFERED, answers, strict=True):
        assert offered in [row.split("\t")[0].rstrip("/") for row in answer.splitlines()[1:]], line


def _typed(folder: Path, setup: str, keys: str, is_seen: Callable[[str], bool]) -> str:
    """What an interactive zsh shows after `keys`, as soon as `is_seen` says that it is enough."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.environ.update(TERM="dumb", COLUMNS="100", ZDOTDIR=str(folder), PS1="> ", PATH="/usr/bin:/bin")
        os.execvp("zsh", ["zsh", "-f"])
    shown = b""
    end = time.monotonic() + DEADLINE

    def wait(enough: Callable[[str], bool]) -> bool:
        nonlocal shown
        while not enough(shown.decode(errors="replace")):
            if not select.select([terminal], [], [], max(0.0, end - time.monotonic()))[0]:
                return False
            shown += os.read(terminal, 65536)
        return True

    try:
        os.write(terminal, f"{setup}; echo rea''dy\n".encode())
        editing = "\x1b[?2004h"  # what zsh writes when it begins to read a line by keys
        assert wait(lambda text: editing in text.partition("\nready")[2]), shown
        shown = b""
        os.write(terminal, keys.encode())
        wait(is_seen)
        return shown.decode(errors="replace")
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)


@pytest.mark.parametrize(
    "setup",
    [
        pytest.param("source ./of.zsh", id="sourced", marks=pytest.mark.wide),
        pytest.param(
            "fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u -d $PWD/dump", id="from-fpath"
        ),
    ],
)
@pytest.mark.parametrize(
    ("line", "offered"),
    thinned(
        [
            ("--emulate --system t3000-two-h", "t3000-two-hosts "),
            ("replay --al", "--allow-changes "),
            ("--emulate --system=t3000-two-h", "--system=t3000-two-hosts "),
            ("help repl", "replay "),
            ("python prog", "program.py "),
        ],
        3,
    ),
)
def test_zsh(folder: Path, setup: str, line: str, offered: str) -> None:
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    shown = _typed(folder, setup, f"tt-run {line}\t", lambda text: offered in text)
    assert offered in shown
