"""The command in a process of its own: what it imports, completion in shells, pipes that close."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mgd.cli.group import VERBS

MGD = [sys.executable, "-c", "from mgd.cli.main import main; main()"]


def test_help_lists_every_verb_without_importing_them() -> None:
    script = (
        "import sys\n"
        "from mgd.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([name for name in sys.modules if name.startswith('mgd.cli.') and name not in ('mgd.cli.main', 'mgd.cli.overview')])\n"
        "print(sorted({'click', 'typing', 'importlib.metadata', 'difflib'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert all(f"  {verb}" in done.stdout for verb in VERBS)
    assert done.stdout.endswith("[]\n[]\n")


def test_checking_loads_no_more_than_it_needs() -> None:
    script = (
        "import sys\n"
        "from mgd.cli.main import main\n"
        "try: main(['check', 't3000'])\n"
        "except SystemExit as ended: assert not ended.code\n"
        "print(sorted({'click', 'numpy', 'mpi4py', 'rich', 'yaml', 'google.protobuf'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.endswith("[]\n")


def test_completion_knows_verbs_and_systems() -> None:
    def complete(*words: str) -> str:
        done = subprocess.run(
            MGD,
            env={
                "_MGD_COMPLETE": "bash_complete",
                "COMP_WORDS": " ".join(words),
                "COMP_CWORD": str(len(words) - 1),
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.stdout

    assert "check" in complete("mgd", "ch")
    assert "t3000" in complete("mgd", "show", "t3")
    assert "t3000" in complete("mgd", "systems", "t3")
    assert "t3000" in complete("mgd", "new", "--system", "t3")
    assert "MGD012" in complete("mgd", "explain", "MGD01")
    assert "rank-bindings" in complete("mgd", "schema", "rank")


@pytest.mark.parametrize(
    ("word", "offered"), [("t3000-two-h", "t3000-two-hosts"), ("a b", "a b.textproto"), ("fiv", "five")]
)
def test_bash_completes_names_of_systems_and_files(tmp_path: Path, word: str, offered: str) -> None:
    """`compopt` means something only in a shell that reads keys."""
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    (tmp_path / "a b.textproto").touch()
    (tmp_path / "five").mkdir()
    (tmp_path / "five" / "x.textproto").touch()
    tool = tmp_path / "bin"
    tool.mkdir()
    (tool / "mgd").write_text(f'#!/bin/sh\nexec {MGD[0]} -m mgd "$@"\n', encoding="utf-8")
    (tool / "mgd").chmod(0o755)
    typed = word.replace(" ", "\\ ")
    script = 'eval "$(mgd completion bash)"; set -o emacs; compopt() { :; }\n'
    script += f'COMP_WORDS=(mgd show {typed}); COMP_CWORD=2; _mgd_completion mgd; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tool}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert offered in done.stdout.splitlines(), done


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    """The pipe's other end closes after one line; `mgd` ends quietly with 141."""
    process = subprocess.Popen(
        [*MGD, "show", "--all", "bh-glx-split-4x2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) in (0, 141)
    assert error == b""


def test_an_output_that_is_full_is_told_in_one_line() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*MGD, "systems"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert done.returncode == 2 and "no space left" in done.stderr and "Traceback" not in done.stderr


def test_a_server_in_a_terminal_says_whom_it_waits_for() -> None:
    theirs, ours = os.openpty()
    server = subprocess.Popen(
        [sys.executable, "-m", "mgd", "serve"],
        stdin=ours,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stderr is not None
        assert server.stderr.readline().startswith("mgd serve: waiting for an editor on standard input")
    finally:
        server.kill()
        server.communicate(timeout=10)
        os.close(theirs)
        os.close(ours)


def test_what_is_run_for_an_editor_collects_its_garbage(tmp_path: Path) -> None:
    """Other commands do not: they end before there is any to speak of."""
    (tmp_path / "empty").touch()
    script = (
        "import gc, sys\n"
        "from mgd.cli.main import main\n"
        "sys.argv = ['mgd', *sys.argv[1:]]\n"
        "try: main()\n"
        "except SystemExit: print(gc.isenabled())\n"
    )
    for words, collects in (["serve"], "True"), (["--help"], "False"):
        with (tmp_path / "empty").open() as nothing:
            done = subprocess.run(
                [sys.executable, "-c", script, *words],
                stdin=nothing,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
        assert done.stdout.splitlines()[-1] == collects, done.stderr
