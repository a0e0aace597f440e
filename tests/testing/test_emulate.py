"""`python -m tt_run.emulate`: programs on the emulation without a launcher."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = "import sys, ttnn; print(ttnn.get_num_devices(), sys.argv[1:], __name__)"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["timeout", "-k", "5", "60", sys.executable, "-m", "tt_run.emulate", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["prog.py", "a", "--b"], "8 ['a', '--b'] __main__"),
        (["--system", "n300", "prog.py"], "2 [] __main__"),
        (["--system=galaxy", "-m", "prog", "x"], "32 ['x'] __main__"),
        (["-c", PROGRAM, "y"], "8 ['y'] __main__"),
    ],
)
def test_programs(tmp_path: Path, words: list[str], printed: str) -> None:
    (tmp_path / "prog.py").write_text(PROGRAM)
    done = run(tmp_path, *words)
    assert (done.stdout.strip(), done.returncode) == (printed, 0), done.stderr


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], 2, "usage: python -m tt_run.emulate"),
        (["missing.py"], 66, "error: there is no file missing.py\n"),
        (["porg.py"], 66, "error: there is no file porg.py; did you mean prog.py?"),
        (["--frob", "x.py"], 2, "error: unknown option --frob\n"),
        (["--sytem", "n300", "x.py"], 2, "error: unknown option --sytem; did you mean --system?"),
        (["--system", "t300", "prog.py"], 2, "error: no system is called 't300': did you mean t3000"),
        (["-m"], 2, "error: -m needs an argument"),
    ],
)
def test_mistakes(tmp_path: Path, words: list[str], code: int, message: str) -> None:
    (tmp_path / "prog.py").write_text(PROGRAM)
    done = run(tmp_path, *words)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr
