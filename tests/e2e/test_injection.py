"""Faults on purpose in real launches: what was injected is reported, and the verdict names the rank that was hit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.launch import tt_run
from tt_run.contract import Exit

PROGRAM = """
import sys
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
x = ttnn.ones((1, 1, 32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
for step in range(6):
    ttnn.add(ttnn.all_gather(x, 3, cluster_axis=1), 1.0)
print("done")
"""
TWO = ("--emulate", "--system", "t3000", "--split", "1x2")


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    (tmp_path / "prog.py").write_text(PROGRAM)
    return ["python", str(tmp_path / "prog.py")]


@pytest.mark.parametrize(
    ("fault", "code", "says"),
    [
        ("kill=rank:1,call=5", 137, "kill of rank 1 before call 5"),
        ("raise=rank:0,op=add,nth=2,text=boom", 1, "raise of rank 0 before call 4, add at"),
        ("exit=rank:1,site=prog.py:7,code=9", 9, "exit of rank 1 before call 1, all_gather at"),
        ("hang=rank:1,op=all_gather,nth=3", 1, "hang of rank 1 before call 5"),
    ],
)
def test_the_verdict_names_the_rank_that_was_hit(
    tmp_path: Path, program: list[str], fault: str, code: int, says: str
) -> None:
    report = tmp_path / "report.json"
    ran = tt_run(
        *TWO, "--report", report, "--inject", fault, *program, cwd=tmp_path, env={"TT_RUN_GUARD_TIMEOUT": "3"}
    )
    assert ran.code == code, ran.err
    assert f"injected: {says}" in ran.err, ran.err
    assert "the verdict names the rank that was hit" in ran.err
    found = json.loads(report.read_text())
    assert found["verdict"]["culprit"] == found["injected"][0]["rank"] == int(fault.split("rank:")[1][0])


def test_a_slow_rank_changes_nothing(tmp_path: Path, program: list[str]) -> None:
    report = tmp_path / "report.json"
    ran = tt_run(
        *TWO, "--report", report, "--inject", "slow=rank:1,op=add,nth=0,for=5ms", *program, cwd=tmp_path
    )
    assert ran.check().out.count("done") == 2
    assert [entry["rank"] for entry in json.loads(report.read_text())["injected"]] == [1] * 6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            (*TWO, "--inject", "kil=rank:1,call=1"),
            "error[TTR041]: --inject kil=rank:1,call=1: 'kil' is no fault",
        ),
        ((*TWO, "--inject", "kill=rank:5,call=1"), "there is no rank 5; the job has 2"),
        (
            ("--rank-binding", "t3k_2x4_two_hosts", "--inject", "kill=rank:1,call=1"),
            "only emulated ranks know it",
        ),
    ],
)
def test_what_cannot_be_injected(
    tmp_path: Path, program: list[str], words: tuple[str, ...], message: str
) -> None:
    ran = tt_run(*words, *program, cwd=tmp_path)
    assert ran.code in (Exit.USAGE, Exit.REFUSED)
    assert message in ran.err


def test_chaos(tmp_path: Path, program: list[str]) -> None:
    ran = tt_run(
        "chaos", "--runs", "3", "--seed", "4", "--format", "json", "--", *TWO, *program, cwd=tmp_path, timeout=110
    )  # fmt: skip
    assert ran.code == 0, ran.err
    trials = json.loads(ran.out)
    assert len(trials) == 3
    assert all(trial["named"] and trial["happened"] for trial in trials)
    refused = tt_run("chaos", "--", *program, cwd=tmp_path)
    assert refused.code == Exit.USAGE
    assert "only emulated ranks have faults" in refused.err


def test_a_fault_that_never_comes_is_told(tmp_path: Path, program: list[str]) -> None:
    ran = tt_run(*TWO, "--inject", "kill=rank:1,call=500", *program, cwd=tmp_path)
    assert "--inject: no fault happened, no rank came to what kill=rank:1,call=500 names" in ran.check().err
