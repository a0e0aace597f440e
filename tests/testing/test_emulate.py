"""`python -m tt_run.emulate`: programs on the emulation without a launcher."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sweep import thinned
from tt_run.cli.main import run as tt_run
from tt_run.contract import Exit

PROGRAM = "import sys, ttnn; print(ttnn.get_num_devices(), sys.argv[1:], __name__)"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["timeout", "-k", "5", "60", sys.executable, "-m", "tt_run.emulate", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        pytest.param(["prog.py", "a", "--b"], "8 ['a', '--b'] __main__", marks=pytest.mark.wide),
        pytest.param(["--system", "n300", "prog.py"], "2 [] __main__", marks=pytest.mark.wide),
        (["--system=galaxy", "-m", "prog", "x"], "32 ['x'] __main__"),
        (["-c", PROGRAM, "y"], "8 ['y'] __main__"),
    ],
)
def test_programs(tmp_path: Path, words: list[str], printed: str) -> None:
    (tmp_path / "prog.py").write_text(PROGRAM)
    done = run(tmp_path, *words)
    assert (done.stdout.strip(), done.returncode) == (printed, 0), done.stderr


@pytest.mark.parametrize(
    ("words", "program", "printed"),
    [
        pytest.param([], "python prog.py a", "8 ['a'] __main__", marks=pytest.mark.wide),
        pytest.param(["--system", "n300"], "python prog.py", "2 [] __main__", marks=pytest.mark.wide),
        (
            ["--system", "galaxy", "--ledger", "l.json"],
            "python prog.py; test ${TT_RUN_LEDGER##*/} = l.json",
            "32 [] __main__",
        ),
        (["--system", "n150"], 'eval "$(shell_env --system n300)"; python prog.py', "2 [] __main__"),
    ],
)
def test_exports_give_the_shells_own_python_the_emulation(
    tmp_path: Path, words: list[str], program: str, printed: str
) -> None:
    (tmp_path / "prog.py").write_text(PROGRAM)
    script = f'set -e; shell_env() {{ "$0" -m tt_run --emulate --shell-env "$@"; }}; exports=$(shell_env "$@"); eval "$exports"; {program}'
    done = subprocess.run(
        ["timeout", "-k", "5", "60", "sh", "-c", script, sys.executable, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == (printed, 0), done.stderr


def test_exports_as_json_and_for_one_process_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert tt_run(["--emulate", "--system", "n300", "--shell-env", "--format", "json"]) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert found["PYTHONPATH"].split(os.pathsep)[0].endswith("tt_run/shims") and found["TT_MESH_ID"] == "0"
    assert not {"TT_RUN_RANK", "TT_RUN_WORLD_SIZE", "TT_METAL_CACHE"} & set(found)
    assert tt_run(["--emulate", "--system", "n300", "--split", "1x2", "--shell-env"]) == Exit.USAGE
    told = capsys.readouterr().err
    assert "error[TTR021]: --shell-env is for one process, and the plan has 2 ranks" in told
    assert tt_run(["--shell-env"]) == Exit.USAGE
    assert "--shell-env: only emulated ranks know it\n  help: add --emulate" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    thinned(
        [
            ([], 2, "error[TTR003]: no program to run\n  help: write python -m tt_run.emulate program.py"),
            (["missing.py"], 66, "error[TTR013]: there is no file missing.py\n  help: check the name"),
            (["porg.py"], 66, "error[TTR013]: there is no file porg.py\n  help: did you mean prog.py?"),
            (
                ["."],
                66,
                "error[TTR013]: . is a folder without a __main__.py\n  help: name a file in it, such as prog.py",
            ),
            (["--frob", "x.py"], 2, "has no option --frob\n  help: this takes --system NAME alone"),
            (["--sytem", "n300", "x.py"], 2, "has no option --sytem\n  help: did you mean --system?"),
            (["--system"], 2, "error[TTR021]: --system needs the name of a system"),
            (
                ["--system", "t300", "prog.py"],
                2,
                "error[TTR012]: no system is called 't300': did you mean t3000",
            ),
            (["-m"], 2, "error[TTR003]: -m says not what to run"),
        ],
        3,
    ),
)
def test_mistakes(tmp_path: Path, words: list[str], code: int, message: str) -> None:
    (tmp_path / "prog.py").write_text(PROGRAM)
    done = run(tmp_path, *words)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_traceback_begins_in_the_program(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text("def step():\n    raise ValueError('so')\nstep()\n")
    done = run(tmp_path, "prog.py")
    assert (done.returncode, done.stderr.count("  File ")) == (1, 2), done.stderr
    assert "runpy" not in done.stderr and done.stderr.endswith("ValueError: so\n")


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("activate('t300')", "ValueError: no system is called 't300': did you mean t3000"),
        pytest.param(
            "activate('n300'); import ttnn; print(ttnn.get_num_devices()); activate('n300')",
            "2",
            marks=pytest.mark.wide,
        ),
        ("activate(); import ttnn; activate('n300'); print(ttnn.get_num_devices())", "2"),
        (
            "activate(); import ttnn; ttnn.get_num_devices(); activate('t3000'); activate(); activate('galaxy')",
            "RuntimeError: this process has t3000 already, whose mesh was opened; help: restart it, and write activate('galaxy') first",
        ),
    ],
)
def test_a_machine_is_chosen_once(lines: str, told: str) -> None:
    """As a notebook does: later, it would be passed over without a word."""
    code = f"from tt_run.emulate import activate; {lines}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout + done.stderr).strip().splitlines()[-1].startswith(told), done
