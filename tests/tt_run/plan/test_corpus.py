"""Recorded launches of the reference, replayed through the command line.

The recordings lie beside the checkout (`../shared/corpus/tt-run`) or where TT_RUN_CORPUS says; without them the test is skipped.
A case holds files, an argument vector and what the reference made of it. For a valid case the environment of every rank agrees; where
the reference is not wrong, so do the number of ranks, the program words and the placement arguments.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
CORPUS = Path(os.environ.get("TT_RUN_CORPUS", REPOSITORY.parent / "shared" / "corpus")) / "tt-run"
CASES = sorted(folder.parent.name for folder in CORPUS.glob("*/expected.json")) if CORPUS.is_dir() else []
LOOK = ("--dry-run", "--format", "json", "--check", "off")
UNIQUE_PER_RANK = {"TT_METAL_CACHE", "TT_METAL_LOGS_PATH"}
PLACEMENT = ("--map-by", "--rankfile", "--host", "--hostfile", "--bind-to", "--oversubscribe")

pytestmark = pytest.mark.skipif(not CASES, reason=f"no recorded launches in {CORPUS}")


@dataclass(frozen=True)
class Case:
    """A recorded launch in folders of its own, placeholders replaced."""

    folder: Path
    words: list[str]
    environ: dict[str, str]
    expected: dict[str, Any]

    def filled(self, value: Any) -> Any:
        """The value with `@CWD@` and its like replaced by this case's folders."""
        if isinstance(value, str):
            return re.sub(r"@([A-Z]+)@", lambda match: _place(self.folder, match), value)
        if isinstance(value, list):
            return [self.filled(item) for item in value]
        if isinstance(value, dict):
            return {self.filled(key): self.filled(item) for key, item in value.items()}
        return value


def _place(root: Path, match: re.Match[str]) -> str:
    if match[1] == "PY":
        return sys.executable
    return str(root / match[1])


def _fake_mpirun(folder: Path, mpi: str) -> None:
    """A launcher that only tells its version."""
    folder.mkdir()
    version = {"5": "mpirun (Open MPI) 5.0.11", "4": "mpirun (Open MPI) 4.1.6"}.get(mpi, "mystery launcher")
    script = folder / "mpirun"
    script.write_text(f'#!/bin/sh\necho "{version}"\n')
    script.chmod(0o755)


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    source = CORPUS / request.param
    root = tmp_path.resolve()
    shutil.copytree(source / "input", root, dirs_exist_ok=True)
    for name in ("CWD", "HOME", "OTHER", "TTMH"):
        (root / name).mkdir(exist_ok=True)
    described = json.loads((source / "case.json").read_text())
    for name in described.get("launchers", ["mpirun"]):
        if not (root / "SHIM").is_dir():
            _fake_mpirun(root / "SHIM", str(described.get("mpi", "5")))
        if name != "mpirun":
            shutil.copy(root / "SHIM/mpirun", root / "SHIM" / name)
    empty = Case(root, [], {}, {})
    environ = {"PATH": "@SHIM@:/usr/bin:/bin", "HOME": "@HOME@", "USER": "tester", "LANG": "C.UTF-8"}
    environ |= described.get("env", {})
    return Case(
        root,
        empty.filled(json.loads((source / "args").read_text())),
        empty.filled({name: value for name, value in environ.items() if value is not None}),
        empty.filled(json.loads((source / "expected.json").read_text())),
    )


def run(case: Case) -> subprocess.CompletedProcess[str]:
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); from tt_run.cli.main import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", code, str(REPOSITORY), *LOOK, *case.words]
    return subprocess.run(
        command, cwd=case.folder / "CWD", env=case.environ, capture_output=True, text=True, timeout=60
    )


def test_agrees_with_the_recording(case: Case) -> None:
    answer = run(case)
    if not case.expected["valid"]:
        assert answer.returncode != 0, answer.stdout
        assert "Traceback" not in answer.stderr
        assert answer.stderr.startswith("error["), answer.stderr
        return
    if answer.returncode != 0 and case.expected.get("upstream_defect"):
        assert answer.stderr.startswith("error["), answer.stderr  # refusing is one of the better outcomes
        return
    assert answer.returncode == 0, answer.stderr
    plan = json.loads(answer.stdout)
    for ours, theirs in zip(
        plan["ranks"], case.expected["ranks"], strict=not case.expected.get("upstream_defect")
    ):
        assert _compared(ours["env"]) == _compared(theirs["env"])
    if not case.expected.get("upstream_defect"):
        assert len(plan["ranks"]) == case.expected["nranks"]
        assert [rank["argv"] for rank in plan["ranks"]] == [rank["argv"] for rank in case.expected["ranks"]]
        assert _placement(plan["global_args"]) == _placement(case.expected["global_args"])


def _compared(env: dict[str, str]) -> dict[str, str]:
    """Every variable; ours puts cache and logs into a folder for each rank by design."""
    return {name: value for name, value in env.items() if name not in UNIQUE_PER_RANK}


def _placement(words: list[str]) -> list[str]:
    """The words that say where ranks go, in order."""
    found: list[str] = []
    for index, word in enumerate(words):
        if word.partition("=")[0] in PLACEMENT:
            found += [word] if word == "--oversubscribe" or "=" in word else words[index : index + 2]
    return found
