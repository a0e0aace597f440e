"""Debuggers of ranks: which the plan cannot have, and what the ranks find in the run folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tt_run.launch.conftest import plan_of, rank_plan
from tt_run import contract
from tt_run.launch.debuggers import editors, unfit_debuggers, write_debuggers
from tt_run.launch.options import LaunchOptions
from tt_run.plan.model import LaunchPlan, Placement


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ((), []),
        (("1:5678", "10:65535"), [(1, 5678), (10, 65535)]),
        (("1:65536",), None),
        (("1:0",), None),
        (("0:1", "1:05678"), None),
        (("5678",), None),
        (("-1:5678",), None),
    ],
)
def test_rank_and_port_of_an_editor(texts: tuple[str, ...], found: list[tuple[int, int]] | None) -> None:
    assert editors(texts) == found


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (LaunchOptions(), []),
        (LaunchOptions(debug_rank=2, debugpy=("0:5678",)), []),
        (LaunchOptions(debug_rank=0, stdin=True), ["--debug-rank and --stdin both read this terminal"]),
        (LaunchOptions(debugpy=("0:5678",), stdin=True), []),
        (LaunchOptions(debugpy=("x", "2:1")), ["--debugpy x 2:1 is not understood"]),
        (LaunchOptions(debug_rank=0, debugpy=("0:1",)), ["rank 0 is given two debuggers"]),
        (LaunchOptions(debugpy=("1:1", "1:2")), ["rank 1 is given two debuggers"]),
        (
            LaunchOptions(debugpy=("0:7", "2:8", "1:7")),
            ["ranks 0 and 1 of one host would both wait on port 7"],
        ),
        (LaunchOptions(debug_rank=3), ["there is no rank 3; the job has ranks 0 to 2"]),
        (
            LaunchOptions(debug_rank=7, debugpy=("1:1", "3:1"), stdin=True),
            ["there is no rank 7; the job has ranks 0 to 2", "there is no rank 3; the job has ranks 0 to 2"],
        ),
    ],
)
def test_a_debugger_that_no_rank_can_have_is_refused(options: LaunchOptions, wrong: list[str]) -> None:
    found = unfit_debuggers(options, plan_of(["a"], ["b"], ["c"]))
    assert [(each.code, each.message) for each in found] == [("TTR047", each) for each in wrong]
    if "no rank" in "".join(wrong):
        assert found[0].help == "write --debug-rank 2, or --debugpy 2:5678 for an editor"


@pytest.mark.parametrize(
    ("host", "is_far"), [(None, False), ("localhost", False), (os.uname().nodename, False), ("far", True)]
)
def test_a_terminal_is_lent_to_ranks_of_this_machine(host: str | None, is_far: bool) -> None:
    ranks = (rank_plan(0, ["a"], host="elsewhere"), rank_plan(1, ["b"], host=host))
    plan = LaunchPlan(ranks, ("a",), Path("/"), placement=Placement())
    found = [each.message for each in unfit_debuggers(LaunchOptions(debug_rank=1), plan)]
    assert found == ["rank 1 runs on far, which has not this terminal"] * is_far


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (LaunchOptions(debug_rank=0), "0 terminal\n"),
        (LaunchOptions(debug_rank=2, debugpy=("1:5678", "0:2")), "2 terminal\n1 5678\n0 2\n"),
        (LaunchOptions(), None),
    ],
)
def test_what_ranks_find_in_the_run_folder(tmp_path: Path, options: LaunchOptions, text: str | None) -> None:
    path = tmp_path / contract.DEBUGGERS_FILE
    path.parent.mkdir(exist_ok=True)
    write_debuggers(options, tmp_path)
    assert (path.read_text() if path.exists() else None) == text
