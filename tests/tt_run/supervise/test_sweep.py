"""Which hosts are asked to end what is left of a run, with a script as the remote shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tt_run.launch.conftest import rank_plan
from tests.tt_run.supervise.conftest import Records
from tt_run.plan.model import LaunchPlan
from tt_run.supervise.sweep import sweep_abandoned


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
