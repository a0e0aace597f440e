"""One renderer: plain, on a terminal, in Markdown; and the pages of the documentation that are made of it."""

from __future__ import annotations

import re

import pytest

from mgd.catalogue import Family, Rule
from mgd.catalogue.pages import family_page, markdown, page
from tests.mgd.fixtures import ROOT
from tt_run.rules import FAMILIES

RULE = Rule(
    "ABC007",
    "name with a <bracket> in it",
    why="Because `code_words` stand in prose, and prose can be a good deal longer than a line of a terminal.",
    bad="name: <x>\nother: *",
    help="Write it_so, or `so`.",
)


def test_a_plain_page_has_neither_marks_nor_folds() -> None:
    lines = page(RULE).splitlines()
    assert lines[0] == "ABC007: name with a <bracket> in it"
    assert RULE.why in lines and "    name: <x>" in lines and "    other: *" in lines
    assert lines[-1] == "What to do: Write it_so, or `so`."
    assert not any(line.startswith("#") or "\x1b" in line for line in lines)


def test_a_terminal_gets_styles_and_its_width() -> None:
    text = page(RULE, colour=True, width=40)
    assert "\x1b[36mcode_words\x1b[0m" in text and "`" not in text
    bare = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
    assert all(len(line) <= 40 for line in bare)


def test_markdown_shows_what_was_written() -> None:
    lines = markdown(RULE)
    assert lines[0] == '### <a id="abc007"></a>ABC007: name with a \\<bracket\\> in it'
    assert "What to do: Write it\\_so, or `so`." in lines
    assert lines[lines.index("```text") + 1] == "name: <x>"


@pytest.mark.parametrize("family", FAMILIES, ids=lambda each: each.prefix)
def test_the_page_of_a_family_is_current_and_complete(family: Family) -> None:
    text = (ROOT / family.page).read_text()
    assert text == family_page(family)
    for rule in family.rules().values():
        assert f'<a id="{rule.code.lower()}"></a>' in text and f"(#{rule.code.lower()})" in text


@pytest.mark.parametrize(
    "rule", [rule for family in FAMILIES for rule in family.rules().values()], ids=lambda each: each.code
)
def test_every_rule_says_what_is_wrong_and_the_way_out(rule: Rule) -> None:
    assert rule.title and rule.why and (rule.help or rule.good)
    assert re.fullmatch(r"[A-Z]{3}\d{3}", rule.code)
