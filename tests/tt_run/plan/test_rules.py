"""The rules as data: one for each code, and examples that show what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tt_run.sandbox import Sandbox, codes
from tt_run.errors import TtRunError
from tt_run.plan.rules import RULES, Rule, explain, rule, table

SOURCES = Path(__file__).resolve().parents[3] / "tt_run"
IN_A_BINDING_FILE = [each for each in RULES if each.example.startswith(("rank_bindings:", "global_env: {"))]


def test_codes_are_unique_and_ascending() -> None:
    found = [each.code for each in RULES]
    assert found == sorted(set(found))
    assert all(re.fullmatch(r"TTR\d{3}", code) for code in found)


@pytest.mark.parametrize("folder", ["inputs", "plan"])
def test_every_code_that_the_planner_can_say_has_a_rule(folder: str) -> None:
    files = [path for path in (SOURCES / folder).rglob("*.py") if "rules" not in path.parts]
    said = {code for path in files for code in re.findall(r'"(TTR\d{3})"', path.read_text())}
    assert said and said <= {each.code for each in RULES}


def test_every_rule_can_be_said() -> None:
    files = [path for path in SOURCES.rglob("*.py") if "rules" not in path.parts]
    said = {code for path in files for code in re.findall(r"TTR\d{3}", path.read_text())}
    assert {each.code for each in RULES} <= said


@pytest.mark.parametrize("each", RULES, ids=lambda each: each.code)
def test_every_rule_says_what_why_and_how(each: Rule) -> None:
    assert each.title and each.why.endswith((".", ")")) and each.hint
    page = explain(each.code.lower())
    assert page.startswith(f"{each.code}: {each.title}")
    assert each.hint in page and each.why in page


def test_unknown_codes() -> None:
    with pytest.raises(KeyError):
        rule("TTR999")


def test_the_table_has_a_row_for_each_rule() -> None:
    rows = table().splitlines()
    assert len(rows) == len(RULES) + 2
    assert all(row.count(" | ") == 3 for row in rows[2:])


@pytest.mark.parametrize("each", IN_A_BINDING_FILE, ids=lambda each: each.code)
def test_examples_show_their_rule(sandbox: Sandbox, each: Rule) -> None:
    """An example that is a binding file, completed with what it leaves out, is found wrong with that code."""
    text = each.example
    if "rank_bindings:" not in text:
        text += "\nrank_bindings:\n  - {rank: 0, mesh_id: 0, mesh_host_rank: 0}\n  - {rank: 1, mesh_id: 0, mesh_host_rank: 1}"
    sandbox.two_ranks(f"{text}\nmesh_graph_desc_path: mesh.textproto\n")
    try:
        told = codes(sandbox.plan(check="warn").findings)
    except TtRunError as error:
        told = codes(error.diagnostics)
    assert each.code in told
