"""Offsets, lines and what a text cannot hold unescaped."""

from __future__ import annotations

import pytest

from mgd.descriptor import Architecture, Descriptor, MeshDescriptor
from mgd.reading import loads
from mgd.text.lexer import BadEscape, integer, is_number, string_bytes
from mgd.text.problems import MOST, nearest, quote_text
from mgd.text.source import Source
from mgd.text.writer import quoted, write


def test_lines_and_places() -> None:
    source = Source("\nab\r\n\nc", "f")
    assert [source.line(number) for number in (1, 2, 3, 4)] == ["", "ab", "", "c"]
    assert [str(source.position(offset)) for offset in (0, 1, 2, 5, 6, 7)] == [
        "f:1:1",
        "f:2:1",
        "f:2:2",
        "f:3:1",
        "f:4:1",
        "f:4:2",
    ]
    assert (str(source.locate(-1)), str(source.locate(0)), str(source.locate(1))) == ("f", "f:1:1", "f:2:1")


def test_each_value_of_a_field_has_its_place_and_what_is_beyond_them_that_of_the_last() -> None:
    source = Source("d {\n  dims: [2, 4]\n  dims: 7\n}\n", "f")
    places = [str(source.locate(0, "dims", index)) for index in (0, 1, 2, 9)]
    assert places == ["f:2:10", "f:2:13", "f:3:9", "f:3:9"]
    assert str(source.locate(0, "none", 1)) == "f:1:1"


def test_what_is_escaped_when_it_is_written() -> None:
    text = "".join(map(chr, range(0x22))) + "\\\x7f\x80é\u2028"
    assert quoted(text) == (
        '"' + "".join(f"\\{number:03o}" for number in range(9)) + "\\t\\n\\013\\014\\r"
        + "".join(f"\\{number:03o}" for number in range(14, 32)) + ' !\\\\\\177\x80é\u2028"'
    )  # fmt: skip
    architecture = MeshDescriptor(arch=Architecture.BLACKHOLE)
    assert write(Descriptor(mesh_descriptors=(architecture,))) == "mesh_descriptors { arch: BLACKHOLE }\n"
    read = loads(write(Descriptor(mesh_descriptors=(MeshDescriptor(name=text),))))
    assert read.mesh_descriptors[0].name == text


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("0", 0),
        ("07", 7),
        ("010", 8),
        ("0x1F", 31),
        ("0Xa", 10),
        ("08", None),
        ("1.0", None),
        ("", None),
        ("0x", None),
    ],
)
def test_integers(literal: str, value: int | None) -> None:
    assert integer(literal) == value


def test_integers_beyond_all_types_are_not_worked_out() -> None:
    assert integer("9" * 40) == 10**40 - 1
    assert integer("9" * 41) == 1 << 127


@pytest.mark.parametrize("literal", ["1", "0x1", "1.5", ".5", "1e9", "1f"])
def test_numbers(literal: str) -> None:
    assert is_number(literal) and not is_number(f"{literal}x")


@pytest.mark.parametrize(
    ("literal", "offset", "told"),
    [("'a\\qb'", 2, "\\q"), ("'\\U00110000'", 1, "\\U00110000"), ("'\\u12'", 1, "\\u"), ("'x\\'", 2, "\\")],
)
def test_escapes_that_c_does_not_have(literal: str, offset: int, told: str) -> None:
    with pytest.raises(BadEscape) as caught:
        string_bytes(literal)
    assert (caught.value.offset, caught.value.sequence) == (offset, told)
    assert string_bytes("'\\U0010ffff'") == "\U0010ffff".encode()


def test_so_many_problems_are_told() -> None:
    from mgd.errors import ParseError

    for count in (MOST - 1, MOST, MOST + 1):
        with pytest.raises(ParseError) as caught:
            loads("mesh_descriptors { name: x }\n" * count + "zzz: 1\n" * count)
        told = [each.code for each in caught.value.diagnostics]
        assert told.count("MGD104") == min(count, MOST)
        assert len(loads("zzz: 1\n" * count).notices) == min(count, MOST)


def test_what_is_shown_ends_at_forty_characters() -> None:
    assert (quote_text("x" * 40), quote_text("x" * 41)) == ("x" * 40, "x" * 39 + "…")
    assert nearest("x" * 80 + "y" * 200, ["x" * 80]) == "x" * 80


@pytest.mark.parametrize(("dim", "found"), [(0, []), ((1 << 32) - 1, [])])
def test_the_ends_of_a_range_are_ordinary(dim: int, found: list[str]) -> None:
    read = loads(f"mesh_descriptors {{ express_links {{ dim_idx: {dim} }} }}")
    assert [each.code for each in read.notices] == found and read.mesh_descriptors[0].express_links[
        0
    ].dim_idx == dim


def test_blocks_may_nest_so_deep_and_no_deeper() -> None:
    from mgd.errors import ParseError
    from mgd.text.complete import CompleteReader

    def nested(levels: int) -> str:
        inside = levels - 3
        return (
            "graph_descriptors { instances { graph { "
            + "sub_ref { graph { " * (inside // 2)
            + "} } " * (inside // 2)
            + "} } }"
        )

    most = CompleteReader.MOST_LEVELS
    deepest = most if (most - 3) % 2 == 0 else most - 1
    assert loads(nested(deepest)).graph_descriptors
    with pytest.raises(ParseError, match="nested deeper"):
        loads(nested(deepest + 2))


def test_every_kind_of_value_in_ordinary_text() -> None:
    read = loads(
        "graph_descriptors { connections { directional: true } connections { directional: false } type: 'x' }"
    )
    assert [each.directional for each in read.graph_descriptors[0].connections] == [True, False]
    assert [each.code for each in read.notices] == []
