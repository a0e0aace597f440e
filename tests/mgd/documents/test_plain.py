"""The quick way through a plain file against the complete one: the same nodes, or none."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from mgd.documents import Mapping, Node, Scalar, Sequence, scalars
from mgd.documents.plain import plain_root
from mgd.documents.reader import DEEPEST, _Composer

ROOT = Path(__file__).resolve().parents[3]
BINDINGS = sorted((ROOT / "configs" / "bindings").glob("*.yaml"))


def seen(node: Node | None) -> Any:
    """All that there is to know of a node."""
    if node is None:
        return None
    own = (type(node), node.line, node.column, node.offset, node.size, node.height)
    if isinstance(node, Scalar):
        return (*own, node.text, node.plain, node.tag, node.kind)
    if isinstance(node, Sequence):
        return (*own, [seen(item) for item in node.items])
    assert isinstance(node, Mapping)
    return (*own, [(seen(key), seen(value)) for key, value in node.pairs])


def complete(text: str) -> Any:
    return seen(_Composer(text, "", DEEPEST).compose())


@pytest.mark.parametrize("path", BINDINGS, ids=lambda path: path.stem)
def test_bindings_are_plain(path: Path) -> None:
    text = path.read_text()
    root = plain_root(text)
    assert root is not None and seen(root) == complete(text)


FORMS = {
    "a:\n- b: 1\n  c: [x, 'y z', \"0,1\"]\n- b: {}\nd: ./e.f  # g\n": True,
    "# a\n\n  - a: 1\n    b: {c: [], d: {e: -1}}\n  - f\n": True,
    "a: 1\n b: 2": False,
    "a: 1\n  b: 2": False,
    "a: x\n  y": False,
    "a:\nb: 1": False,
    "a:": False,
    "- ": False,
    "-": False,
    "- - a": False,
    "- a\n  - b": False,
    " a: 1\nb: 2": False,
    "a: 1\n- b": False,
    "- a\nb: 1": False,
    "a: b: c": False,
    "a: x y": False,
    "a: 'b''c'": False,
    'a: "b\\n"': False,
    "a: [b,]": False,
    "a: [b": False,
    "a: {b}": False,
    "a: {b: 1} c": False,
    "a: b#c": False,
    'a: "b"#c': False,
    "a: &b c": False,
    "a: !!str c": False,
    "<<: {a: b}": False,
    "---\na: 1": False,
    "a: 1\n...\n": False,
    "a: |\n  b": False,
    "? a": False,
    '"a": 1': False,
    "a: é": False,
    "a": False,
    "[a]": False,
    "": False,
    "a:\n" + "".join(f"{' ' * depth}a:\n" for depth in range(1, 9)) + " " * 9 + "b: 1": False,
    "a: " + "[" * 9 + "]" * 9: False,
    "a: " + "b" * 500: False,
}


@pytest.mark.parametrize("text", list(FORMS))
def test_what_is_plain(text: str) -> None:
    root = plain_root(text)
    assert (root is not None) == FORMS[text]
    assert root is None or seen(root) == complete(text)


PIECES = st.sampled_from(
    ["a: ", "b:", "- ", "\n", "\n  ", "\n    ", " ", "x", "0", "-1", "./p.q", "'u v'", '"0,1"', "[", "]", "{", "}", ", ", ",", ":",
     "# n", "#", "-", "...", "---", "null", "'", '"', "&r ", "*r", "<<: "]
)  # fmt: skip
WORDS = st.sampled_from(["0", "-1", "x.y", "/a/b", "'q r'", '"0,1"', '""', "no", ".5", "a b", "it's", "1_0"])
FLOWS = st.recursive(
    WORDS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.lists(inner, max_size=3).map(lambda items: "{" + ", ".join(f"k: {item}" for item in items) + "}")
    ),
    max_leaves=4,
)
BLANKS = st.sampled_from(["", "", "", " ", " # note", "# note"])


def indented(lines: list[str], by: str) -> list[str]:
    return [by + line for line in lines]


def listed(items: list[list[str]]) -> list[str]:
    return [line for first, *rest in items for line in (f"- {first}", *indented(rest, "  "))]


def keyed(pairs: list[tuple[str, list[str], str]]) -> list[str]:
    return [line for by, lines, after in pairs for line in (f"key:{after}", *indented(lines, by))]


BLOCKS = st.recursive(
    st.tuples(FLOWS, BLANKS).map(lambda pair: [f"key: {''.join(pair)}"]),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(listed)
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: [line for part in parts for line in part])
        | st.lists(st.tuples(st.sampled_from(["", " ", "  "]), inner, BLANKS), min_size=1, max_size=3).map(
            keyed
        )
    ),
    max_leaves=6,
)


@given(BLOCKS.map("\n".join) | st.lists(PIECES, max_size=12).map("".join))
@example("a:\n- b\n- c\nd: e")
def test_the_nodes_are_those_of_the_complete_reader(text: str) -> None:
    root = plain_root(text)
    if root is not None:
        assert seen(root) == complete(text)


KINDS = [chr(number) for number in range(32, 127)] + ["é", "٣", "²"]


def test_kinds_that_are_plain_to_see_are_those_of_pyyaml() -> None:
    tables = yaml.SafeLoader.yaml_implicit_resolvers
    words = [word for plain in (*scalars._WORDS, "y", "n") for word in (plain, plain.upper(), plain.title())]
    texts = [
        "",
        *KINDS,
        *map("".join, itertools.product(KINDS, repeat=2)),
        *words,
        "0x1F",
        "1e3",
        "007",
        "12",
    ]
    for text in texts:
        told = scalars._obvious(text)
        patterns = (*tables.get(text[:1], ()), *tables.get(None, ()))
        asked = next((scalars._kind(tag, text) for tag, pattern in patterns if pattern.match(text)), "text")
        assert told in (None, asked), text
    assert [scalars._obvious(text) for text in ("12", "0", "a/b", "nope")] == ["int", "int", "text", "text"]
