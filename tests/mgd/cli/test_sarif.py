"""Logs of `mgd check --format sarif` are SARIF 2.1.0: its rules for every object that we write, over a file for each rule."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest

from mgd.rules import all_rules
from tests.mgd.cli.run import Mgd

CORPUS = Path(__file__).parents[2] / "corpus" / "mgd"


def shape(needed: str, **properties: Any) -> dict[str, Any]:
    """An object with these properties and no others."""
    return {
        "type": "object",
        "required": needed.split(),
        "additionalProperties": False,
        "properties": properties,
    }


TEXT = {"type": "string", "minLength": 1}
MESSAGE = shape("text", text=TEXT)
COUNT = {"type": "integer", "minimum": 1}
# Sections 3.29 to 3.31 of the standard (Oasis, March 2020): a region has a line, a column counts from 1, a place is a URI reference.
PLACE = shape(
    "artifactLocation",
    artifactLocation=shape("uri", uri={"type": "string", "pattern": r"^[!#-;=?-Z_a-z~\[\]%]+$"}),
    region=shape("startLine", startLine=COUNT, startColumn=COUNT),
)
RESULT = shape(
    "ruleId ruleIndex level message locations",  # 3.27
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level={"enum": ["none", "note", "warning", "error"]},
    message=MESSAGE,
    locations={"type": "array", "items": shape("physicalLocation", physicalLocation=PLACE), "maxItems": 1},
)
RULE = shape(
    "id name shortDescription fullDescription help",  # 3.49
    id=TEXT,
    name=TEXT,
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help=MESSAGE,
)
DRIVER = shape(
    "name version rules",  # 3.19
    name={"const": "mgd"},
    version=TEXT,
    rules={"type": "array", "items": RULE, "uniqueItems": True},
)
LOG = shape(
    "$schema version runs",  # 3.13 and 3.14
    **{"$schema": {"const": "https://json.schemastore.org/sarif-2.1.0.json"}, "version": {"const": "2.1.0"}},
    runs={
        "type": "array",
        "minItems": 1,
        "maxItems": 1,
        "items": shape(
            "tool columnKind results",
            tool=shape("driver", driver=DRIVER),
            columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            results={"type": "array", "items": RESULT},
        ),
    },
)


def bad_files() -> list[Path]:
    return sorted(
        next(iter(sorted(folder.glob("bad*")))) for folder in CORPUS.iterdir() if [*folder.glob("bad*")]
    )


def test_a_log_of_a_file_for_each_rule(mgd: Mgd) -> None:
    files = bad_files()
    assert len(files) > 50
    log = json.loads(mgd("check", "--format", "sarif", *files).out)
    jsonschema.validate(log, LOG, cls=jsonschema.Draft202012Validator)
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules) and set(rules) <= set(all_rules())
    assert {result["ruleId"] for result in run["results"]} == set(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        (location,) = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert Path(unquote(uri).removeprefix("file://")) in files
    for rule in run["tool"]["driver"]["rules"]:
        assert re.fullmatch(r"MGD\d{3}", rule["id"])


def test_a_log_of_nothing_wrong(mgd: Mgd) -> None:
    log = json.loads(mgd("check", "--format", "sarif", "t3000").out)
    jsonschema.validate(log, LOG, cls=jsonschema.Draft202012Validator)
    assert log["runs"][0]["results"] == [] == log["runs"][0]["tool"]["driver"]["rules"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("version",), "2.0.0"),
        (("runs", 0, "results", 0, "level"), "fatal"),
        (("runs", 0, "results", 0, "message"), {"text": ""}),
        (("runs", 0, "results", 0, "locations", 0, "physicalLocation", "region", "startLine"), 0),
        (("runs", 0, "results", 0, "locations", 0, "physicalLocation", "artifactLocation", "uri"), "a b"),
    ],
)
def test_what_the_standard_forbids_is_seen(mgd: Mgd, path: tuple[str | int, ...], value: object) -> None:
    log = json.loads(mgd("check", "--format", "sarif", bad_files()[0]).out)
    inner: Any = log
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(log, LOG, cls=jsonschema.Draft202012Validator)
