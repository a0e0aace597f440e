"""Syntax errors: each with its code, line and column, all of a file at once, without follow-on noise."""

from __future__ import annotations

import pytest

from mgd.descriptor import Policy, TorusTopologyType
from mgd.errors import ParseError
from mgd.reading import loads
from mgd.text.problems import quote_text
from tests.mgd.fixtures import TOP, fabric, link, mesh


def mistakes(text: str) -> list[tuple[str, int, int]]:
    """(code, line, column) of every error."""
    with pytest.raises(ParseError) as caught:
        loads(text)
    places = [(each.code, each.position) for each in caught.value.diagnostics if each.is_error]
    return [(code, place.line, place.column) for code, place in places if place]


def test_independent_mistakes_are_all_told() -> None:
    text = (
        "mesh_descriptors {\n"
        "  name: M0\n"
        "  arch: blackhole\n"
        '  channels { count: "2" policy: 3.5 }\n'
        "  device_topology { dims: [ 2, four ] }\n"
        "  arch: BLACKHOLE\n"
        "}\n"
        "top_level_instance { mesh { mesh_id: 99999999999 } }\n"
    )
    assert mistakes(text) == [
        ("MGD104", 2, 9),
        ("MGD106", 3, 9),
        ("MGD104", 4, 21),
        ("MGD104", 4, 33),
        ("MGD104", 5, 32),
        ("MGD107", 6, 3),
        ("MGD105", 8, 38),
    ]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("name = 3\n", [("MGD100", 1, 6)]),
        ("mesh_descriptors { name 'x' }\n", [("MGD100", 1, 25)]),
        ("mesh_descriptors [ { } { } ]\n", [("MGD100", 1, 24)]),
        ("mesh_descriptors { } }\n", [("MGD100", 1, 22)]),
        ("mesh_descriptors {\n  name: 'x'\n", [("MGD111", 1, 1)]),
        ("mesh_descriptors {\n  name: 'x'\n>\n", [("MGD100", 3, 1)]),
        ("pinnings { board_revision: [ WH ] }", [("MGD108", 1, 28)]),
        ("mesh_descriptors: 3", [("MGD104", 1, 19)]),
        ("mesh_descriptors { channels: [ { } ] }", [("MGD108", 1, 30)]),
        ("foo: [ 1, [ 2, ] ]", [("MGD100", 1, 16)]),
        ("foo { bar: -baz }", [("MGD100", 1, 13)]),
        ("foo: 08", [("MGD100", 1, 6)]),
        ("foo: /* x */ 3", [("MGD100", 1, 6)]),
        ("\ufeffname: 3", [("MGD102", 1, 1)]),
        ("# \0", [("MGD102", 1, 3)]),
        ('mesh_descriptors { name: "a\\xg" }', [("MGD112", 1, 28)]),
        ("mesh_descriptors { express_links { dim_idx: -0 } }", [("MGD105", 1, 45)]),
    ],
)
def test_places(text: str, wanted: list[tuple[str, int, int]]) -> None:
    assert mistakes(text) == wanted


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("mesh_descriptors { channels { count 2 } }", "write count: 2"),
        ("mesh_descriptors { device_topology { dims [ 2 ] } }", "write dims: ["),
        ("foo 1", "write foo: 1"),
        ("mesh_descriptors { device_topology { dims: [ 2, ] } }", "remove the comma before it"),
        ("mesh_descriptors { device_topology { dims: 2x4 } }", "write [2, 4]"),
        ('mesh_descriptors { device_topology { dims: "2x4" } }', "write [2, 4]"),
        ("mesh_descriptors { device_topology { dims: (2, 4) } }", "write [2, 4]"),
        ("mesh_descriptors { device_topology { dims: (2 4) } }", "write an integer"),
        ('mesh_descriptors { name = "M0" }', "write : in its place"),
        ("mesh_descriptors { name: \u201cM0\u201d }", 'write "M0" with straight quotes'),
        (
            '{\n  "mesh_descriptors": [] }',
            'write mesh_descriptors { name: "M0" … }: this is the text format of protobuf, not JSON',
        ),
        ("mesh_descriptors:\n  - name: M0", "write mesh_descriptors { … }"),
        ("mesh", "complete what was begun, or remove it"),
        (
            "mesh_descriptors {\n  name: 'x'\ntop_level_instance { mesh {} }\n",
            "add } before top_level_instance in line 3",
        ),
        ("mesh_descriptors { device_topology { dims: [ 2 4 ] } }", 'write "," between the items of a list'),
        ("mesh_descriptors { name: 'x',; }", "remove it; one separator behind a field is enough"),
        ("\u00a0mesh_descriptors { }", "remove it"),
        ("foo: 08", "remove the leading 0, which means octal"),
        ("mesh_descriptors { arch: GRENDEL }", "write one of WORMHOLE_B0, BLACKHOLE, QUASAR"),
        ("graph_descriptors { connections { directional: 2 } }", "write true or false"),
    ],
)
def test_advice_can_be_typed(text: str, advice: str) -> None:
    with pytest.raises(ParseError) as caught:
        loads(text)
    errors = [each for each in caught.value.diagnostics if each.is_error]
    assert [each.help for each in errors] == [advice]


@pytest.mark.parametrize(
    ("field", "low", "high"),
    [
        ("channels { count: 2 policy: %d }", -(2**31), 2**31 - 1),
        ("channels { count: %d }", -(2**31), 2**31 - 1),
        ("express_links { dim_idx: %d }", 0, 2**32 - 1),
    ],
)
def test_numbers_reach_to_the_bounds_of_their_type(field: str, low: int, high: int) -> None:
    for value in (low, high):
        loads("mesh_descriptors { " + field % value + " }")
    for value in (low - 1, high + 1):
        with pytest.raises(ParseError) as caught:
            loads("mesh_descriptors { " + field % value + " }")
        [found] = caught.value.diagnostics
        assert found.code == "MGD105" and found.message.endswith(f"it lies between {low} and {high}")
        assert found.help == f"write a number from {low} to {high}"


