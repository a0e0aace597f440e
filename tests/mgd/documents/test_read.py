"""YAML with positions: PyYAML's values, a place for every mistake, and a bound for everything that multiplies."""

from __future__ import annotations

import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mgd.documents import Document, DocumentError, Mapping, Scalar, Sequence, read

TEXT = """\
optimizer: &base
  lr: 0.1
  betas: [0.9, 0.95]
other:
  <<: *base
  lr: 1.0e-3
"""


def refused(text: str | bytes, **limits: int) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        read(text, file="f.yaml", **limits)
    return caught.value


def test_nodes_know_where_they_stand() -> None:
    document = read(TEXT, file="f.yaml")
    node = document.find("optimizer", "betas", 1)
    assert isinstance(node, Scalar) and node.text == "0.95"
    assert str(document.position(node)) == "f.yaml:3:16"
    assert node.offset == TEXT.index("0.95")
    assert document.find("optimizer", "betas", 7) is None and document.find("nowhere") is None


def test_a_place_is_the_key_or_the_nearest_above_it() -> None:
    document = read(TEXT, file="f.yaml")
    assert str(document.place("optimizer", "lr")) == "f.yaml:2:3"
    assert str(document.place("optimizer", "betas", 0)) == "f.yaml:3:11"
    assert str(document.place("optimizer", "momentum")) == "f.yaml:1:1"
    assert str(document.place("other", "betas")) == "f.yaml:3:3"
    assert str(document.place("nowhere")) == "f.yaml:1:1"
    assert str(read("", file="f.yaml").place("a")) == "f.yaml"


def test_merged_fields_come_first_and_yield_to_own_ones() -> None:
    document = read("a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: {<<: [*a, *b], z: 3}\n")
    assert document.value()["c"] == {"x": 1, "y": 1, "z": 3}


PLAIN = st.sampled_from(
    ["1", "-7", "+1_000", "0x1F", "0b101", "010", "1.5", "1.0e+3", "1e3", ".inf", "-.INF", "on", "No", "TRUE", "~", "null", "",
     "x", "0.", "-", "2026-11-20x", "'1'", '"on"', "a b", "!!str 5", "!!int '7'", "!!float 5", "0x", "08", "1__0"]
)  # fmt: skip


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(PLAIN, max_size=3), max_size=4))
def test_values_are_those_of_pyyaml(values: dict[str, list[str]]) -> None:
    text = "".join(f"{key}:\n" + "".join(f"  - {word}\n" for word in words) for key, words in values.items())
    assert read(text).value() == yaml.safe_load(text)


def _trees() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
    )


@given(_trees())
def test_what_pyyaml_writes_is_read_back(value: Any) -> None:
    text = yaml.safe_dump(value, allow_unicode=True)
    assert read(text).value() == yaml.safe_load(text)


@pytest.mark.parametrize("text", ["12:30", "190:20:30", "0000:01:00.0", "-1:30", "20:30.15"])
def test_numbers_in_base_60_are_text_of_their_own_kind(text: str) -> None:
    node = read(text).root
    assert isinstance(node, Scalar) and (node.kind, node.value()) == ("base60", text)


MISTAKES = {
    "a: 1\nb: !!int x": ("tag", 2, 4, "is no !!int"),
    "a: !!int": ("tag", 1, 4, '"" is no !!int'),
    "a: !!timestamp x": ("tag", 1, 4, "is no !!timestamp"),
    "a: !!float 0x10": ("tag", 1, 4, "is no !!float"),
    "a: !!set {b}": ("tag", 1, 4, "!!set is not known"),
    "a: !!python/object:os.system x": ("tag", 1, 4, "!!python/object:os.system"),
    "a: !own x": ("tag", 1, 4, "!own"),
    "a: " + "1" * 5000: ("bound", 1, 4, "5,000 digits"),
    "a: 1\nb: \x07": ("characters", 2, 4, "U+0007"),
    "a: \ud800": ("characters", 1, 4, "U+D800"),
    "a: 'x": ("syntax", 1, 4, "a quoted text is never closed"),
    "a: [{b: 1,}": ("syntax", 1, 4, "this list is never closed"),
    "a: {b: 1\n": ("syntax", 1, 4, "this mapping is never closed"),
    "a: 1\nb c\nd: 1": ("syntax", 2, 1, "a key without a colon"),
    "a: b: c": ("syntax", 1, 5, "mapping values are not allowed"),
    "a:\n\tb: 1": ("syntax", 2, 1, "a tab"),
    "a: 1\n---\nb: 2": ("syntax", 2, 1, "a second document"),
    "a: *b": ("syntax", 1, 4, "no anchor &b"),
    "a: &a [*a]": ("syntax", 1, 8, "inside of what it stands for"),
    "a: {<<: 5}": ("syntax", 1, 9, "<< merges a mapping"),
    "a: {<<: [{b: 1}, 5]}": ("syntax", 1, 9, "<< merges a mapping"),
}


