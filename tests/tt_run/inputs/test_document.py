"""YAML with positions."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mgd import documents
from mgd.diagnostics import Severity
from mgd.documents import Node, Scalar
from tests.tt_run.sandbox import Sandbox, codes, only, places
from tt_run.inputs.document import Document, read_document


def read(sandbox: Sandbox, text: str) -> Document | None:
    return read_document(sandbox.write("f.yaml", text), sandbox.site, sandbox.findings)


def value_of(node: Node) -> str:
    assert isinstance(node, Scalar)
    return node.text


def root(sandbox: Sandbox, text: str) -> Document:
    document = read(sandbox, text)
    assert document is not None and document.root is not None
    return document


def test_fields_know_where_they_stand(sandbox: Sandbox) -> None:
    document = root(sandbox, "# comment\nalpha: 1\nbeta:\n    gamma: 2\n")
    fields = document.mapping(document.root, "the file")
    inner = document.mapping(fields["beta"].value, "beta")
    assert str(document.at(fields["alpha"].value)) == "f.yaml:2:8"
    assert str(document.at(inner["gamma"].key)) == "f.yaml:4:5"


def test_repeated_keys_are_told_with_both_places_and_the_last_counts(sandbox: Sandbox) -> None:
    document = root(sandbox, "a: 1\nb: 2\na: 3\n")
    fields = document.mapping(document.root, "the file")
    assert document.integer(fields["a"].value, "a") == 3
    assert places(only(sandbox.findings.judged, "TTR107")) == ["f.yaml:3:1", "f.yaml:1:1"]


def test_unknown_keys_name_the_nearest_one(sandbox: Sandbox) -> None:
    document = root(sandbox, "global_envs: {}\nzzz: 1\n")
    assert document.mapping(document.root, "the file", ("global_env", "rank_bindings")) == {}
    near, far = sandbox.findings.judged
    assert "global_env" in near.help and near.is_error
    assert "known keys: global_env, rank_bindings" in far.help


def test_merge_keys_yield_to_own_keys(sandbox: Sandbox) -> None:
    document = root(sandbox, "base: &b {x: 1, y: 2}\nuse: {<<: *b, y: 3}\n")
    use = document.mapping(document.mapping(document.root, "f")["use"].value, "use")
    assert {name: value_of(field.value) for name, field in use.items()} == {"x": "1", "y": "3"}
    assert not sandbox.findings.judged


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("12", 12),
        ('"7"', 7),
        ("0x1F", 31),
        ("010", 8),
        ("1_000", 1000),
        ("2.0", 2),
        ("true", 1),
        ("1.0e+1", 10),
        ("9007199254740991.0", 2**53 - 1),
        ('"1_0"', 10),
        ("!!int 3", 3),
    ],
)
def test_whole_numbers_as_the_reference_reads_them(sandbox: Sandbox, text: str, number: int) -> None:
    document = root(sandbox, f"n: {text}\n")
    assert document.integer(document.mapping(document.root, "f")["n"].value, "n") == number
    assert not sandbox.findings.broken


@pytest.mark.parametrize(
    "text",
    ["0.5", "zero", "-1", "[1]", "{}", "~", "2026-11-20", "1:30", ".inf", "1.0e+99", "9007199254740992.0"],
)
def test_what_is_no_whole_number(sandbox: Sandbox, text: str) -> None:
    document = root(sandbox, f"n: {text}\n")
    assert document.integer(document.mapping(document.root, "f")["n"].value, "n") is None
    assert places(only(sandbox.findings.broken, "TTR104")) == ["f.yaml:1:4"]


@pytest.mark.parametrize("text", ["0", "1.50", "0x10", "2026-11-20"])
def test_numbers_stay_as_written_where_text_is_wanted(sandbox: Sandbox, text: str) -> None:
    document = root(sandbox, f"v: {text}\n")
    assert document.text(document.mapping(document.root, "f")["v"].value, "v") == text
    assert only(sandbox.findings.judged, "TTR108").severity is Severity.WARNING


@pytest.mark.parametrize("text", ["on", "true", "~", "[a]", "{a: b}", "12:30"])
def test_what_yaml_takes_for_something_else_is_no_text(sandbox: Sandbox, text: str) -> None:
    document = root(sandbox, f"v: {text}\n")
    assert document.text(document.mapping(document.root, "f")["v"].value, "v") is None
    assert codes(sandbox.findings.broken) == ["TTR104"]


@pytest.mark.parametrize(
    "text",
    [
        "a: [1, 2",
        "a: b: c",
        "\tx: 1",
        "a: 'b",
        "&",
        "x: \x01",
        "- a\n b: c\n- d",
        "{a: 1}}",
        "? [",
        "a\n---\nb",
        "n: !!int x",
        "n: " + "1" * 5000,
        "n: !!int",
        "n: !!timestamp x",
    ],
)
def test_broken_yaml_has_a_place_and_no_traceback(sandbox: Sandbox, text: str) -> None:
    assert read(sandbox, text) is None
    finding = only(sandbox.findings.broken, "TTR103")
    assert finding.position is not None and finding.position.file == "f.yaml"


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("- rank 0\n  mesh_id: 0\n", "write rank: 0 in the line before"),
        ("a b\nc: 1\n", "write a: b in the line before"),
        ("a: b: c", 'write "b: c" in quotes'),
        ("- a: b: c # d\n", 'write "b: c" in quotes'),
        ("a: [b: c: d", "close what is open"),
        ("a: *x", 'write &x before the value that it stands for, or "*x" for a text'),
        ("a: 1\n---\nb: 2\n", "keep it in a file of its own"),
    ],
)
def test_what_to_write_where_yaml_is_broken(sandbox: Sandbox, text: str, help: str) -> None:
    assert read(sandbox, text) is None
    assert only(sandbox.findings.broken, "TTR103").help.startswith(help)


def test_a_list_where_text_is_wanted_is_written_as_one(sandbox: Sandbox) -> None:
    document = root(sandbox, "v: [0, 1]\n")
    assert document.text(document.mapping(document.root, "f")["v"].value, "v") is None
    assert only(sandbox.findings.broken, "TTR104").help == 'write "0,1"'


def test_one_key_of_two_types_is_refused(sandbox: Sandbox) -> None:
    """YAML takes 0 and "0" for two keys, so neither would replace the other."""
    document = root(sandbox, '0: a\n"0": b\n')
    document.mapping(document.root, "f")
    assert places(only(sandbox.findings.broken, "TTR107")) == ["f.yaml:2:1", "f.yaml:1:1"]


@pytest.mark.parametrize("text", ["a:\n\t- b: 1\n", "\tx: 1", "a:\n  b: 1\n\tc: 2\n"])
def test_a_tab_is_called_a_tab(sandbox: Sandbox, text: str) -> None:
    assert read(sandbox, text) is None
    [label] = only(sandbox.findings.broken, "TTR103").labels
    assert label.text.startswith("a tab,")
    assert label.position is not None and label.position.line == text[: text.index("\t")].count("\n") + 1


def test_absurd_nesting_is_refused(sandbox: Sandbox) -> None:
    for text in (
        "[" * 50_000,
        "{a: " * 5_000,
        "- " * 5_000 + "x",
        "\n".join(" " * i + "a:" for i in range(500)),
    ):
        assert read(sandbox, text) is None
    assert codes(sandbox.findings.broken) == ["TTR103"] * 4


@pytest.mark.parametrize("line", ["[{}]", "{{<<: [{}]}}", "{{k: [{}]}}"], ids=["lists", "merges", "maps"])
def test_anchors_that_multiply_are_refused_at_once(sandbox: Sandbox, line: str) -> None:
    lines = ["a0: &a0 {x: y}"]
    lines += [f"a{i}: &a{i} " + line.format(", ".join([f"*a{i - 1}"] * 10)) for i in range(1, 30)]
    assert read(sandbox, "\n".join(lines)) is None
    [label] = only(sandbox.findings.broken, "TTR103").labels
    assert label.position is not None and label.position.line == 6
    assert "more than 100," in label.text and len(label.text) < 150


def test_an_alias_inside_of_its_anchor(sandbox: Sandbox) -> None:
    assert read(sandbox, "a: &a\n  - {b: *a}") is None
    finding = only(sandbox.findings.broken, "TTR103")
    assert finding.labels[0].text == "*a stands inside of what it stands for"
    assert finding.help == "write out what is meant in the place of *a" and places(finding) == ["f.yaml:2:9"]


def test_unreadable_files(sandbox: Sandbox) -> None:
    (sandbox.cwd / "f.yaml").write_bytes(b"a: \xff\xfe")
    assert read_document(sandbox.cwd / "f.yaml", sandbox.site, sandbox.findings) is None
    assert read_document(sandbox.cwd / "absent.yaml", sandbox.site, sandbox.findings) is None
    assert codes(sandbox.findings.broken) == ["TTR102", "TTR102"]
    assert places(sandbox.findings.broken[0]) == ["f.yaml:1:4"]


def test_an_empty_file_has_no_root(sandbox: Sandbox) -> None:
    document = read(sandbox, "# nothing\n")
    assert document is not None
    assert document.mapping(document.root, "the file") == {}
    assert "an empty file" in only(sandbox.findings.broken, "TTR104").labels[0].text


@given(st.dictionaries(st.text(min_size=1), st.text(), max_size=5))
def test_any_text_survives(values: dict[str, str]) -> None:
    """Keys and values that any YAML writer quotes come back unchanged."""
    from tt_run.inputs.findings import Findings

    text = yaml.safe_dump(values, allow_unicode=True, default_style='"')
    document = Document(Path("f"), "f", documents.read(text).root, Findings())
    fields = document.mapping(document.root, "f")
    assert {name: document.text(field.value, name) for name, field in fields.items()} == values
    assert not document.findings.broken and not document.findings.judged
