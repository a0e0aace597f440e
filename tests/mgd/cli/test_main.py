"""The command as a whole: help, version, completion, pipes that close."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mgd.cli.group import VERBS
from tests.mgd.cli.run import Mgd

MGD = [sys.executable, "-c", "from mgd.cli.main import main; main()"]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_run_by_a_test(verb: str) -> None:
    here = Path(__file__).resolve()
    called = re.compile(rf"""mgd\(\s*"{verb}"|"mgd", "{verb}"|mgd\.cli\.{verb}""")
    tests = [path for folder in ("mgd", "tt_run", "e2e") for path in (here.parents[2] / folder).rglob("*.py")]
    assert any(called.search(path.read_text(encoding="utf-8")) for path in tests), (
        f'no test runs mgd {verb}: add one beside this file, as in mgd("{verb}")'
    )


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


@pytest.mark.parametrize("columns", [80, 200])
def test_the_help_is_as_wide_as_the_terminal(mgd: Mgd, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """And the same whether one asks for it or says nothing."""
    monkeypatch.setenv("COLUMNS", str(columns))
    asked, nothing = mgd("--help"), mgd()
    assert (asked.code, nothing.code) == (0, 2)
    assert asked.out == nothing.err
    assert max(map(len, asked.out.splitlines())) <= columns


def test_the_help_of_a_verb_fits_a_narrow_terminal(mgd: Mgd, monkeypatch: pytest.MonkeyPatch) -> None:
    """Narrower than click lets a terminal be."""
    monkeypatch.setenv("COLUMNS", "40")
    for verb in ("systems", "show"):
        assert max(map(len, mgd(verb, "--help").out.splitlines())) <= 40


@pytest.mark.parametrize(("columns", "last"), [(80, "ARCH"), (200, "ALSO CALLED")])
def test_systems_fit_the_terminal(mgd: Mgd, monkeypatch: pytest.MonkeyPatch, columns: int, last: str) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    head, *lines = mgd("systems").out.splitlines()
    assert head.endswith(last) and max(map(len, lines)) <= columns


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_each_verb_fits_one_screen(mgd: Mgd, verb: str) -> None:
    result = mgd(verb, "--help")
    assert result.code == 0
    assert len(result.out.splitlines()) <= 40 and max(map(len, result.out.splitlines())) <= 110


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


def test_version(mgd: Mgd) -> None:
    result = mgd("--version")
    assert result.code == 0 and result.out.startswith("mgd ")


def test_a_misspelt_verb(mgd: Mgd) -> None:
    result = mgd("chekc")
    assert result.code == 2 and "did you mean `mgd check`?" in result.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(mgd: Mgd, shell: str) -> None:
    result = mgd("completion", shell)
    assert result.code == 0 and "_MGD_COMPLETE" in result.out
    assert 'string split ","' not in result.out  # it would end a description at its first comma


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


def test_schema_lists_and_prints(mgd: Mgd) -> None:
    import json

    listed = [line.split()[0] for line in mgd("schema").out.splitlines() if line[:1].strip()]
    assert "rank-bindings" in listed and "mesh-graph-descriptor-1.0" in listed
    for name in listed:
        assert json.loads(mgd("schema", name).out)["$schema"]
    assert mgd("schema", "nothing").code == 2


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
