"""What descriptors stand for: the numbers of reference library 0.81.1, and properties of every expansion."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgd.errors import RejectedError
from mgd.expansion import expand
from mgd.facts import adjacency, links_by_direction, summary
from mgd.graph import MeshGraph
from mgd.reading import loads
from tests.examples import examples
from tests.mgd.fixtures import TOP, fabric, link, mesh


def graph_of(text: str) -> MeshGraph:
    return expand(loads(text))


def grid(dims: str, types: str = "LINE, LINE", extra: str = "", arch: str = "BLACKHOLE") -> MeshGraph:
    text = mesh(dims, arch=arch, extra=extra).replace(f"[ {dims} ]", f"[ {dims} ] dim_types: [ {types} ]")
    return graph_of(text + TOP)


@pytest.mark.parametrize(
    ("dims", "types", "links"),
    [
        ("2, 4", "LINE, LINE", 10),
        ("8, 4", "LINE, LINE", 52),
        ("8, 4", "LINE, RING", 60),
        ("8, 4", "RING, LINE", 56),
        ("8, 4", "RING, RING", 64),
        ("2, 4", "RING, RING", 12),
        ("32, 4", "RING, RING", 256),
        ("1, 1", "RING, RING", 0),
        ("1, 2", "LINE, RING", 1),
    ],
)
def test_grid_links(dims: str, types: str, links: int) -> None:
    only = grid(dims, types).meshes[0]
    assert only.grid_link_count == len(only.grid_links()) == links


@settings(max_examples=examples(60), deadline=None)
@given(
    st.integers(1, 7), st.integers(1, 7), st.sampled_from(["LINE", "RING"]), st.sampled_from(["LINE", "RING"])
)
def test_every_grid_is_symmetric_and_counted(rows: int, columns: int, first: str, second: str) -> None:
    only = grid(f"{rows}, {columns}", f"{first}, {second}").meshes[0]
    near = adjacency(only)
    opposite = {"E": "W", "W": "E", "N": "S", "S": "N"}
    for device, neighbours in near.items():
        assert len({other for other, _, _ in neighbours}) == len(neighbours)
        for other, direction, channels in neighbours:
            assert other != device and (device, opposite[direction], channels) in near[other]
    counted = Counter(direction for neighbours in near.values() for _, direction, _ in neighbours)
    assert dict(counted) == links_by_direction(only)
    blocks = [only.host_block(rank).devices for rank in range(only.host_count)]
    assert sorted(device for block in blocks for device in block) == [
        (r, c) for r in range(rows) for c in range(columns)
    ]


@pytest.mark.parametrize(
    ("dims", "types", "entries", "chords"),
    [
        ("8, 4", "RING, RING", "pattern { start: 2 step: 4 }", 8),
        ("8, 4", "RING, RING", "pattern { start: 2 step: 4 } wrap: LINE", 4),
        ("8, 4", "RING, RING", "pattern { start: 10 step: 4 }", 8),
        ("8, 4", "LINE, LINE", "pattern { start: 0 step: 8 }", 4),
        ("8, 4", "RING, LINE", "pattern { start: 0 step: 8 }", 0),
        ("8, 4", "LINE, LINE", "pattern { start: 0 step: 2 }", 0),
        ("8, 4", "LINE, LINE", "dim_idx: 1 pattern { start: 0 step: 4 }", 8),
        ("8, 4", "LINE, LINE", "pattern { start: 1 step: 8 } wrap: RING", 0),
    ],
)
def test_express_links(dims: str, types: str, entries: str, chords: int) -> None:
    only = grid(dims, types, f"express_links {{ {entries} }}").meshes[0]
    assert len(only.express) == chords
    assert all(each.direction == "Z" and each.channels == 1 and each.a < each.b for each in only.express)


def test_express_links_of_the_quad_galaxy() -> None:
    entries = "express_links { pattern { start: 2 step: 4 } } express_links { pattern { start: 0 step: 8 } }"
    assert len(grid("32, 4", "RING, RING", entries).meshes[0].express) == 48


def test_a_chord_declared_twice_has_two_channels() -> None:
    entry = "express_links { pattern { start: 0 step: 4 } }"
    found = grid("8, 4", extra=entry * 2).meshes[0].express
    assert len(found) == 8 and {each.channels for each in found} == {2}


def test_host_blocks_are_row_major() -> None:
    only = graph_of(mesh("4, 4", hosts="2, 2") + TOP).meshes[0]
    corners = [(block.row, block.column, *block.last) for block in map(only.host_block, range(4))]
    assert corners == [(0, 0, 1, 1), (0, 2, 1, 3), (2, 0, 3, 1), (2, 2, 3, 3)]
    assert [only.host_rank_of(row, column) for row, column in ((0, 0), (0, 3), (3, 0), (3, 3))] == [
        0,
        1,
        2,
        3,
    ]
    with pytest.raises(IndexError, match=r"host ranks 0\.\.3, not 4"):
        only.host_block(4)


@pytest.mark.parametrize(
    ("meshes", "layout", "directed", "links"),
    [
        (4, "ALL_TO_ALL", 12, 6),
        (1, "ALL_TO_ALL", 0, 0),
        (6, "RING", 12, 6),
        (2, "RING", 4, 1),
        (1, "RING", 2, 0),
    ],
)
def test_graph_topologies(meshes: int, layout: str, directed: int, links: int) -> None:
    topology = f"graph_topology {{ layout_type: {layout} channels {{ count: 3 policy: RELAXED }} }}"
    graph = graph_of(mesh() + fabric(meshes, topology))
    assert summary(graph)["inter_connections_directed"] == directed
    assert len(graph.links) == links
    assert (graph.inter_policy, graph.inter_policy_specified) == ("RELAXED", True)


def test_between_meshes_the_last_count_stands_and_between_devices_all_do() -> None:
    pairs = (
        link("0", "1")
        + link("1", "0", "count: 5")
        + link("0.1", "1.2", "count: 7")
        + link("0.1", "1.2", "count: 7")
    )
    graph = graph_of(
        mesh() + fabric(2, pairs.replace("channels {", "assign_z_direction: false channels {", 1))
    )
    wishes = [(each.source, each.target, each.source_device, each.channels) for each in graph.requested]
    assert wishes == [
        (0, 1, None, 5),
        (1, 0, None, 5),
        (0, 1, 1, 7),
        (0, 1, 1, 7),
        (1, 0, 2, 7),
        (1, 0, 2, 7),
    ]
    assert [each.channels for each in graph.links] == [5, 7, 7]


def test_links_and_topology_add_up() -> None:
    topology = "graph_topology { layout_type: RING channels { count: 1 } }"
    graph = graph_of(mesh() + fabric(3, topology + link("0", "2", "count: 9")))
    assert len(graph.connections) == 4 and graph.connections[0].channels == 9


def test_only_fabric_graphs_ask_for_links() -> None:
    graph = graph_of(mesh() + fabric(2, link("0", "1"), kind="POD"))
    assert summary(graph)["inter_connections"] == 1
    assert graph.links == () and graph.requested == ()


def test_a_connection_of_three_gives_a_record_for_each() -> None:
    nodes = "".join(f'nodes {{ mesh {{ mesh_descriptor: "M0" mesh_id: {i} }} }} ' for i in range(3))
    graph = graph_of(mesh() + fabric(3, f"connections {{ {nodes} channels {{ count: 1 }} }}"))
    records = [[node.mesh_id for node in record] for record in graph.connections[0].directed()]
    assert records == [[0, 1, 2], [1, 0, 2], [2, 1, 0]]


NESTED = (
    mesh()
    + """
