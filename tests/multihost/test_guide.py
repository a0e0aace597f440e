"""The guide to several hosts is true: its commands run on two hosts of those names and print what it says, numbers and folders apart."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.e2e.launch import ROOT
from tests.e2e.shown import Shown, commands
from tests.multihost.conftest import Cluster

pytestmark = [pytest.mark.multihost, pytest.mark.wide]

PAGES = [
    (ROOT / "docs" / name).read_text(encoding="utf-8")
    for name in ("multi-host.md", "schedulers.md", "tutorial.md")
]
COMMANDS = [shown for text in PAGES for shown in commands(text) if shown.over_hosts]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the parts of the project that the commands name."""
    folder = tmp_path_factory.mktemp("guide")
    for name in ("configs", "examples", "scripts"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "train.py").write_text("")
    return folder


@pytest.mark.parametrize("shown", COMMANDS, ids=lambda shown: shown.command[:50])
def test_a_command_does_what_the_guide_says(named_hosts: Cluster, workplace: Path, shown: Shown) -> None:
    command = shown.command
    if command.startswith("scripts/"):
        # Hosts inside a host need more privileges than a host has; the script is the one that made these hosts.
        inner = command.partition(" -- ")[2]
        assert inner.startswith("tt-run ") and "--names node1,node2" in command
        command = inner
    ran = named_hosts.run("node1", "sh", "-c", command, cwd=workplace, timeout=50)
    printed = ran.out + ran.err
    assert ran.code == shown.code, printed
    assert not shown.missing(printed), printed


def test_the_guide_has_commands() -> None:
    assert len(COMMANDS) >= 5
