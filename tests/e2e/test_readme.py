"""The README is true: every command in it runs, and prints what the README says it prints.

Numbers may differ (times, process ids), and a line `…` stands for any lines. A line `# exit N` says how the command ends. Commands that make
environments of their own are CI's to run.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.launch import ROOT, environment
from tests.e2e.shown import Shown, blocks, commands

README = (ROOT / "README.md").read_text(encoding="utf-8")
RUN_BY_CI = {"./scripts/demo", "./scripts/test"}


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the parts of the project that the commands name, so that what they write stays out of the checkout.

    The program of the session has a ninth of its width here: CI's demo runs all of it, which takes half a minute of a processor.
    """
    folder = tmp_path_factory.mktemp("readme")
    for name in ("configs", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    program = folder / "examples" / "tensor_parallel_mlp.py"
    whole = program.read_text()
    assert "HIDDEN, SEQUENCE, BATCH, SEED = 4544," in whole
    program.write_text(whole.replace("BATCH, SEED = 4544,", "BATCH, SEED = 512,"))
    return folder


@pytest.mark.wide
@pytest.mark.parametrize("shown", commands(README), ids=lambda shown: shown.command[:60])
def test_command_does_what_the_readme_says(shown: Shown, workplace: Path) -> None:
    if "what_if/" in shown.command:
        pytest.importorskip("torch")
    ran = subprocess.run(
        ["timeout", "-k", "5", "110", *shlex.split(shown.command)],
        cwd=workplace,
        env=environment(torch="what_if/" in shown.command),  # the only one that needs it
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    printed = (ran.stdout + ran.stderr).decode(errors="replace")
    assert ran.returncode == shown.code, printed
    assert not shown.missing(printed), printed


def test_the_other_commands_are_run_by_ci() -> None:
    given = {
        line.split("#")[0].strip()
        for block in blocks(README, "sh")
        for line in block.splitlines()
        if line.strip()
    }
    assert given <= RUN_BY_CI
    script = (ROOT / ".ci" / "run").read_text()
    assert all(command.removeprefix("./") in script for command in given)


def test_python_is_the_one_under_test(workplace: Path) -> None:
    found = subprocess.run(
        ["python", "-V"], env=environment(), capture_output=True, text=True, check=True, cwd=workplace
    )
    assert found.stdout.split()[1] == ".".join(map(str, sys.version_info[:3]))