graph_descriptors { name: "POD" type: "POD"
  instances { mesh { mesh_descriptor: "M0" mesh_id: 0 } } instances { mesh { mesh_descriptor: "M0" mesh_id: 1 } }
  graph_topology { layout_type: ALL_TO_ALL channels { count: 2 } } }
graph_descriptors { name: "ALL" type: "FABRIC"
  instances { graph { graph_descriptor: "POD" graph_id: 4 } } instances { graph { graph_descriptor: "POD" graph_id: 2 } }
  connections {
    nodes { graph { graph_descriptor: "POD" graph_id: 4
      sub_ref { mesh { mesh_descriptor: "M0" mesh_id: 1 device_id: 3 } } } }
    nodes { graph { graph_descriptor: "POD" graph_id: 2
      sub_ref { mesh { mesh_descriptor: "M0" mesh_id: 0 device_id: 0 } } } }
    channels { count: 2 } } }
top_level_instance { graph { graph_descriptor: "ALL" graph_id: 9 } }
"""
)


def test_nested_graphs_are_told_apart_by_path() -> None:
    graph = graph_of(NESTED)
    paths = ["/".join(f"{name}({number})" for name, number in each.own_path) for each in graph.meshes]
    assert paths == [f"ALL(9)/POD({pod})/M0({number})" for pod in (4, 2) for number in (0, 1)]
    assert [(each.name, each.graph_id, each.children) for each in graph.graphs] == [
        ("POD", 4, 2),
        ("POD", 2, 2),
        ("ALL", 9, 2),
    ]
    assert not graph.ids_unique
    with pytest.raises(KeyError, match="several meshes have the id 1"):
        graph.mesh(1)
    ends = [str(node) for node in graph.connections[-1].nodes]
    assert ends == ["ALL(9)/POD(4)/M0(1)/D3(3)", "ALL(9)/POD(2)/M0(0)/D0(0)"]


def test_a_switch_counts_devices_and_hosts_nothing_apart() -> None:
    switch = (
        mesh(name="SW")
        .replace("mesh_descriptors", "switch_descriptors")
        .replace("host_topology { dims: [ 1, 1 ] }", "")
    )
    text = mesh() + switch + fabric(1, 'instances { switch { switch_descriptor: "SW" switch_id: 1 } }')
    facts = summary(graph_of(text))
    assert (facts["mesh_count"], facts["switch_count"], facts["total_devices"]) == (1, 1, 16)
    assert facts["switches"][0]["policy"] == "STRICT" and facts["meshes"][0]["policy"] == "RELAXED"


def pins(*entries: str) -> list[tuple[int, tuple[int, ...], tuple[tuple[int, int], ...]]]:
    graph = graph_of(mesh() + fabric(3) + "".join(f"pinnings {{ {entry} }}\n" for entry in entries))
    return [(group.mesh_id, group.devices, group.slots) for group in graph.pins]


def node(words: str) -> str:
    return f"logical_fabric_node_id {{ {words} }} "


def slot(words: str) -> str:
    return f"physical_asic_position {{ {words} }} "


def test_literal_pins_keep_order_and_repetition() -> None:
    entry = (
        node("mesh_id: 1 chip_id: 5")
        + node("chip_id: 3")
        + node("mesh_id: 1 chip_id: 5")
        + slot("tray_id: 1") * 3
    )
    assert pins(entry) == [(0, (3,), ((1, 0),)), (1, (5, 5), ((1, 0),))]


def test_pattern_pins_go_mesh_by_mesh() -> None:
    entry = node('mesh_id_regex: "1-" chip_id: 0').replace("1-", "1,2") + node(
        'mesh_id: 2 chip_id_regex: "[01]"'
    )
    assert pins(
        entry + slot('tray_id_regex: "1-2" asic_location: 3'), node("chip_id: 7") + slot("tray_id: 9")
    ) == [
        (0, (7,), ((9, 0),)),
        (1, (0,), ((1, 3), (2, 3))),
        (2, (0, 1), ((1, 3), (2, 3))),
    ]


def test_a_pattern_at_a_slot_makes_a_pattern_entry() -> None:
    entry = node("chip_id: 3") + node("chip_id: 3") + slot('tray_id_regex: "2,1"')
    assert pins(entry) == [(0, (3,), ((1, 0), (2, 0)))]


def test_patterns_that_match_nothing_make_no_group() -> None:
    entries = (
        node('mesh_id_regex: "7" chip_id: 0'),
        node('chip_id_regex: "8-9"'),
        node('chip_id_regex: "7-9"'),
    )
    assert pins(*(entry + slot("tray_id: 1") for entry in entries)) == [(0, (7,), ((1, 0),))]


def test_a_rejected_descriptor_is_not_expanded() -> None:
    with pytest.raises(RejectedError) as caught:
        expand(loads(mesh(hosts="1, 3") + TOP.replace("M0", "MO")))
    assert [each.code for each in caught.value.diagnostics] == ["MGD012", "MGD017"]
