"""What is read of YAML, node by node, and every word on what is refused: `words.txt`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mgd.documents import DocumentError, Mapping, Node, Scalar, Sequence, read, reader
from tests.words import same_as_read

TEXTS = (
    "",
    "# nothing",
    "a: 1\nb: [x, 'y', \"z\\n\"]\n\nc:\n  d: |\n    e\n    f\n  ? g\n  : >-\n    h\n",
    "&a {b: &c [1, 2], d: *c, <<: {b: 0, e: *c}, <<: [{e: 1, f: 2}, {g: 3}]}",
    "{a: 1, a: 2, [b]: c, {d: e}: f}",
    "ü: [ö, {ä: ß}]",
    "- - - x\n    - y\n  - z\n- {}\n- []",
    "a: " + "x" * 59,
    "a: " + "x" * 60,
    "[" + "word, " * 9 + "abcd]",
    "[" + "word, " * 9 + "abcde]",
    "{a: 'b\nc', d: ~, e: \"\", f: }",
    "- *a",
    "&a [*a]",
    "a: 1\n---\nb: 2",
    "--- a\n...\n",
    "a: [\n",
    "a:\n\tb: 1",
    "\tb",
    "a: b: c",
    "a: b: c\nd: e",
    "k: [\na b\n,@]",
    "a: 'x",
    "a: !!int x",
    "a: !!foo x",
    "!!map [1]",
    "!!seq [1]",
    "!!map {a: 1}",
    "!!seq {a: 1}",
    "! x",
    "!local {a: 1}",
    "!<int> 1",
    "!!merge <<",
    "!!null ''",
    "<<: 3",
    "a: {<<: [{b: 1}, 3]}",
    "a: \x01",
    "\n\nb: é\x9fx",
    "a: \ufffe",
    "a: \ud800",
    "\x00",
    "\n\x00",
    "%YAML 9.1\n---\na",
    "@",
    "a: " + "1" * 4000,
    "\n a: " + "1" * 4001,
    "a: " + "x" * 4001,
    "a: '" + "1" * 4001 + "'",
)
SCALARS = [
    "0",
    "00",
    "01",
    "07",
    "08",
    "-0",
    "+7",
    "-017",
    "0x1F",
    "-0xf",
    "0b101",
    "+0b1",
    "0o7",
    "1_000",
    "0x_f",
    "_1",
    "1_",
    "1.",
    ".5",
    "1.5",
    "1e3",
    "1.5e3",
    "1.5e+3",
    "-1.0E-2",
    "1_0.5",
    ".inf",
    "-.INF",
    "+.inf",
    ".nan",
    ".NaN",
    "1:30",
    "-1:30",
    "1:30.5",
    "190:20:30",
    "0:0",
    "12:60",
    "true",
    "True",
    "TRUE",
    "yes",
    "No",
    "on",
    "OFF",
    "y",
    "n",
    "null",
    "Null",
    "~",
    "<<",
    "=",
    "2001-01-01",
    "2001-1-1",
    "2001-01-01T00:00:00Z",
    "x",
    "1x",
    "-x",
    "0xg",
    "09.5",
    "'q'",
]
TAGGED = [
    "int:1",
    "int:0x1",
    "int:x",
    "int:1.0",
    "float:1",
    "float:-1",
    "float:0x1",
    "float:1.5",
    "float:x",
    "bool:yes",
    "bool:1",
    "null:~",
    "null:x",
    "str:1",
    "timestamp:2001-01-01",
    "binary:x",
]


def nodes(node: Node, level: int = 1) -> Iterator[str]:
    kept = f" {node.text!r} is {node.value()!r}" if isinstance(node, Scalar) else ""
    yield f"{'  ' * level}{node.line}:{node.column} {node.offset} {node.kind}{kept} ({node.size}, {node.height}) {node.shown()}"[
        :250
    ]
    if isinstance(node, Sequence):
        for item in node.items:
            yield from nodes(item, level + 1)
    if isinstance(node, Mapping):
        for key, value in node.pairs:
            yield from nodes(key, level + 1)
            yield from nodes(value, level + 2)
        yield f"{'  ' * level}fields {', '.join(f'{name} at {at.line}:{at.column}' for name, (at, _) in node.fields.items())}"


def test_the_words_on_every_text() -> None:
    lines = []
    for text in (*TEXTS, *SCALARS, *(f"!!{each.replace(':', ' ', 1)}" for each in TAGGED)):
        lines.append(ascii(text) if len(text) < 99 else f"{text[:9]!a} and {len(text) - 9} more")
        try:
            document = read(text, file="f")
        except DocumentError as error:
            lines.append(
                f"  {error.position} {error.offset} {error.subject}: {error.reason[:200]} | {error.help}"
            )
            continue
        lines += nodes(document.root) if document.root else ["  none"]
    same_as_read("\n".join(lines) + "\n", Path(__file__).with_name("words.txt"))


def test_where_paths_lead() -> None:
    document = read("a: {b: [1, {c: 2}], 3: x}\n\nd:\n  - e\n", file="f")

    def place(*path: str | int) -> str:
        return str(document.place(*path))

    assert [place("a"), place("a", "b"), place("a", "b", 0), place("a", "b", 1, "c")] == [
        "f:1:1",
        "f:1:5",
        "f:1:9",
        "f:1:13",
    ]
    assert [place("a", "b", 2), place("a", "b", 1, "x"), place("a", "x", "y", "z"), place("z", "y")] == [
        "f:1:5",
        "f:1:12",
        "f:1:1",
        "f:1:1",
    ]
    assert [place("a", 3), place("d", 0), place("d", 1), place("d", "0"), place()] == [
        "f:1:21",
        "f:4:5",
        "f:3:1",
        "f:3:1",
        "f:1:1",
    ]
    assert (
        document.find("d", 1) is None
        and document.find("a", "b", "0") is None
        and document.find("a", 3) is not None
    )
    assert str(read("", file="f").place("a")) == "f"


@pytest.mark.parametrize(
    ("text", "most"), [("[&a x, *a]", 1), ("[&a [x, y], *a, *a]", 3 + 3), ("{a: &a {b: c}, <<: *a}", 3)]
)
def test_aliases_stand_for_so_much(text: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "TIMES", 0)
    monkeypatch.setattr(reader, "ROOM", most)
    assert read(text).root is not None
    monkeypatch.setattr(reader, "ROOM", most - 1)
    with pytest.raises(DocumentError, match="values large"):
        read(text)


def test_so_many_times_what_stands_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to the last alias stand x, its list and three further ones: of five, each counts once."""
    monkeypatch.setattr(reader, "ROOM", 0)
    monkeypatch.setattr(reader, "TIMES", 1)
    assert read("[[a], &a [x], b, *a, *a]").root is not None
    with pytest.raises(DocumentError, match="more than 5 values large; up to here it has 5"):
        read("[[a], &a [x], b, *a, *a, *a]")


def test_aliases_nest_so_deep() -> None:
    assert read("[&a [[x]], *a]", deepest=4).root is not None
    with pytest.raises(DocumentError, match="aliases nest deeper than 3 levels"):
        read("[&a [[x]], [*a]]", deepest=3)
