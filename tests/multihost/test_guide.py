"""The guide to several hosts is true: its commands run on two hosts of those names and print what it says, numbers and folders apart."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.e2e.launch import ROOT
from tests.multihost.conftest import Cluster

pytestmark = pytest.mark.multihost

GUIDE = (ROOT / "docs" / "multi-host.md").read_text(encoding="utf-8")


def commands() -> list[tuple[str, list[str], int]]:
    """Each command with the lines and the exit code that the guide promises; `…` stands for any lines."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            codes = [int(line.split()[2]) for line in lines if line.startswith("# exit ")]
            shown = [line for line in lines if line != "…" and not line.startswith("# exit ")]
            found.append((command, shown, codes[0] if codes else 0))
    return found


def shape_of(line: str) -> str:
    """A line without numbers, folders and widths of columns."""
    return re.sub(r"\s+", " ", re.sub(r"\d[\d.]*", "#", re.sub(r"(?:/[\w.-]+)+", "/", line))).strip()


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the parts of the project that the commands name."""
    folder = tmp_path_factory.mktemp("guide")
    for name in ("configs", "examples", "scripts"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "train.py").write_text("")
    return folder


@pytest.mark.parametrize(
    ("command", "lines", "code"), [pytest.param(*shown, id=shown[0][:50]) for shown in commands()]
)
def test_a_command_does_what_the_guide_says(
    named_hosts: Cluster, workplace: Path, command: str, lines: list[str], code: int
) -> None:
    if command.startswith("scripts/"):
        # Hosts inside a host need more privileges than a host has; the script is the one that made these hosts.
        inner = command.partition(" -- ")[2]
        assert inner.startswith("tt-run ") and "--names node1,node2" in command
        command = inner
    ran = named_hosts.run("node1", "sh", "-c", command, cwd=workplace, timeout=50)
    printed = ran.out + ran.err
    assert ran.code == code, printed
    seen = {shape_of(line) for line in printed.splitlines()}
    assert not [line for line in lines if shape_of(line) not in seen], printed


def test_the_guide_has_commands_and_its_links_lead_somewhere() -> None:
    assert len(commands()) >= 6
    targets = re.findall(r"\]\(([^)#:]+)\)", GUIDE)
    assert not [target for target in targets if not (ROOT / "docs" / target).exists()]
