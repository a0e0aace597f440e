"""MGD 1.0: what is read, all mistakes at once, and conversion both ways (reference library 0.81.1)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgd.descriptor import Policy
from mgd.documents import read
from mgd.errors import ParseError, RejectedError, UnsayableError
from mgd.expansion import expand
from mgd.facts import summary
from mgd.reading import loads as loads_text
from mgd.v1 import loads, to_textproto, to_yaml
from mgd.v1.edge_ports import edge
from mgd.v1.nodes import integer
from mgd.v1.reading import read as read_first_format
from tests.examples import examples
from tests.mgd.fixtures import TOP, fabric, link, mesh

TWO = """\
ChipSpec: {
  arch: Blackhole,
  ethernet_ports: { N: 4, E: 4, S: 4, W: 4, Z: 1 },
}
Board: [
  { name: line, type: Mesh, topology: [2, 2] },
  { name: ring, type: torus_y, topology: [4, 2] },
]
Mesh: [
  { id: 0, board: line, device_topology: [2, 4], host_topology: [1, 2] },
  { id: 1, board: ring, device_topology: [4, 2], host_topology: [1, 1] },
]
RelaxedGraph: [
  [M0, M1, 3],
]
"""


def test_values_and_positions() -> None:
    read = loads(TWO, file="two.yaml")
    graph = expand(read)
    assert [(each.dims, each.host_dims, each.dim_types, each.channels) for each in graph.meshes] == [
        ((2, 4), (1, 2), ("LINE", "LINE"), 4),
        ((4, 2), (1, 1), ("RING", "LINE"), 4),
    ]
    facts = summary(graph)
    assert (facts["channels"], facts["z_ports"], facts["inter_mode"]) == (4, 1, "RelaxedGraph")
    assert facts["requested_mesh_links"] == [
        {"src_mesh": 0, "dst_mesh": 1, "channels": 3, "z": False},
        {"src_mesh": 1, "dst_mesh": 0, "channels": 3, "z": False},
    ]
    assert str(graph.meshes[0].host_position) == "two.yaml:10:65"
    assert str(graph.links[0].position) == "two.yaml:14:3"
    assert graph.inter_policy == "RELAXED"


def test_single_chips_may_have_no_ports() -> None:
    text = (
        "ChipSpec: { arch: blackhole, ethernet_ports: { N: 0, E: 0, S: 0, W: 0 } }\n"
        "Board: [ { name: P150, type: Mesh, topology: [1, 1] } ]\n"
        "Mesh: [ { id: 0, board: P150, device_topology: [1, 1], host_topology: [1, 1] } ]\nGraph: []\n"
    )
    assert summary(expand(loads(text)))["channels"] == 0
    converted = expand(loads_text(to_textproto(text)))  # 2.0 wants a count
    assert [(each.dims, each.channels) for each in converted.meshes] == [((1, 1), 1)]


def test_links_between_devices_are_strict() -> None:
    text = TWO.replace("RelaxedGraph", "Graph").replace("[M0, M1, 3]", "[[M0, D7], [M1, D0], 2]")
    read = loads(text)
    channels = read.graph_descriptors[0].connections[0].channels
    assert channels is not None and (channels.count, channels.policy) == (2, Policy.STRICT)
    assert [(each.source_device, each.target_device) for each in expand(read).requested] == [(7, 0), (0, 7)]


def test_all_mistakes_at_once() -> None:
    text = (
        TWO.replace("Blackhole", "Greyhole")
        .replace("S: 4", "S: 2")
        .replace("type: Mesh", "type: Grid")
        .replace("board: ring", "board: rings")
        .replace("[1, 2]", "[2, 2]")
    )
    with pytest.raises(RejectedError) as caught:
        loads(text)
    places = [(each.code, each.position.line) for each in caught.value.diagnostics if each.position]
    assert places == [("MGD203", 2), ("MGD204", 3), ("MGD206", 6), ("MGD210", 10), ("MGD208", 11)]


def test_what_is_not_yaml_has_a_place() -> None:
    with pytest.raises(ParseError) as caught:
        loads("Mesh: [\n  { id: 0 ]\n", file="x.yaml")
    assert str(caught.value.diagnostics[0].position) == "x.yaml:2:11"


def test_ids_are_checked_by_the_rules_of_the_descriptor() -> None:
    with pytest.raises(RejectedError) as caught:
        expand(loads(TWO.replace("id: 1", "id: 5").replace("M1", "M5"), file="x.yaml"))
    assert [(each.code, each.position.line) for each in caught.value.diagnostics if each.position] == [
        ("MGD027", 11)
    ]


def test_conversion_says_the_same() -> None:
    text = to_textproto(TWO)
    converted, original = expand(loads_text(text)), expand(loads(TWO))
    assert [each.dims for each in converted.meshes] == [each.dims for each in original.meshes]
    assert [(each.a, each.b, each.channels, each.policy) for each in converted.links] == [
        (0, 1, 3, "RELAXED")
    ]
    assert loads_text(text) == loads(TWO)


def test_there_and_back() -> None:
    again = loads(to_yaml(loads_text(to_textproto(TWO))))
    assert again == loads(TWO)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (mesh(arch="QUASAR") + TOP, "QUASAR"),
        (mesh(extra="express_links { pattern { step: 2 } }", dims="8, 4") + TOP, None),
        (mesh(extra="express_links { pattern { step: 4 } }", dims="8, 4") + TOP, "express links"),
        (mesh() + fabric(2, link("0", "1")), "a strict link between meshes"),
        (
            mesh() + fabric(2, link("0.0", "1.0", "count: 2 policy: RELAXED")),
            "a relaxed link between devices",
        ),
        (
            mesh() + fabric(2, link("0", "1", "count: 1 policy: RELAXED") + link("0.0", "1.0")),
            "links between meshes beside",
        ),
        (mesh() + mesh(name="M1").replace("count: 2", "count: 4") + TOP, None),
        (mesh().replace("count: 2", "count: 2 policy: STRICT") + TOP, "policy STRICT"),
    ],
)
def test_what_cannot_be_said(text: str, told: str | None) -> None:
    if told is None:
        assert expand(loads(to_yaml(loads_text(text)))).device_count == expand(loads_text(text)).device_count
        return
    with pytest.raises(UnsayableError, match=told):
        to_yaml(loads_text(text))


_SIDE = st.integers(1, 4)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.tuples(_SIDE, _SIDE, _SIDE, _SIDE, st.sampled_from(["Mesh", "TORUS_X", "TORUS_Y", "TORUS_XY"])),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 8),
    st.data(),
)
def test_every_file_of_boards_survives_the_way_there_and_back(
    shapes: list[tuple[int, int, int, int, str]], ports: int, data: st.DataObject
) -> None:
    boards = "".join(
        f"  {{ name: B{i}, type: {kind}, topology: [{r}, {c}] }},\n"
        for i, (r, c, _, _, kind) in enumerate(shapes)
    )
    meshes = "".join(
        f"  {{ id: {i}, board: B{i}, device_topology: [{r * hr}, {c * hc}], host_topology: [{hr}, {hc}] }},\n"
        for i, (r, c, hr, hc, _) in enumerate(shapes)
    )
    ends = st.integers(0, len(shapes) - 1)
    pairs = (
        data.draw(st.lists(st.tuples(ends, ends, st.integers(1, 9)), max_size=3)) if len(shapes) > 1 else []
    )
    links = "".join(f"  [M{a}, M{b}, {count}],\n" for a, b, count in pairs)
    text = (
        f"ChipSpec: {{ arch: blackhole, ethernet_ports: {{ N: {ports}, E: {ports}, S: {ports}, W: {ports} }} }}\n"
        f"Board: [\n{boards}]\nMesh: [\n{meshes}]\nRelaxedGraph: [\n{links}]\n"
    )
    read = loads(text)
    graph = expand(read)
    back = expand(loads(to_yaml(loads_text(to_textproto(text)))))
    assert loads_text(to_textproto(text)) == read
    assert [(m.dims, m.host_dims, m.dim_types, m.channels) for m in back.meshes] == [
        (m.dims, m.host_dims, m.dim_types, m.channels) for m in graph.meshes
    ]
    assert back.requested == graph.requested


OLDEST = """\
ChipSpec: {arch: wormhole_b0, ethernet_ports: {N: 2, E: 2, S: 2, W: 2, Z: 1}}
Board: [{name: B, type: Mesh, topology: [2, 2]}, {name: R, type: TORUS_Y, topology: [2, 2]}]
Mesh:
  - {id: 0, board: B, device_topology: [2, 4], host_topology: [1, 2]}
  - {id: 1, board: B, device_topology: [2, 2], host_topology: [1, 1]}
  - {id: 2, board: R, device_topology: [2, 2], host_topology: [1, 1]}
