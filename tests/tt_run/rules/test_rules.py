"""The rules as data: one for each code, and examples that show what they say."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from mgd.catalogue import Rule, find, nearest
from mgd.catalogue.pages import page
from tests.tt_run.sandbox import Sandbox, codes
from tt_run.errors import TtRunError
from tt_run.rules import DESCRIPTORS, FAMILIES, GUARD, LAUNCH

RULES = list(LAUNCH.rules().values())
OURS = {code for family in FAMILIES if family is not DESCRIPTORS for code in family.rules()}
SOURCES = Path(__file__).resolve().parents[3] / "tt_run"
IN_A_BINDING_FILE = [each for each in RULES if each.bad.startswith(("rank_bindings:", "global_env: {"))]


def test_codes_are_unique_and_ascending() -> None:
    found = [each.code for each in RULES]
    assert found == sorted(set(found))
    assert all(re.fullmatch(r"TTR\d{3}", code) for code in found)


def test_every_rule_can_be_said() -> None:
    files = [path for path in SOURCES.rglob("*.py") if "rules" not in path.parts]
    said = {code for path in files for code in re.findall(r"TT[A-Z]\d{3}", path.read_text())}
    unsaid = sorted(OURS - said)
    assert not unsaid, f"nothing in tt_run/ tells these: {unsaid}"


def test_every_rule_is_told_in_a_test() -> None:
    here, tests = Path(__file__), SOURCES.parent / "tests"
    told = {
        code
        for path in tests.rglob("*.py")
        if path != here
        for code in re.findall(r"TT[A-Z]\d{3}", path.read_text(encoding="utf-8"))
    }
    missing = OURS - told
    assert not missing, (
        f"write the input that has it into tests/tt_run/plan/test_checks.py, or the program into tests/runtime/guard/: {sorted(missing)}"
    )


@pytest.mark.parametrize("each", RULES, ids=lambda each: each.code)
def test_every_rule_says_what_why_and_how(each: Rule) -> None:
    assert each.title and each.why.endswith((".", ")")) and each.help
    found = find(each.code.lower(), FAMILIES)
    assert found is not None
    text = page(found)
    assert text.startswith(f"{each.code}: {each.title}")
    assert each.help in text and each.why in text


def test_unknown_codes() -> None:
    assert find("TTR999", FAMILIES) is None
    assert nearest("TTR2040", FAMILIES, 1) == ["TTR204"]


def test_a_rule_is_found_by_name_in_whatever_family() -> None:
    for family in FAMILIES:
        names = [each.name for each in family.rules().values()]
        assert len(set(names)) == len(names)
    assert find("unknown-mesh", FAMILIES) is LAUNCH.find("204")
    assert find("ranks-disagree-on-a-call", FAMILIES) == GUARD.rules()["TTG001"]


def test_a_chapter_holds_every_rule() -> None:
    for family in FAMILIES:
        assert min(family.rules()) >= family.chapters[0][0]
        assert [start for start, _ in family.chapters] == sorted(start for start, _ in family.chapters)


@pytest.mark.parametrize("each", IN_A_BINDING_FILE, ids=lambda each: each.code)
def test_examples_show_their_rule(sandbox: Sandbox, each: Rule) -> None:
    """An example that is a binding file, completed with what it leaves out, is found wrong with that code."""
    text = each.bad
    if "rank_bindings:" not in text:
        text += "\nrank_bindings:\n  - {rank: 0, mesh_id: 0, mesh_host_rank: 0}\n  - {rank: 1, mesh_id: 0, mesh_host_rank: 1}"
    sandbox.two_ranks(f"{text}\nmesh_graph_desc_path: mesh.textproto\n")
    try:
        told = codes(sandbox.plan(check="warn").findings)
    except TtRunError as error:
        told = codes(error.diagnostics)
    assert each.code in told


def test_every_code_in_the_sources_is_in_the_catalogue() -> None:
    """Of launcher, ranks and descriptors alike: what is printed can be explained."""
    known = {code for family in FAMILIES for code in family.rules()}
    for package in ("mgd", "tt_run"):
        for path in (SOURCES.parent / package).rglob("*.py"):
            if "rules" not in path.parts:
                said = set(re.findall(r'"((?:MGD|TT[A-Z])\d{3})"', path.read_text(encoding="utf-8")))
                assert said <= known, (
                    f"{path.name} says {sorted(said - known)}: add the rule in mgd/rules or tt_run/rules"
                )


def test_severities_are_those_that_are_told() -> None:
    """A code that the sources tell with one severity alone has that one in its rule."""
    told: dict[str, set[str]] = {}
    for path in SOURCES.rglob("*.py"):
        text = path.read_text()
        for call in ast.walk(ast.parse(text)) if '"TTR' in text and "rules" not in path.parts else ():
            if not isinstance(call, ast.Call) or not call.args:
                continue
            code = getattr(call.args[0], "value", None)
            if not isinstance(code, str) or not re.fullmatch(r"TTR\d{3}", code):
                continue
            named = re.findall(r"Severity\.([A-Z]+)", ast.unparse(call))
            method = {"warn": "WARNING", "note": "NOTE"}.get(getattr(call.func, "attr", ""), "ERROR")
            told.setdefault(code, set()).add(named[0] if named else method)
    passed_on = {"TTR024", "TTR213", "TTR214", "TTR311", "TTR402"}  # by a name that says how grave it is
    rules = {each.code: each.severity.name for each in RULES}
    unlike = {c: found for c, found in told.items() if len(found) == 1 and found != {rules.get(c, *found)}}
    assert unlike.keys() <= passed_on, f"give these rules the severity that they are told with: {unlike}"