@pytest.mark.parametrize("text", list(MISTAKES))
def test_a_mistake_has_its_place(text: str) -> None:
    subject, line, column, reason = MISTAKES[text]
    error = refused(text)
    assert (error.subject, error.position.line, error.position.column) == (subject, line, column)
    assert reason in error.reason


def test_bytes_that_are_no_utf8_have_a_place() -> None:
    error = refused("é: 1\nb: é".encode() + b"\xff")
    assert (error.subject, str(error.position)) == ("bytes", "f.yaml:2:5")
    assert "0xff" in error.reason


def _levels(line: str, count: int = 30) -> str:
    text = "a0: &a0 {x: 1}\n"
    return text + "".join(
        f"a{i}: &a{i} {line.format(', '.join([f'*a{i - 1}'] * 9))}\n" for i in range(1, count)
    )


BOMBS = {
    "lists": _levels("[{}]"),
    "maps": _levels("{{k: [{}]}}"),
    "merges": _levels("{{<<: [{}]}}"),
    "keys": "a: &a [" + "x, " * 50_000 + "]\nb: [" + "*a, " * 50_000 + "]",
}


@pytest.mark.parametrize("name", list(BOMBS))
def test_what_multiplies_is_refused_within_a_second(name: str) -> None:
    begun = time.process_time()
    error = refused(BOMBS[name])
    assert time.process_time() - begun < 1
    assert error.subject == "bound" and "values large" in error.reason and len(error.reason) < 150


@pytest.mark.parametrize("line", ["[{}]", "{{<<: {}}}"])
def test_a_long_chain_of_aliases_is_refused_before_anything_recurses(line: str) -> None:
    text = "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {line.format(f'*a{i - 1}')}\n" for i in range(1, 3000))
    assert "nest deeper" in refused(text).reason


@pytest.mark.parametrize("text", ["[" * 10_000, "{a: " * 10_000, "- " * 10_000])
def test_depth_is_bounded(text: str) -> None:
    assert refused(text).subject == "bound"


def test_bounds_hold_at_their_number() -> None:
    assert read("[" * 5 + "]" * 5, deepest=5).value() == [[[[[]]]]]
    assert refused("[" * 6 + "]" * 6, deepest=5).position.column == 6
    assert read("x" * 10, largest=10).value() == "x" * 10
    assert refused("x" * 11, largest=10).subject == "bound"
    error = refused("x" * ((2 << 20) + 1), largest=2 << 20)
    assert (error.reason, str(error.position), error.offset) == ("it is larger than 2 MiB", "f.yaml:1:1", 0)


def test_many_ranks_share_an_environment() -> None:
    shared = "env: &env {" + ", ".join(f"V{i}: x" for i in range(40)) + "}\nranks:\n"
    text = shared + "".join(f"  - {{rank: {i}, env: {{<<: *env, OWN: x}}}}\n" for i in range(4096))
    assert len(read(text).value()["ranks"][-1]["env"]) == 41


def test_what_is_shown_stays_a_line() -> None:
    document = read("a: &a [" + "word, " * 90 + "]\nb: [*a, *a]\nc: {d: 'x', e: [1]}\n")
    assert isinstance(document.root, Mapping)
    for name, wanted in (("a", "[word, word"), ("b", "[[word"), ("c", '{d: "x", e: [1]}')):
        node = document.find(name)
        assert node is not None and node.shown().startswith(wanted) and len(node.shown()) < 70
    assert document.root.shown().endswith("…")


def test_an_empty_text_is_an_empty_document() -> None:
    document = read("# nothing\n")
    assert isinstance(document, Document) and document.root is None and document.value() is None
    assert isinstance(read("[]").root, Sequence)


def test_a_number_finds_its_key_however_it_is_written() -> None:
    document = read("a: {0x1: one, 02: two, 3: three, four: 4, '5': five, yes: six}\n", file="f.yaml")
    found = [document.find("a", number) for number in (1, 2, 3, 4, 5, 6, True, False)]
    assert [node and node.value() for node in found] == [
        "one",
        "two",
        "three",
        None,
        "five",
        None,
        "six",
        None,
    ]
    places = [str(document.place("a", number)) for number in (1, 2, 3, 6)]
    assert places == ["f.yaml:1:5", "f.yaml:1:15", "f.yaml:1:24", "f.yaml:1:1"]