Graph:
"""


def oldest(*entries: str) -> str:
    return OLDEST + "".join(f"  - {entry}\n" for entry in entries)


def test_the_oldest_form_is_read_by_devices_with_its_channels_counted() -> None:
    """S2 and S3 are the ports of device 5 in a 2x4 mesh, N0 and N1 those of device 0; each channel stands once per direction."""
    both = [("[0, S2]", "[1, N0]"), ("[0, S3]", "[1, N1]"), ("[0, E1]", "[1, W2]"), ("[1, Z3]", "[2, Z0]")]
    text = oldest(*(f"[{a}, {b}]" for a, b in both), *(f"[{b}, {a}]" for a, b in both))
    descriptor = loads(text, file="old.yaml")
    by_devices = oldest("[[M0, D5], [M1, D0], 2]", "[[M0, D3], [M1, D2], 1]", "[[M1, D3], [M2, D0], 1]")
    assert descriptor == loads(by_devices)
    [told] = [each for each in descriptor.notices if each.code == "MGD213"]
    assert "[[M0, D5], [M1, D0], 2]" in told.message and not told.is_error
    assert told.position is not None and told.position.line == 8
    assert loads_text(to_textproto(text)) == descriptor
    assert "[[M0, D5], [M1, D0], 2]" in to_yaml(descriptor)


@pytest.mark.parametrize(
    ("entry", "code", "words"),
    [
        ("[[7, S0], [1, N0]]", "MGD212", "no mesh 7"),
        ("[[0, S8], [1, N0]]", "MGD212", "mesh 0 has no port S8"),
        ("[[1, E4], [0, N0]]", "MGD212", "mesh 1 has no port E4"),
        ("[[0, Z8], [1, N0]]", "MGD212", "mesh 0 has no port Z8"),
        ("[[2, N0], [1, N0]]", "MGD212", "mesh 2 has no port N0"),
        ("[[0, S0], [1, N0]]\n  - [[0, S0], [1, N1]]", "MGD211", "port S0 of mesh 0 is linked to two ports"),
        ("[[0, S0], [1, N0]]\n  - [[1, N0], [0, S1]]", "MGD211", "port N0 of mesh 1 is linked to two ports"),
    ],
)
def test_a_port_that_is_not_there_or_taken_is_refused(entry: str, code: str, words: str) -> None:
    with pytest.raises(RejectedError) as caught:
        loads(oldest(entry))
    assert words in next(each for each in caught.value.diagnostics if each.code == code).message


@pytest.mark.parametrize(
    ("letter", "devices"),
    [("N", [0, 1, 2]), ("S", [3, 4, 5]), ("W", [0, 3]), ("E", [2, 5]), ("Z", [0, 1, 2, 3, 4, 5])],
)
def test_the_devices_of_an_edge(letter: str, devices: list[int]) -> None:
    assert edge((2, 3), letter) == devices


@pytest.mark.parametrize(
    ("word", "number"),
    [("7", 7), ("+7", 7), ("-7", -7), ("07", 7), ("", None), ("+", None), ("0x7", None), ("'7'", None), ("7.0", None), ("1" * 12, 111111111111), ("1" * 13, None), ("[7]", None)],
)  # fmt: skip
def test_which_words_are_integers(word: str, number: int | None) -> None:
    assert integer(read(word).root) == number


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "rank_bindings: []\nmesh_graph_desc_path: m\n",
            "the file holds rank bindings, not a mesh graph descriptor",
        ),
        ("ethernet_connections: []\n", "the file holds a cluster descriptor, not a mesh graph descriptor"),
        ("a: 1\nb: 2\n", "the file has no section of a descriptor; its keys are a, b"),
    ],
)
def test_a_file_of_another_kind_is_one_finding(text: str, told: str) -> None:
    value, found = read_first_format(text)
    assert value is None
    assert [(each.code, each.message) for each in found.all] == [("MGD201", told)]


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("ChipSpec: 'a\n", "close it with the quote that it begins with"),
        ("a: }\n", "write MGD 1.0, or convert to .textproto"),
    ],
)
def test_what_is_no_yaml_says_what_to_write(text: str, help: str) -> None:
    with pytest.raises(ParseError) as caught:
        loads(text)
    assert [finding.help for finding in caught.value.diagnostics] == [help]
