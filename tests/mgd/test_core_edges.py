"""Bounds of patterns, shapes, chords and excerpts, and what an expansion amounts to, fact by fact: `facts.txt`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mgd.diagnostics import Diagnostic, Label, Position, Severity, count, render
from mgd.errors import UnreadableError
from mgd.expanding.express import chord_count
from mgd.expanding.patterns import PatternError, read_pattern
from mgd.expansion import expand
from mgd.facts import summary
from mgd.measures import measure_graph, measure_mesh
from mgd.reading import load, loads
from mgd.shapes import discovery_shapes
from mgd.systems import SystemPart, UnknownSystem, for_device_count, systems
from tests.mgd.fixtures import TOP, fabric, link, mesh
from tests.words import same_as_read

SWITCH = 'switch_descriptors { name: "SW" arch: WORMHOLE_B0 device_topology { dims: [ 1, 2 ] } channels { count: 2 } }\n'
PINS = """pinnings {
  logical_fabric_node_id { mesh_id_regex: "0-1" chip_id_regex: "2|3" }
  physical_asic_position { tray_id: 1 asic_location_regex: "1-2" }
}
pinnings { board_revision: WH logical_fabric_node_id { mesh_id: 1 chip_id: 0 } physical_asic_position { tray_id: 2 asic_location: 4 } }
"""
GRAPHS = {
    "one": mesh("2, 3", hosts="2, 1", arch="BLACKHOLE") + TOP,
    "rings": mesh("4, 6", hosts="2, 3", extra="express_links { dim_idx: 1 pattern { step: 3 } }").replace("6 ]", "6 ] dim_types: [ RING, LINE ]")
    + TOP,
    "one type": mesh("3, 4").replace("4 ]", "4 ] dim_types: [ RING ]") + TOP,
    "devices": mesh() + PINS
    + fabric(3, link("0.3", "1.4", "count: 1") + link("2.0", "0.7") + link("1.5", "0.2") + link("0.6", "1.1", "count: 5")),
    "meshes": mesh("1, 2") + fabric(4, link("0", "1") + link("1", "0", "count: 7") + link("2", "1", "count: 1 policy: RELAXED") + link("3", "3")),
    "ring": mesh("2, 2") + fabric(5, "graph_topology { layout_type: RING channels { count: 3 policy: RELAXED } }"),
    "pair": mesh("2, 2") + fabric(2, "graph_topology { layout_type: RING channels { count: 3 } }", kind="POD"),
    "three ends": mesh("2, 2") + fabric(3, 'connections { '
    + "".join(f'nodes {{ mesh {{ mesh_descriptor: "M0" mesh_id: {i} }} }} ' for i in range(3)) + "channels { count: 1 } assign_z_direction: true }"),
    "pods": mesh("1, 2") + SWITCH + """graph_descriptors { name: "P" type: "POD"
  instances { mesh { mesh_descriptor: "M0" mesh_id: 0 } } instances { switch { switch_descriptor: "SW" switch_id: 1 } }
  connections { nodes { mesh { mesh_descriptor: "M0" mesh_id: 0 } } nodes { switch { switch_descriptor: "SW" switch_id: 1 } } channels { count: 2 } }
}
graph_descriptors { name: "C" type: "CLUSTER"
  instances { graph { graph_descriptor: "P" graph_id: 0 } } instances { graph { graph_descriptor: "P" graph_id: 1 } }
  connections { nodes { graph { graph_descriptor: "P" graph_id: 0 sub_ref { mesh { mesh_descriptor: "M0" mesh_id: 0 device_id: 1 } } } }
    nodes { graph { graph_descriptor: "P" graph_id: 1 sub_ref { mesh { mesh_descriptor: "M0" mesh_id: 0 device_id: 0 } } } } channels { count: 1 } }
}
top_level_instance { graph { graph_descriptor: "C" graph_id: 3 } }
""",
    "a switch alone": mesh() + SWITCH + 'top_level_instance { switch { switch_descriptor: "SW" switch_id: 0 } }',
}  # fmt: skip


def test_what_each_expansion_amounts_to() -> None:
    lines = []
    for name, text in GRAPHS.items():
        graph = expand(loads(text))
        lines.append(name)
        for key, value in summary(graph).items():
            lines.append(f"  {key}: {json.dumps(value)}")
        lines.append(f"  measures: {[measure_mesh(each) for each in graph.meshes]} {measure_graph(graph)}")
        lines.append(
            f"  links: {[(each.a, each.b, each.channels, each.policy, each.a_device, each.b_device, each.z_direction) for each in graph.links]}"
        )
    same_as_read("\n".join(lines) + "\n", Path(__file__).with_name("facts.txt"))


@pytest.mark.parametrize("chips", range(1, 65))
def test_shapes_of_discovery(chips: int) -> None:
    wanted = []
    for size in range(chips, 0, -1):
        sides = [
            (rows, size // rows) for rows in range(1, size + 1) if size % rows == 0 and rows >= size // rows
        ]
        even = [shape for shape in sides if all(side == 1 or side % 2 == 0 for side in shape)]
        wanted += [(2, 4) if shape == (4, 2) else shape for shape in sorted(even)]
    assert list(discovery_shapes(chips)) == wanted


@pytest.mark.parametrize(
    ("pattern", "numbers", "chosen"),
    [
        ("1-3", range(1, 9), (1, 2, 3)),
        ("1-4,7", range(0, 9, 3), (3,)),
        ("0-1,5-9,1-2", range(7), (0, 1, 2, 5, 6)),
        ("3", (4, 3, 9), (3,)),
        ("7-9", range(7), ()),
    ],
)
def test_ranges_choose_among_any_numbers(
    pattern: str, numbers: range | tuple[int, ...], chosen: tuple[int, ...]
) -> None:
    assert read_pattern(pattern).select(numbers) == chosen


def test_what_matching_may_cost() -> None:
    assert [read_pattern(text).cost(5) for text in ("1", "1,3-4", "x", "x*", "x*y{2}?")] == [
        1 + 5,
        2 + 5,
        5,
        10,
        20,
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1-" + "x" * 40, None),
        ("-" * 31, "malformed range '" + "-" * 30 + "'"),
        ("5-2" + " " * 40, "the range '5-2' runs backwards"),
        ("9" * 19 + "-" + "1" * 19, "the range '" + "9" * 19 + "-" + "1" * 10 + "' runs backwards"),
        ("1{1,1001}", "the repetition {1,1001} is larger than 1000"),
        ("1{2,1}", "malformed repetition '{2,1}'"),
        ("1{" + "1" * 30 + "}", "malformed repetition '{" + "1" * 19 + "'"),
        ("a(?<b>c)", "'(?<b' is not an ECMAScript group"),
        (r"a\1", r"\1 is not supported"),
        ("1" * 20, "malformed range '" + "1" * 20 + "'"),
        (",", "the list has an empty entry"),
        (",1", "the list has an empty entry"),
        ("1,,", "the list has an empty entry"),
    ],
)
def test_what_is_said_of_a_pattern(text: str, told: str | None) -> None:
    if told is None:
        assert read_pattern(text).expression is not None
        return
    with pytest.raises(PatternError) as caught:
        read_pattern(text)
    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("along", "step", "chords"),
    [(0, 2, 4 * 6), (0, 3, 2 * 6), (0, 1, 0), (1, 2, 3 * 8), (2, 2, 0), (1, 4, 1 * 8)],
)
def test_a_bound_on_chords(along: int, step: int, chords: int) -> None:
    read = loads(
        mesh(
            "8, 6",
            extra=f"express_links {{ dim_idx: {along} pattern {{ step: {step} }} }} express_links {{ }}",
        )
    )
    entry, empty = read.mesh_descriptors[0].express_links
    found = chord_count((8, 6), entry)
    assert (found, type(found), chord_count((8, 6), empty)) == (chords, int, 0)


def test_a_finding_as_text() -> None:
    labels = (Label(Position("a", 1, 2), "here"), Label(Position("long.name", 10, 2)))
    found = Diagnostic("MGD001", "x", labels, "do y", Severity.WARNING, ("n",))
    assert render(found, more="mgd explain").splitlines() == [
        "warning[MGD001]: x", "  --> a:1:2            here", "  --> long.name:10:2", "  note: n", "  help: do y   more: mgd explain MGD001",
    ]  # fmt: skip
    bare = Diagnostic("MGD001", "x")
    assert render(bare) == "error[MGD001]: x" and render(bare, more="m").splitlines()[1:] == [
        "  more: m MGD001"
    ]
    assert count([found, bare, bare, Diagnostic("M", "x", severity=Severity.NOTE)]) == (2, 1)


def test_systems_by_the_number_of_their_devices() -> None:
    for number in {system.devices for system in systems()} | {7}:
        single = [each.name for each in systems() if each.devices == number and each.mesh_count == 1]
        try:
            assert for_device_count(number).devices == number
        except UnknownSystem as error:
            hint = f"name one: {' or '.join(single)}" if single else "write one with `mgd new`"
            assert str(error) == f"no system is chosen by itself for {number} devices: {hint}"
    told = [
        str(SystemPart(number, (2, 4), (1, 1), is_switch)) for number in (1, 2) for is_switch in (False, True)
    ]
    assert told == ["2x4", "switch 2x4", "2 × 2x4", "2 × switch 2x4"]


def test_a_file_is_as_large_as_it_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mgd import files

    path = tmp_path / "a.textproto"
    path.write_text(mesh() + TOP)
    size = path.stat().st_size
    monkeypatch.setattr(files, "LARGEST", size)
    assert load(path).mesh_descriptors
    monkeypatch.setattr(files, "LARGEST", size - 1)
    with pytest.raises(UnreadableError):
        load(path)
