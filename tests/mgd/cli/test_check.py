"""`mgd check`: verdicts, forms of the report, exit codes, inputs of every kind."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from mgd.resources import configs_root
from tests.mgd.cli.run import Mgd


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_an_accepted_file(mgd: Mgd, tmp_path: Path, good: str) -> None:
    result = mgd("check", write(tmp_path, "a.textproto", good))
    assert result.code == 0
    assert "a.textproto: accepted   1 mesh, 8 devices, 2 hosts\n1 file, 1 accepted, 0 rejected" in result.out


def test_all_mistakes_of_a_file_with_their_places(mgd: Mgd, tmp_path: Path, bad: str) -> None:
    path = write(tmp_path, "bad.textproto", bad)
    result = mgd("check", path)
    assert result.code == 1
    assert "error[MGD012]" in result.out and "error[MGD005]" in result.out
    assert f"{path}:6:29" in result.out and f"{path}:7:21" in result.out
    assert "more: mgd explain MGD012" in result.out
    assert result.out.endswith("1 file, 0 accepted, 1 rejected: 2 errors, 0 warnings\n")


def test_json_is_one_object_a_line_with_exactly_the_agreed_keys(
    mgd: Mgd, tmp_path: Path, good: str, bad: str
) -> None:
    files = [write(tmp_path, "a.textproto", good), write(tmp_path, "b.textproto", bad)]
    result = mgd("check", "--format", "json", *files, tmp_path / "none.textproto")
    assert result.code == 2
    first, second, third = map(json.loads, result.out.splitlines())
    for each in (first, second, third):
        assert list(each) == ["file", "verdict", "profile", "diagnostics", "summary"]
    assert (first["verdict"], first["profile"], first["diagnostics"]) == ("accept", "full", [])
    assert first["summary"]["total_devices"] == 8 and first["summary"]["meshes"][0]["host_dims"] == [1, 2]
    assert (second["verdict"], second["summary"]) == ("reject", {})
    assert list(second["diagnostics"][0]) == ["code", "severity", "message", "file", "line", "column", "help"]
    assert {(each["code"], each["line"]) for each in second["diagnostics"]} == {("MGD012", 6), ("MGD005", 7)}
    assert third["verdict"] == "reject" and third["diagnostics"][0]["code"] == "MGD101"


def test_github_annotations_are_escaped(mgd: Mgd, tmp_path: Path, bad: str) -> None:
    path = write(tmp_path, "a,b.textproto", bad)
    result = mgd("check", "--format", "github", path)
    assert result.code == 1
    line = next(line for line in result.out.splitlines() if "MGD012" in line)
    assert line.startswith(f"::error file={str(path).replace(',', '%2C')},line=6,col=29,title=MGD012::")
    assert "%0Ahelp: " in line and result.out.count("\n") == 2


def test_sarif_names_rules_and_places(mgd: Mgd, tmp_path: Path, good: str, bad: str) -> None:
    files = [write(tmp_path, "a.textproto", good), write(tmp_path, "b.textproto", bad)]
    result = mgd("check", "--format", "sarif", *files)
    assert result.code == 1
    run = json.loads(result.out)["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert sorted(rules) == ["MGD005", "MGD012"]
    for each in run["results"]:
        assert rules[each["ruleIndex"]] == each["ruleId"] and each["level"] == "error"
        assert each["locations"][0]["physicalLocation"]["region"]["startLine"] in (6, 7)


def test_the_runtime_profile_is_stricter(mgd: Mgd) -> None:
    full, runtime = mgd("check", "closetbox"), mgd("check", "--profile", "runtime", "closetbox")
    assert (full.code, runtime.code) == (0, 1)
    assert "warning[MGD053]" in full.out and "error[MGD053]" in runtime.out


def test_folders_are_searched_and_sorted(mgd: Mgd, tmp_path: Path, good: str, bad: str) -> None:
    (tmp_path / "sub").mkdir()
    write(tmp_path / "sub", "b.textproto", bad)
    write(tmp_path, "a.textproto", good)
    write(tmp_path, "rank_bindings.yaml", "rank_bindings: []\n")
    result = mgd("check", "--format", "json", tmp_path)
    files = [Path(json.loads(line)["file"]).name for line in result.out.splitlines()]
    assert files == ["a.textproto", "b.textproto"]


@pytest.mark.parametrize(
    "text",
    [
        "ChipSpec: {arch: blackhole\n",  # broken YAML
        "# boards\nBoard:\n  - {name: A}\nMesh: []\n",
        "{ChipSpec: {}, Board: []}",
    ],
)
def test_a_folder_gives_mgd_1_0_whatever_its_name(mgd: Mgd, tmp_path: Path, text: str) -> None:
    write(tmp_path, "host_board_mismatch.yaml", text)
    write(tmp_path, "training.yml", "Mesh: [1, 2]\nlayers: 3\n")
    result = mgd("check", "--format", "json", tmp_path)
    verdicts = {Path(each["file"]).name: each["verdict"] for each in map(json.loads, result.out.splitlines())}
    assert (result.code, verdicts) == (1, {"host_board_mismatch.yaml": "reject"})


@pytest.mark.parametrize("name", ["mgd.yaml", "my_mesh_graph_descriptor.yml"])
def test_a_folder_gives_what_is_named_like_a_descriptor(mgd: Mgd, tmp_path: Path, name: str) -> None:
    write(tmp_path, name, "layers: 3\n")
    assert mgd("check", tmp_path).code == 1


def test_mgd_1_0_on_standard_input(mgd: Mgd) -> None:
    text = (
        "ChipSpec: {arch: blackhole, ethernet_ports: {N: 2, E: 2, S: 2, W: 2}}\n"
        "Board: [{name: A, type: Mesh, topology: [2, 2]}]\n"
        "Mesh: [{id: 0, board: A, device_topology: [2, 4], host_topology: [1, %d]}]\n"
        "Graph: []\n"
    )
    assert mgd("check", "-", stdin=text % 2).code == 0
    result = mgd("check", "-", stdin=text % 1)
    assert result.code == 1 and "error[MGD210]" in result.out and "--> <stdin>:3:66" in result.out


def test_a_misspelt_system_is_hinted_at(mgd: Mgd) -> None:
    result = mgd("check", "t300")
    assert result.code == 2 and "did you mean the system t3000" in result.out
    assert "check the path" in mgd("check", "x" * 300).out


@pytest.mark.parametrize("name", [".venv", "env/lib/site-packages", "node_modules"])
def test_what_other_tools_keep_in_a_folder_is_checked_where_it_is_named(
    mgd: Mgd, tmp_path: Path, good: str, bad: str, name: str
) -> None:
    (tmp_path / name).mkdir(parents=True)
    write(tmp_path, "mesh.textproto", good)
    write(tmp_path / name, "other.textproto", bad)
    assert mgd("check", str(tmp_path)).code == 0
    assert mgd("check", str(tmp_path / name)).code == 1


def test_a_folder_without_descriptors_is_wrong_usage(mgd: Mgd, tmp_path: Path) -> None:
    result = mgd("check", tmp_path)
    assert result.code == 2 and "no descriptor" in result.err


def test_standard_input(mgd: Mgd, good: str, bad: str) -> None:
    assert mgd("check", "-", stdin=good).code == 0
    result = mgd("check", "-", stdin=bad)
    assert result.code == 1 and "--> <stdin>:6:29" in result.out


def test_all_shipped_systems_at_once(mgd: Mgd) -> None:
    result = mgd("check", "-q", configs_root() / "mgd")
    assert result.code == 0 and "0 rejected: 0 errors" in result.out


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xef\xbb\xbfmesh_descriptors {}",
        b"mesh\0",
        b"\x89PNG\r\n\x1a\n\xff\xfe\x00",
        b"\xff\xfe\xfd",
        b"}" * 100_000,
        b"graph { " * 100_000,
        b'name: "' + b"x" * 100_000,
        b"mesh_descriptors { device_topology { dims: [2147483647, 2147483647] } }",
        b"garbage",
    ],
)
def test_whatever_the_file_holds_is_a_verdict(mgd: Mgd, tmp_path: Path, content: bytes) -> None:
    result = mgd("check", write(tmp_path, "x.textproto", content))
    assert result.code == 1 and "error[MGD" in result.out


def test_a_missing_file_is_answered_with_a_similar_name(mgd: Mgd, tmp_path: Path, good: str) -> None:
    write(tmp_path, "two_hosts.textproto", good)
    result = mgd("check", tmp_path / "two_host.textproto")
    assert result.code == 2 and "two_hosts.textproto?" in result.out


@pytest.mark.parametrize("word", ["a\0b", "x" * 5000, "/dev/null/x", ""])
def test_names_that_no_file_can_have(mgd: Mgd, word: str) -> None:
    assert mgd("check", word).code == 2


def test_a_file_that_may_not_be_read(mgd: Mgd, tmp_path: Path, good: str) -> None:
    path = write(tmp_path, "locked.textproto", good)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    assert mgd("check", path).code == 2


def test_a_special_file_does_not_hang(mgd: Mgd) -> None:
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    assert mgd("check", "/dev/null").code == 1  # nothing in it


def test_no_file_at_all_is_wrong_usage(mgd: Mgd) -> None:
    result = mgd("check")
    assert result.code == 2 and "FILE" in result.err


def test_colour_follows_the_environment(mgd: Mgd, monkeypatch: pytest.MonkeyPatch, bad: str) -> None:
    assert "\x1b" not in mgd("check", "-", stdin=bad).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1;31merror[MGD012]" in mgd("check", "-", stdin=bad).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in mgd("check", "-", stdin=bad).out


def test_concise_is_a_line_per_finding_that_problem_matchers_read(mgd: Mgd, bad: str, tmp_path: Path) -> None:
    import re

    file = tmp_path / "a b.textproto"
    file.write_text(bad)
    result = mgd("check", "--format", "concise", str(file))
    assert result.code == 1
    matcher = re.compile(r"^(.*):(\d+):(\d+): (error|warning|note): (.*) \[([A-Z]{3}\d{3})\]$")
    found = [matcher.match(line) for line in result.out.splitlines()]
    assert found and all(found)
    assert found[0] is not None and found[0].groups()[:4] == (str(file), "6", "29", "error")
    whole = mgd("check", "--format", "concise", str(tmp_path / "none.textproto")).out
    assert whole.startswith(f"{tmp_path}/none.textproto:1:1: error: ")  # where there is no line, the first


@pytest.mark.parametrize(
    ("name", "uri"),
    [("a b#c.textproto", "a%20b%23c.textproto"), ("ä%.textproto", "%C3%A4%25.textproto")],
)
def test_sarif_encodes_names_as_uris(
    mgd: Mgd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: str, name: str, uri: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(bad)
    for word, wanted in ((name, uri), (str(tmp_path / name), f"file://{tmp_path}/{uri}")):
        log = json.loads(mgd("check", "--format", "sarif", word).out)
        places = [each["locations"][0]["physicalLocation"] for each in log["runs"][0]["results"]]
        assert {place["artifactLocation"]["uri"] for place in places} == {wanted}
    assert log["runs"][0]["columnKind"] == "unicodeCodePoints"


def test_the_line_and_a_caret_are_shown(mgd: Mgd) -> None:
    text = "mesh_descriptors {\n  name: 3\n}\n"
    lines = mgd("check", "-", stdin=text).out.splitlines()
    assert lines[1:4] == ["  --> <stdin>:2:9", "  2 |   name: 3", "    |         ^"]
