"""The JSON schemas know what the readers know: shipped files fit, unknown keys and wrong types do not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from mgd.resources import configs_root
from tests.mgd.fixtures import ROOT, RULE_FOLDERS
from tt_run.inputs import bindings
from tt_run.inputs.hosts import pinnings

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed (extra test)")
FOLDER = configs_root() / "schemas"
NAMES = sorted(path.name.removesuffix(".schema.json") for path in FOLDER.glob("*.json"))


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.schema.json").read_text())
    return found


def fits(name: str, text: str) -> bool:
    value = json.loads(json.dumps(yaml.safe_load(text)))  # keys become text, as an editor sees them
    return bool(jsonschema.Draft7Validator(schema(name)).is_valid(value))


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_one(name: str) -> None:
    jsonschema.Draft7Validator.check_schema(schema(name))


@pytest.mark.parametrize(
    "path", sorted((configs_root() / "bindings").glob("*.yaml")), ids=lambda path: path.name
)
def test_shipped_bindings_fit(path: Path) -> None:
    assert fits("rank-bindings", path.read_text())


@pytest.mark.parametrize(
    "path", sorted(RULE_FOLDERS.glob("*/good*.yaml")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_sound_descriptors_in_yaml_fit(path: Path) -> None:
    assert fits("mesh-graph-descriptor-1.0", path.read_text())


def test_the_schemas_know_the_keys_of_the_readers() -> None:
    top = schema("rank-bindings")["properties"]
    assert set(top) == set(bindings._TOP_KEYS)
    assert set(top["rank_bindings"]["items"]["properties"]) == set(bindings._RANK_KEYS)
    pins = schema("rank-pinnings")["properties"]
    assert set(pins) == {pinnings._KEY, pinnings._GROUPS}
    assert set(pins["rank_pinnings"]["items"]["properties"]) == set(pinnings._ENTRY_KEYS)


GOOD = "rank_bindings: [{rank: 0, mesh_id: 0}]\nmesh_graph_desc_path: x\n"


@pytest.mark.parametrize(
    ("name", "text", "sound"),
    [
        ("rank-bindings", GOOD, True),
        ("rank-bindings", GOOD.replace("mesh_id", "meshid"), False),
        ("rank-bindings", GOOD.replace("mesh_id: 0", "mesh_id: -1"), False),
        ("rank-bindings", GOOD.replace("mesh_graph_desc_path: x", ""), False),
        ("rank-bindings", GOOD + "global_env: {A B: x}", False),
        ("rank-bindings", GOOD + "global_env: {A: '1', B: 2}", True),
        ("rank-bindings", GOOD + "mock_cluster_rank_binding: {0: a.yaml}", True),
        ("rank-bindings-mapping", "subcontext_id_to_rank_bindings: {0: a.yaml, 1: b.yaml}", True),
        ("rank-bindings-mapping", "subcontext_id_to_rank_bindings: {a: a.yaml}", False),
        ("rank-pinnings", "rank_pinnings: [{rank: 0, host: a}, {mesh_id: 1, host: b}]", True),
        ("rank-pinnings", "rank_pinnings: [{rank: 0, mesh_id: 1, host: a}]", False),
        ("rank-pinnings", "rank_pinnings: [{mesh_host_rank: 0, host: a}]", False),
        (
            "rank-pinnings",
            "mesh_host_pinnings: [{mesh_host_ranks: [{mesh_id: 0, mesh_host_rank: 0}], "
            "host_placements: [{hostname: a, TT_VISIBLE_DEVICES: '0'}]}]",
            True,
        ),
    ],
)
def test_what_a_reader_takes_and_refuses(name: str, text: str, sound: bool) -> None:
    assert fits(name, text) is sound


def test_the_hooks_of_pre_commit_call_verbs_that_exist() -> None:
    from mgd.cli.group import VERBS

    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    for hook in hooks:
        tool, verb, *_ = hook["entry"].split()
        assert tool == "mgd" and verb in VERBS and hook["language"] == "python"


@pytest.mark.parametrize(
    "page", ["json-outputs", "configuration-files", "commands", "mgd-commands", "variables"]
)
def test_every_key_and_option_of_the_reference_says_what_it_is(page: str) -> None:
    rows = (ROOT / f"docs/reference/{page}.md").read_text(encoding="utf-8").splitlines()
    assert [row for row in rows if re.search(r"\|\s*\|$", row)] == []
