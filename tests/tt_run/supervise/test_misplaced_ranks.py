"""Ranks on another host than the plan has for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tt_run.launch.conftest import rank_plan
from tests.tt_run.supervise.conftest import Records
from tt_run.plan.model import LaunchPlan
from tt_run.supervise.looking.misplaced_ranks import misplaced


@pytest.mark.parametrize(
    ("planned", "found", "told"),
    [
        (("h3", "h1", "h1"), ("h3", "h1", "h1"), ""),
        (
            ("h3", "h1", "h1"),
            ("h1", "h1", "h3"),
            "rank 0 on h1, and the plan has it on h3 (rank 2 elsewhere, too);",
        ),
        (("10.0.0.3", "h1", "h1"), ("h3", "h1", "h1"), ""),  # the same host by another name
        ((None, "h1", "h2"), ("h1", "h1", "h1"), "rank 2 on h1, and the plan has it on h2;"),
    ],
)
def test_ranks_on_the_host_of_others(
    tmp_path: Path, planned: tuple[str | None, ...], found: tuple[str, ...], told: str
) -> None:
    ranks = tuple(rank_plan(number, ("prog",), host=host) for number, host in enumerate(planned))
    records = Records(tmp_path / "run", len(ranks))
    for number, host in enumerate(found):
        records.status(number, host=host)
    said = misplaced(LaunchPlan(ranks, ("prog",), Path("/")), records.board)
    assert told in said and bool(said) == bool(told)
