"""Twelve mistakes that hang a cluster: each ends in one error on the ranks that wait, naming the culprit and its line."""

from __future__ import annotations

import re

import pytest

from tests.runtime.guard.programs import PROGRAMS, line_of_mistake, source
from tests.runtime.mpi import ROOT, Result, run_ranks

DESCRIPTORS = {2: "t3k_2x4_two_hosts", 4: "t3k_2x4_four_hosts"}
CODES = {
    "early-exit": "TTG002",
    "exception": "TTG003",
    "endless-loop": "TTG005",
    "point-to-point-cycle": "TTG004",
}


def run(name: str, ranks: int) -> Result:
    descriptor = ROOT / "configs" / "mgd" / f"{DESCRIPTORS[ranks]}.textproto"
    # Only a rank that never comes costs the deadline; all else is found at once, so that a busy machine changes no outcome.
    env = {
        "TT_MESH_GRAPH_DESC_PATH": str(descriptor),
        "TT_RUN_GUARD_TIMEOUT": "2" if name == "endless-loop" else "20",
    }
    return run_ranks(ranks, source(name), env=env, timeout=25)


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "wrong-submesh"])
def test_the_report_names_the_culprit_and_its_line(name: str, ranks: int) -> None:
    result = run(name, ranks)
    assert result.returncode == 1, result
    report = result.ranks[0].stderr
    assert f"error[{CODES.get(name, 'TTG001')}]" in report
    assert "Traceback" in report
    culprit = next(line for line in report.splitlines() if line.startswith("  rank 1: "))
    assert culprit.endswith("<-")
    assert f"program.py:{line_of_mistake(name)}" in culprit


@pytest.mark.parametrize("name", ["wrong-axis", "exception", "point-to-point-cycle"])
def test_every_waiting_rank_shows_the_same_report(name: str) -> None:
    result = run(name, 4)
    waiting = [rank for rank in range(4) if not (name == "exception" and rank == 1)]
    reports = {re.search(r"error\[TTG.*", result.ranks[rank].stderr, re.DOTALL) for rank in waiting}
    texts = {found.group(0).split("help:")[0] for found in reports if found}
    assert None not in reports
    assert len(texts) == 1


def test_a_wrong_submesh_over_the_same_ranks_is_a_divergence() -> None:
    """Both halves of the mesh lie on both ranks: the ranks meet, and say that they mean different devices."""
    report = run("wrong-submesh", 2).ranks[0].stderr
    assert "error[TTG001]: rank 1 disagrees with rank 0" in report
    assert "on 1x4 at 4 of mesh 0" in report
    assert f"program.py:{line_of_mistake('wrong-submesh')}" in report


def test_a_wrong_submesh_on_other_ranks_is_a_deadlock() -> None:
    """Each half lies on two of the four ranks: rank 0 waits for rank 1, which went on and waits for rank 0."""
    report = run("wrong-submesh", 4).ranks[0].stderr
    assert "error[TTG004]" in report
    line, tail = line_of_mistake("wrong-submesh"), line_of_mistake("wrong-submesh") + 2
    assert "rank 0 waits for rank 1 in all_gather" in report
    assert f"program.py:{line}" in report
    assert f"program.py:{tail}" in report
