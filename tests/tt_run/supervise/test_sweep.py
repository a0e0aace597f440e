"""Which hosts are asked to end what is left of a run, with a script as the remote shell."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.tt_run.launch.conftest import rank_plan
from tests.tt_run.supervise.conftest import Records
from tt_run.plan.model import LaunchPlan
from tt_run.supervise.sweep import _SCRIPT, sweep_abandoned

OURS = 4199999  # a process number that no mpirun has here


@pytest.mark.parametrize(
    ("planned", "started", "asked"),
    [
        ((None, "localhost"), {}, set()),
        (("h1", "h2"), {}, {"h1", "h2"}),
        (("h1", None), {}, {"h1"}),
        (("h1", "h2"), {0: "h3"}, {"h3", "h2"}),
        (("h1", "h2"), {0: "h1", 1: "h2"}, {"h1", "h2"}),
    ],
)
def test_hosts_of_a_run_whose_launcher_is_gone(
    records: Records,
    tmp_path: Path,
    planned: tuple[str | None, ...],
    started: dict[int, str],
    asked: set[str],
) -> None:
    """A rank that has told of its start is where it says, another one may be on its way to where it was planned."""
    agent = tmp_path / "agent"
    agent.write_text(f'#!/bin/sh\n: > "{tmp_path}/asked-$1"\n')
    agent.chmod(0o755)
    for rank, host in started.items():
        records.status(rank, host=host)
    ranks = tuple(rank_plan(number, ("true",), host=host) for number, host in enumerate(planned))
    plan = LaunchPlan(ranks, ("true",), tmp_path)
    sweep_abandoned(plan, records.folder, {"PRTE_MCA_plm_ssh_agent": str(agent)}, 1)
    assert {path.name.removeprefix("asked-") for path in tmp_path.glob("asked-*")} == asked


@pytest.mark.parametrize("name", ["prted.{number}", "prted.h2.{number}.0"], ids=["5.0.10", "5.0.7"])
def test_folders_of_dead_daemons_go_and_those_of_others_stay(tmp_path: Path, name: str) -> None:
    """Releases write the number of the daemon's process at different places of the folder's name."""
    dead = subprocess.Popen(["true"])
    dead.wait(timeout=10)
    kept = {}
    for number, launcher in ((dead.pid, OURS), (os.getpid(), OURS), (dead.pid + 1, OURS - 1)):
        folder = tmp_path / name.format(number=number)
        for each in (f"pmix.h2.tool.{number}", f"pmix.h2.tool.prterun-h1-{launcher}@0", "0"):
            (folder / each).mkdir(parents=True)
        kept[folder.name] = (number, launcher) != (dead.pid, OURS)
    script = _SCRIPT.format(mark="nothing=here", groups="''", launcher=OURS)
    subprocess.run(["sh", "-c", script], env={**os.environ, "TMPDIR": str(tmp_path)}, timeout=30, check=True)
    assert {folder.name for folder in tmp_path.iterdir()} == {each for each, stays in kept.items() if stays}