@pytest.mark.parametrize(
    "wrong",
    [
        'arch: "a" "b"',
        "arch: 'a' # why\n 'b'",
        'channels: "x"',
        "name: { a: 1 }",
        "name: [ 1, 2 ]",
        "name: BLACKHOLE",
    ],
)
def test_reading_goes_on_behind_a_value_of_another_type(wrong: str) -> None:
    found = mistakes(f"mesh_descriptors {{ {wrong} host_topology {{ dims: x }} }}")
    assert [code for code, _, _ in found] == [found[0][0], "MGD104"]


def test_reading_goes_on_behind_a_mistake() -> None:
    text = "mesh_descriptors {\n  name ) M0\n  arch: bad\n}\ntop_level_instance { mesh { mesh_id: x } }\n"
    assert mistakes(text) == [("MGD100", 2, 8), ("MGD106", 3, 9), ("MGD104", 5, 38)]


def test_the_same_columns_with_any_line_end() -> None:
    text = "# ü\r\nmesh_descriptors {\r\n\tname: M0\r\n}\r\n"
    assert mistakes(text) == [("MGD104", 3, 8)] == mistakes(text.replace("\r\n", "\n"))


@pytest.mark.parametrize(
    "written",
    [
        "dims: [ 2, 4 ] dim_types: RING dim_types: 1",
        "dims: 2; dims: [ 0x4 ], dim_types: [ RING ] dim_types: [ LINE ]",
        "dims: [ ] dims: [ 02, 04 ] dim_types: [ 2, 1 ];",
        "dims: 2 # two\n dims: 4 , dim_types: [ # types\n RING, # first\n LINE ]",
    ],
)
def test_one_meaning_many_ways(written: str) -> None:
    topology = (
        loads(f"mesh_descriptors < device_topology: {{ {written} }} >").mesh_descriptors[0].device_topology
    )
    assert topology is not None
    assert topology.dims == (2, 4)
    assert topology.dim_types == (TorusTopologyType.RING, TorusTopologyType.LINE)


def test_strings() -> None:
    text = r"""mesh_descriptors { name: "a\n" 'b' # joined
      "\x4d\060\u00e9\"\?" }"""
    assert loads(text).mesh_descriptors[0].name == 'a\nbM0é"?'


def test_bytes_that_are_not_utf8_stay_apart_and_are_told() -> None:
    read = loads(b'mesh_descriptors { name: "M\xff" }\n')
    assert read.mesh_descriptors[0].name == "M\\xff"
    assert [(each.code, each.position.column) for each in read.notices if each.position] == [("MGD103", 28)]


def test_unknown_numbers_of_an_enum_are_kept() -> None:
    channels = loads("mesh_descriptors { channels { count: 1 policy: 7 } }").mesh_descriptors[0].channels
    assert channels is not None and channels.policy == 7 and not isinstance(channels.policy, Policy)


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        ("mesh_descriptor { }", "MGD109", "mesh_descriptors"),
        ("Mesh_Descriptors { }", "MGD109", "mesh_descriptors"),
        ("mesh_descriptors { hots_topology { } }", "MGD109", "host_topology"),
        ("mesh_descriptors { id: 'M0' }", "MGD113", "write name"),
        ("mesh_descriptors { device_topology { types: [ RING ] } }", "MGD113", "write dim_types"),
        ("graph_descriptors { channels { count: 2 } }", "MGD113", "graph_topology"),
        ("graph_descriptors { instances { graph { mesh { } } } }", "MGD113", "sub_ref"),
        ("1: 3", "MGD109", "mesh_descriptors"),
        ("[my.ext] { a: [ { b: <> }, 2 ] }", "MGD109", "mesh_descriptors"),
        (
            "mesh_descriptors { name: 'M0' top_level_instance { } }",
            "MGD109",
            "close MeshDescriptor before it with }",
        ),
    ],
)
def test_unknown_fields_are_skipped_with_a_hint(text: str, code: str, hint: str) -> None:
    read = loads(text)
    assert [each.code for each in read.notices] == [code]
    assert hint in read.notices[0].help


def test_positions_of_messages_and_fields() -> None:
    text = mesh() + "\n" + fabric(2, link("0", "1")) + TOP.replace("top_level_instance", "# the end")
    read = loads(text, file="x.textproto")
    graph = read.graph_descriptors[0]
    connection = graph.connections[0]
    lines = text.splitlines()
    for message, name, index, word in (
        (graph, "", 0, "graph_descriptors"),
        (graph, "type", 0, '"FABRIC"'),
        (graph, "instances", 1, "instances"),
        (connection, "", 0, "connections"),
        (connection, "nodes", 1, "nodes"),
        (connection.channels, "count", 0, "2"),
        (connection.channels, "policy", 0, "channels"),
        (read.mesh_descriptors[0].device_topology, "dims", 1, "4"),
        (read, "graph_descriptors", 0, "graph_descriptors"),
    ):
        place = read.where(message, name, index)
        assert place.file == "x.textproto"
        assert lines[place.line - 1][place.column - 1 :].startswith(word), (name, place)
    assert read.where().line == 0


@pytest.mark.parametrize(
    ("text", "wanted"), [("abcd", "abcd"), ("abcde", "abc…"), ("a\nb", "a\\nb"), ("", "")]
)
def test_what_is_shown_of_a_text_is_printable_and_short(text: str, wanted: str) -> None:
    assert quote_text(text, 4) == wanted
