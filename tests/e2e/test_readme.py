"""The README is true: every command in it runs, and prints what the README says it prints.

Numbers may differ (times, process ids), and a line `…` stands for any lines. A line `# exit N` says how the command ends. Commands that make
environments of their own are CI's to run.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.launch import ROOT, environment
from tt_run.contract import Exit

README = (ROOT / "README.md").read_text(encoding="utf-8")
RUN_BY_CI = {"./scripts/demo", "./scripts/test"}


@dataclass(frozen=True)
class Shown:
    """A command of the README with the output and exit code that it promises."""

    command: str
    lines: tuple[str, ...]
    code: int = 0


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def commands() -> list[Shown]:
    found: list[Shown] = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            code = next((int(line.split()[2]) for line in lines if line.startswith("# exit ")), 0)
            found.append(
                Shown(command, tuple(line for line in lines if not line.startswith("# exit ")), code)
            )
    return found


def shape_of(line: str) -> str:
    """A line without its numbers and without the width of its columns."""
    return re.sub(r"\s+", " ", re.sub(r"[0-9a-f]{16}|\d[\d.]*", "#", line)).strip()


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the parts of the project that the commands name, so that what they write stays out of the checkout."""
    folder = tmp_path_factory.mktemp("readme")
    for name in ("configs", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.mark.parametrize("shown", commands(), ids=lambda shown: shown.command[:60])
def test_command_does_what_the_readme_says(shown: Shown, workplace: Path) -> None:
    ran = subprocess.run(
        ["timeout", "-k", "5", "110", *shlex.split(shown.command)],
        cwd=workplace,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    printed = (ran.stdout + ran.stderr).decode(errors="replace")
    assert ran.returncode == shown.code, printed
    seen = {shape_of(line) for line in printed.splitlines()}
    missing = [line for line in shown.lines if line != "…" and shape_of(line) not in seen]
    assert not missing, printed


def test_the_other_commands_are_run_by_ci() -> None:
    given = {
        line.split("#")[0].strip() for block in blocks("sh") for line in block.splitlines() if line.strip()
    }
    assert given <= RUN_BY_CI
    script = (ROOT / ".ci" / "run").read_text()
    assert all(command.removeprefix("./") in script for command in given)


def test_the_table_of_exit_codes_is_complete() -> None:
    listed = {
        int(word) for row in re.findall(r"^\| ([\d, ]+) \|", README, re.MULTILINE) for word in row.split(",")
    }
    assert listed == {int(code) for code in Exit}


def test_every_link_leads_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", README)
    assert targets
    assert not [target for target in targets if not (ROOT / target).exists()]


def test_python_is_the_one_under_test(workplace: Path) -> None:
    found = subprocess.run(
        ["python", "-V"], env=environment(), capture_output=True, text=True, check=True, cwd=workplace
    )
    assert found.stdout.split()[1] == ".".join(map(str, sys.version_info[:3]))
