"""Every rule: its folder of fixtures, the line and column it points to, its page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mgd.catalogue.pages import page
from mgd.diagnostics import Severity
from mgd.errors import UnsayableError
from mgd.reading import load
from mgd.rules import all_rules, find_rule, severity_of
from mgd.v1 import to_yaml
from tests.mgd.fixtures import RULE_FOLDERS, findings

FOLDERS = sorted(path for path in RULE_FOLDERS.iterdir() if path.is_dir())


def _bad() -> Iterator[tuple[str, str, int, int]]:
    for folder in FOLDERS:
        expected = folder / "expected.txt"
        for line in expected.read_text().splitlines() if expected.exists() else ():
            if line and not line.startswith("#"):
                name, place = line.rsplit(" ", 1)
                row, column = place.split(":")
                yield folder.name, name, int(row), int(column)


def _good() -> list[Path]:
    return [path for folder in FOLDERS for path in sorted(folder.glob("good*"))]


def test_every_rule_has_its_folder() -> None:
    wanted = [f"{rule.code}-{rule.name}" for rule in all_rules().values()]
    found = [folder.name for folder in FOLDERS]
    assert found == wanted, (
        f"each rule has a folder of bad and good files in {RULE_FOLDERS}, called CODE-name: "
        f"make {sorted(set(wanted) - set(found))}, remove {sorted(set(found) - set(wanted))}"
    )


def test_every_folder_says_where_its_culprits_are() -> None:
    missing = [folder.name for folder in FOLDERS if not (folder / "expected.txt").exists()]
    assert not missing, (
        f"{missing}: write expected.txt with a line `bad.textproto LINE:COLUMN` for each culprit (0:0: the file as a whole)"
    )


@pytest.mark.parametrize(("folder", "name", "line", "column"), list(_bad()))
def test_bad_file_is_hit_at_the_culprit(folder: str, name: str, line: int, column: int) -> None:
    code = folder.split("-")[0]
    profile = "runtime" if all_rules()[code].profile == "runtime" else "full"
    found = [each for each in findings(RULE_FOLDERS / folder / name, profile) if each.code == code]
    places = [(each.position.line, each.position.column) for each in found if each.position]
    assert (line, column) in places, (
        f"{RULE_FOLDERS / folder}/expected.txt wants {code} in {name} at {line}:{column}; found at {places or 'no place'}. "
        "A new rule needs a check in mgd/checks/ that reports it; if that stands, correct the line of expected.txt."
    )
    assert all(each.severity is severity_of(code, profile) for each in found)
    assert all(each.message and each.help for each in found)


@pytest.mark.parametrize("path", _good(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_good_file_passes(path: Path) -> None:
    found = (
        findings(path, "runtime")
        if all_rules()[path.parent.name[:6]].profile == "runtime"
        else findings(path)
    )
    assert path.parent.name[:6] not in [each.code for each in found]
    assert not [each for each in found if each.is_error]


def test_what_the_first_format_cannot_say_is_listed() -> None:
    path = RULE_FOLDERS / "MGD220-not-sayable-in-first-format" / "bad.textproto"
    with pytest.raises(UnsayableError) as caught:
        to_yaml(load(path))
    assert {each.code for each in caught.value.diagnostics} == {"MGD220"}
    told = " ".join(each.message for each in caught.value.diagnostics)
    assert "pinnings" in told and "policy STRICT" in told


@pytest.mark.parametrize("code", list(all_rules()))
def test_page_tells_everything(code: str) -> None:
    rule = all_rules()[code]
    text = page(rule)
    for part in (rule.code, rule.title, rule.purpose, rule.why):
        assert part in text
    assert rule.name == rule.name.lower() and " " not in rule.name
    assert rule.bad != rule.good


def test_rules_are_found_by_code_number_and_name() -> None:
    rule = all_rules()["MGD012"]
    assert find_rule("mgd012") is find_rule("12") is find_rule("uneven-host-split") is rule
    assert find_rule("MGD999") is None and find_rule("") is None


def test_runtime_rules_weigh_by_profile() -> None:
    assert severity_of("MGD053") is Severity.WARNING
    assert severity_of("MGD053", "runtime") is Severity.ERROR
