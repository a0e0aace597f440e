"""One step to either side of each rule's bound, and what is said of a second culprit behind a first one."""

from __future__ import annotations

from pathlib import Path

import pytest

from mgd.checking import check
from mgd.checks import references, report
from mgd.errors import MgdError
from mgd.lean import replace
from mgd.reading import load, loads
from tests.mgd.fixtures import RULE_FOLDERS, TOP, fabric, link, mesh
from tests.mgd.rules.test_messages import told as lines_of
from tests.words import same_as_read

SWITCH = 'switch_descriptors { name: "SW" arch: WORMHOLE_B0 device_topology { dims: [ 2, 2 ] } channels { count: 2 } }\n'
ONE = 'instances { mesh { mesh_descriptor: "M0" mesh_id: %d } }\n'
G0 = 'top_level_instance { graph { graph_descriptor: "G0" } }\n'
RING = "device_topology { dims: [ 4, 4 ] dim_types: [ RING, RING ] }"


def graph(name: str, inside: str, kind: str = "FABRIC") -> str:
    return f'graph_descriptors {{ name: "{name}" type: "{kind}" {inside} }}\n'


def child(name: str, number: int) -> str:
    return f'instances {{ graph {{ graph_descriptor: "{name}" graph_id: {number} }} }}\n'


def pins(node: str, slot: str = "tray_id: 1 asic_location: 1") -> str:
    return f"pinnings {{ {node} physical_asic_position {{ {slot} }} }}\n"


def torus(channels: int) -> str:
    return (
        mesh("4, 4")
        .replace("device_topology { dims: [ 4, 4 ] }", RING)
        .replace("count: 2", f"count: {channels}")
    )


def short(text: str) -> list[str]:
    """Code and message of everything that is found."""
    return [f"{each.code} {each.message}" for each in check(loads(text))]


FOUND = {
    "a name beside a near one": (
        mesh(name="Mesh_A") + mesh(name="M0") + 'top_level_instance { mesh { mesh_descriptor: "mesh_b" } }',
        ["MGD017"],
        'did you mean "Mesh_A"?',
    ),
    "the first mesh is what might be instantiated": (mesh(name="A") + mesh(name="B"), ["MGD002"], 'mesh_descriptor: "A"'),
    "no hosts for no devices": (mesh("0, 4", hosts="0, 1") + TOP, ["MGD009"], "1 or more"),
    "and no ends of links": (mesh("0, 4", extra="express_connections { src: 0 dst: 1 }") + TOP, ["MGD009", "MGD051"], ""),
    "hosts of a mesh that is none": (mesh("0, 4", hosts="1") + TOP, ["MGD009", "MGD050"], ""),
    "four dimensions of no known architecture": (mesh("2, 2, 2, 2", hosts="1, 1, 1, 1", arch="9") + TOP, ["MGD007", "MGD021"], ""),
    "a second mesh that is too large": (
        mesh("2000000, 1", name="A") + mesh("3000000, 1") + TOP, ["MGD090", "MGD090"], ""
    ),
    "a switch before an odd mesh": (
        mesh("3, 3") + SWITCH + graph("G0", 'instances { switch { switch_descriptor: "SW" switch_id: 1 } }' + ONE % 0) + G0,
        ["MGD025"],
        "",
    ),
    "an id of a graph inside": (
        mesh()
        + graph("G0", child("G1", 0) + child("G2", 1), "CLUSTER") + graph("G1", ONE % 9, "POD") + graph("G2", ONE % 0, "POD") + G0,
        ["MGD052", "MGD052", "MGD053", "MGD053", "MGD053", "MGD027"],
        "use ids 0 to 1 without gaps",
    ),
    "a double behind nothing": (
        mesh() + graph("G0", "instances { }" + ONE % 4 + ONE % 4) + G0, ["MGD034", "MGD018"], "=write mesh_id: 0"
    ),
    "the lowest free id": (mesh() + graph("G0", ONE % 0 + ONE % 1 + ONE % 1) + G0, ["MGD018"], "=write mesh_id: 2"),
    "an end behind one that is told already": (
        mesh()
        + graph("G0", ONE % 0 + 'instances { mesh { mesh_descriptor: "X" mesh_id: 1 } }' + link("1", "7").replace('"M0" mesh_id: 1', '"X" mesh_id: 1'))
        + G0,
        ["MGD017", "MGD022"],
        "",
    ),
    "numbers behind a pattern": (
        mesh() + TOP + pins('logical_fabric_node_id { mesh_id_regex: "0" chip_id: 0 } logical_fabric_node_id { mesh_id: 0 chip_id: 1 }'),
        ["MGD032"],
        "",
    ),
    "a pattern of meshes that are there": (
        mesh() + TOP + pins('logical_fabric_node_id { mesh_id_regex: "0" chip_id: 0 }'), [], ""
    ),
    "meshes of one device are no lines": (mesh("1, 1") + fabric(2, link("0", "1")), [], ""),
    "two links at one device": (
        mesh() + fabric(2, link("0.1", "1.1", "count: 3") + link("0.1", "1.2", "count: 2")), ["MGD072"], "",
    ),
    "as many as it has ports": (mesh() + fabric(2, link("0.1", "1.1", "count: 3") + link("0.1", "1.2", "count: 1")), [], ""),
    "a double behind a node linked with itself": (
        mesh() + fabric(2, link("0", "0") + link("0", "1") + link("1", "0")), ["MGD065", "MGD066"], "remove one"
    ),
    "two links of one mesh": (mesh() + fabric(2, link("0", "1.1", "count: 30") + link("0.1", "1", "count: 11")), ["MGD036"] * 2, ""),
    "two links that are too many together": (
        mesh() + fabric(3, link("0", "1", "count: 30") + link("0", "2", "count: 11")), ["MGD072"], ""
    ),
    "a pin of no mesh of nine": (
        mesh() + fabric(9) + pins("logical_fabric_node_id { mesh_id: 9 }"), ["MGD060"], "=the mesh ids are 0, 1, 2, 3, 4, 5, 6, 7"
    ),
    "express links of a row": (mesh("8", hosts="1", arch="BLACKHOLE", extra="express_links { }") + TOP, ["MGD021"], ""),
    "none of nine descriptors": (
        "".join(mesh(name=f"M{i}") for i in range(9)) + TOP.replace("M0", "?"),
        ["MGD017"],
        '=the mesh descriptors are "M0", "M1", "M2", "M3", "M4", "M5", "M6", "M7"',
    ),
    "as many channels as it has ports": (mesh() + fabric(2, link("0", "1", "count: 40")), [], ""),
    "short lines": (mesh("1, 2") + fabric(2, link("0", "1")), ["MGD071"], ""),
    "a line beside itself": (mesh("1, 2") + fabric(1, link("0", "0")), ["MGD065"], ""),
    "meshes of one row that are not linked": (mesh("1, 4") + fabric(2), [], ""),
    "one device": (mesh("1, 1") + TOP, [], ""),
    "no hosts are written": (
        mesh().replace("host_topology { dims: [ 1, 1 ] }", "") + TOP, ["MGD011"], "=write host_topology { dims: [ 1, 1 ] } for one host"
    ),
    "a ring along one device": (
        mesh("1, 4").replace("dims: [ 1, 4 ]", "dims: [ 1, 4 ] dim_types: [ RING, LINE ]") + TOP, ["MGD070"], "3 or longer"
    ),
    "no grid at all": (
        'mesh_descriptors { name: "M0" arch: WORMHOLE_B0 host_topology { dims: [ 1, 1 ] } channels { count: 2 } }' + TOP,
        ["MGD011"],
        "",
    ),
    "hosts of 65 rows": (mesh("65, 2", hosts="2, 1") + TOP, ["MGD012"], "=write one of 1, 5, 13"),
    "hosts of 64 rows": (mesh("64, 2", hosts="3, 1") + TOP, ["MGD012"], "=write one of 1, 2, 4, 8, 16, 32, 64"),
    "a step behind a dimension": (
        mesh("8, 8", arch="BLACKHOLE", extra="express_links { dim_idx: 2 } express_links { pattern { step: 3 } }") + TOP,
        ["MGD029", "MGD029"],
        "=write a step of 2, 4, 8",
    ),
    "the shortest step": (mesh("8, 8", arch="BLACKHOLE", extra="express_links { pattern { step: 2 } }") + TOP, [], ""),
    "steps of 65": (
        mesh("65, 2", arch="BLACKHOLE", extra="express_links { pattern { step: 2 } }") + TOP, ["MGD029"], "=write a step of 5, 13"
    ),
    "steps of 64": (
        mesh("64, 2", arch="BLACKHOLE", extra="express_links { pattern { step: 3 } }") + TOP,
        ["MGD029"],
        "=write a step of 2, 4, 8, 16, 32, 64",
    ),
    "a graph behind a mesh": (
        mesh() + graph("G0", ONE % 0 + child("G1", 1)) + graph("G1", ONE % 1) + G0, ["MGD020", "MGD052"], "POD in CLUSTER"
    ),
    "a closed torus of one channel": (torus(1) + fabric(2, link("0", "1", "count: 1")), ["MGD073"], ""),
}  # fmt: skip


KINDS = (
    'connections { nodes { graph { graph_descriptor: "%s" graph_id: %d } } '
    'nodes { graph { graph_descriptor: "%s" graph_id: %d } } channels { count: 1 } }'
)
DEVICE = "logical_fabric_node_id { mesh_id: 0 chip_id: %s }"
MANY = {
    "three without a name": mesh(name="") + mesh() + mesh(name="") + mesh(name="") + TOP,
    "three of one name": mesh() * 3 + mesh(name="M1") + TOP + SWITCH * 3,
    "three reserved types": mesh() + TOP + "".join(graph(f"G{i}", ONE % 0, kind) for i, kind in enumerate(("MESH", "A", "DEVICE", "SWITCH"))),
    "three types that are none": mesh() + TOP + "".join(graph(f"G{i}", "", kind) for i, kind in enumerate(("", "FABRIK", "POD"))),
    "channels of all kinds": mesh().replace("count: 2", "count: -1") + mesh(name="M1").replace("channels { count: 2 }", "") + mesh(name="M2")
    + SWITCH.replace("count: 2", "") + fabric(3, "graph_topology { layout_type: RING } " + "".join(
        link("0", str(i), channels) for i, channels in ((1, "count: 0"), (2, "count: 1"), (2, "count: -3")))),
    "three architectures": mesh() + mesh(name="A", arch="BLACKHOLE") + mesh(name="B") + mesh(name="C", arch="QUASAR") + TOP
    + SWITCH.replace("WORMHOLE_B0", "BLACKHOLE"),
    "architectures that are none": mesh(arch="0") + mesh(name="A", arch="7") + mesh(name="B") + SWITCH.replace("arch: WORMHOLE_B0", "") + TOP,
    "dimensions of each architecture": mesh("2, 2, 2", hosts="1, 1, 1") + mesh("1, 2, 2", name="B", hosts="1, 1, 1", arch="BLACKHOLE")
    + mesh("1, 2, 2, 2", name="C", hosts="1, 1, 1, 1", arch="QUASAR") + SWITCH.replace("2, 2", "2, 2, 2") + TOP,
    "extents that are none": mesh("-1, 0", hosts="1, 1") + mesh("4, 0", name="A", hosts="3, 1") + SWITCH.replace("2, 2", "0, -2") + TOP,
    "types beyond the dims": mesh().replace("2, 4 ]", "2, 4 ] dim_types: [ RING, LINE, RING, RING ]") + SWITCH.replace("2 ]", "2 ] dim_types: [ LINE, LINE, LINE ]")
    + mesh(name="A").replace("2, 4 ]", "2, 4 ] dim_types: [ LINE, LINE ]") + TOP,
    "hosts for no devices": mesh().replace("device_topology { dims: [ 2, 4 ] }", "").replace("1, 1", "-1, 0, 3") + TOP,
    "hosts along each dimension": mesh("6, 4", hosts="4, 3") + mesh("6, 4", name="A", hosts="-2, 0") + mesh("6, 4", name="B", hosts="3, -4")
    + mesh("6, 4", name="C", hosts="-4, 4") + TOP,
    "ends of express connections": mesh(extra="".join(f"express_connections {{ src: {a} dst: {b} }} " for a, b in ((0, 7), (8, 7), (7, 8), (-1, 9)))) + TOP,
    "graphs with nothing in them": mesh() + TOP + graph("A", "") + graph("B", ONE % 0) + graph("C", "", "")
    + graph("D", ONE % 0 + "connections { channels { count: 1 } } " + link("0", "0") + "connections { nodes { mesh { } } channels { count: 1 } }", ""),
    "pins with nothing in them": mesh() + TOP + "pinnings { } " + pins(DEVICE % 0) + "pinnings { physical_asic_position { tray_id: 1 } } pinnings { " + DEVICE % 1 + " }",
    "patterns that are none": mesh() + TOP + "".join(pins(each, slot) for each, slot in (
        ('logical_fabric_node_id { mesh_id_regex: "1-" chip_id_regex: "[" }', 'tray_id_regex: "," asic_location_regex: "2-1"'),
        ('logical_fabric_node_id { mesh_id_regex: "0" chip_id_regex: "0-3" }', 'tray_id_regex: "1" asic_location: 1'),
        ('logical_fabric_node_id { mesh_id_regex: "0" chip_id_regex: "4" }', 'tray_id: 1 asic_location_regex: "((" '))),
    "numbers and patterns": mesh() + TOP + pins(
        'logical_fabric_node_id { mesh_id: 0 mesh_id_regex: "0" chip_id: 1 chip_id_regex: "1" } logical_fabric_node_id { mesh_id_regex: "0" chip_id: 2 }'
        'logical_fabric_node_id { mesh_id: 0 chip_id: 3 } logical_fabric_node_id { mesh_id: 0 chip_id: 4 }',
        'tray_id: 1 asic_location: 2 } physical_asic_position { tray_id: 1 tray_id_regex: "1" asic_location: 1 asic_location_regex: "3"'),
    "devices that are none": mesh() + TOP + pins(" ".join(DEVICE % i for i in (7, 8, 0, 9)) + "logical_fabric_node_id { mesh_id: 3 chip_id: 0 }"
        'logical_fabric_node_id { mesh_id: 1 chip_id: 99 }', "tray_id: 1 asic_location: 1 } " + " ".join(
        f"physical_asic_position {{ tray_id: 1 asic_location: {i} }}" for i in range(2, 8)).removesuffix("}")),
    "patterns that match nothing": mesh() + mesh("1, 2", name="M1") + graph("G0", ONE % 0 + ONE.replace("M0", "M1") % 1) + G0 + pins(
        'logical_fabric_node_id { mesh_id_regex: "0-1" chip_id_regex: "2-4" } logical_fabric_node_id { mesh_id_regex: "2" chip_id: 0 }'
        'logical_fabric_node_id { mesh_id_regex: "3" chip_id_regex: "0" } logical_fabric_node_id { mesh_id_regex: "0" chip_id_regex: "8" }',
        'tray_id_regex: "1-3" asic_location_regex: "1-8"'),
    "more devices than slots": mesh() + fabric(2) + pins(DEVICE % 0 + DEVICE % 1 + DEVICE % 1) + pins(DEVICE % 2 + DEVICE % 3, 'tray_id: 1 asic_location_regex: "1-2"')
    + pins('logical_fabric_node_id { mesh_id_regex: ".*" chip_id_regex: "4-7" }', 'tray_id: 2 asic_location_regex: "0-2"'),
    "the same again": mesh() + TOP + pins(DEVICE % 0 + DEVICE % 1 + DEVICE % 0 + DEVICE % 0) * 3 + pins(DEVICE % 2) * 2,
    "boards of other architectures": mesh() + TOP + "".join(
        pins(DEVICE % i, f"tray_id: 1 asic_location: {i} }} board_revision: {kind} ").removesuffix("}\n") for i, kind in enumerate(("WH", "BH_REV_C", "BH_REV_AB", "77", "0"))),
    "names that are none": mesh(name="Mesh") + SWITCH + graph("G0", 'instances { mesh { mesh_descriptor: "Mash" } } instances { } '
        'instances { switch { switch_descriptor: "?" switch_id: 1 } } instances { graph { graph_descriptor: "?" graph_id: 2 } }') + G0,
    "no switches and no names near": mesh() + 'top_level_instance { switch { switch_descriptor: "SW" } }',
    "graphs around themselves": mesh() + graph("G0", child("G1", 0) + child("G0", 1)) + graph("G1", child("G2", 0) + child("G1", 1), "A")
    + graph("G2", child("G0", 0) + ONE % 1, "B") + G0,
    "shapes of what is instantiated": mesh("8", hosts="1") + mesh("2, 2, 2", name="M1", hosts="1, 1, 1", arch="BLACKHOLE") + mesh("1, 1", name="M2")
    + graph("G0", "".join(ONE.replace("M0", f"M{i}") % i for i in range(3))) + G0,
    "types above and beside": mesh() + graph("G0", child("A", 0) + child("B", 1) + child("C", 2) + child("D", 3), "T")
    + graph("A", ONE % 0, "T") + graph("B", ONE % 0, "U") + graph("C", ONE % 0, "T") + graph("D", ONE % 0, "V") + G0,
    "ids given again": mesh() + SWITCH + graph("G0", ONE % 0 + 'instances { switch { switch_descriptor: "SW" switch_id: 0 } }' + ONE % 1 + ONE % 1 + ONE % 0
        + 'instances { switch { switch_descriptor: "SW" switch_id: 2 } }') + G0,
    "layouts that are none": mesh() + "".join(graph(f"G{i}", child(f"G{i + 1}", 0) * (i < 3) + ONE % (i + 1) + f"graph_topology {{ {layout} channels {{ count: 1 }} }}", f"T{i}")
        for i, layout in enumerate(("", "layout_type: RING", "layout_type: 9", "layout_type: ALL_TO_ALL"))) + G0,
    "three that are directional": mesh() + fabric(4, "".join(link(a, b).replace("channels", f"directional: {word} channels") for a, b, word in (
        ("0", "1", "true"), ("1", "2", "false"), ("2", "3", "true")))),
    "ends that are none": mesh() + fabric(2, link("0", "2") + link("3", "1") + link("0.8", "1.0") + link("0.7", "1.-1")
        + link("0", "1").replace('"M0" mesh_id: 1', '"M9" mesh_id: 1') + link("0", "1").replace("mesh { mesh_descriptor: \"M0\" mesh_id: 1", 'switch { switch_descriptor: "M0" switch_id: 1')
        + link("0", "1").replace("mesh { mesh_descriptor: \"M0\" mesh_id: 1", 'graph { graph_descriptor: "M0" graph_id: 1') + "connections { nodes { } nodes { } channels { count: 1 } }"),
    "kinds of ends": mesh() + graph("G0", ONE % 0 + ONE % 1 + child("P", 2) + child("Q", 3) + link("0", "1.1") + link("0.1", "1")
        + KINDS % ("P", 2, "P", 3) + KINDS % ("P", 2, "Q", 3) + link("0", "1").replace('mesh { mesh_descriptor: "M0" mesh_id: 1', 'graph { graph_descriptor: "P" graph_id: 2'))
    + graph("P", ONE % 0, "POD") + graph("Q", ONE % 1, "BAY") + G0,
    "odd Wormhole meshes": mesh("3, 5") + mesh("1, 1", name="M1") + mesh("1, 3", name="M2") + mesh("3, 1", name="M3") + mesh("3, 2", name="M4")
    + graph("G0", "".join(ONE.replace("M0", f"M{i}") % i for i in range(5))) + G0,
    "odd Blackhole meshes": mesh("3, 5", arch="BLACKHOLE") + TOP,
    "steps that do not fit": mesh("6, 8", arch="BLACKHOLE", extra="".join(
        f"express_links {{ dim_idx: {dim} pattern {{ step: {step} }} }} " for dim, step in ((0, 1), (0, 4), (0, 6), (1, 6), (1, 9), (2, 2), (1, 8)))) + TOP,
    "steps of one row": mesh("1, 2", arch="BLACKHOLE", extra="express_links { dim_idx: 0 pattern { step: 2 } } express_links { dim_idx: 1 pattern { step: 2 } } express_links { dim_idx: 1 }") + TOP,
    "ids beyond": mesh() + SWITCH + graph("G0", ONE % 0 + ONE % 3 + ONE % 1 + 'instances { switch { switch_descriptor: "SW" switch_id: 4 } }' + ONE % -1) + G0,
    "the one id": mesh() + TOP.replace("mesh_id: 0", "mesh_id: 1"),
    "rings on short dimensions": mesh("1, 2").replace("1, 2 ]", "1, 2 ] dim_types: [ RING, RING ]") + mesh("3, 2", name="A").replace("3, 2 ]", "3, 2 ] dim_types: [ RING, RING ]") + TOP,
    "values that count as another": mesh().replace("2, 4 ]", "2, 4 ] dim_types: [ 0, RING, 5 ]").replace("count: 2", "count: 2 policy: 0") + mesh(name="A").replace("count: 2", "count: 2 policy: 9") + SWITCH
    + fabric(3, "graph_topology { layout_type: RING channels { count: 1 policy: 0 } } " + link("0", "1", "count: 1 policy: 7") + link("1", "2", "count: 1 policy: STRICT") + link("0", "2", "count: 1 policy: 0")),
    "what means nothing on an instance": mesh() + graph("G0", ONE.replace("%d", "0 device_id: 1") + ONE % 1 + child("G1", 2).replace("graph_id: 2", "graph_id: 2 sub_ref { mesh { } }"))
    + graph("G1", ONE.replace("%d", "0 device_id: 0"), "A") + TOP.replace("mesh_id: 0", "mesh_id: 0 device_id: 2"),
    "links given thrice": mesh() + fabric(3, link("0", "1") + link("1", "2.1") * 0 + link("1", "2") + link("1", "0", "count: 3") + link("2", "1") + link("0", "1")
        + link("0", "2")),
    "descriptors that are never used": mesh() + mesh(name="A") + mesh(name="B") + SWITCH + SWITCH.replace('"SW"', '"SX"') + graph("G1", ONE % 0, "A") + graph("G2", ONE % 0, "A") + TOP,
    "other channels than the first mesh": mesh(name="A").replace("count: 2", "count: 3") + mesh() + mesh(name="B").replace("count: 2", "count: 4") + mesh(name="C").replace("count: 2", "count: 3")
    + graph("G0", "".join(ONE.replace("M0", name) % i for i, name in enumerate(("M0", "A", "B", "C")))) + G0,
    "a switch called a mesh": mesh() + SWITCH.replace("SW", "M0") + graph("G0", ONE % 0 + 'instances { switch { switch_descriptor: "M0" switch_id: 1 } }' + link("0", "1") + link("1", "0").replace(
        'mesh { mesh_descriptor: "M0" mesh_id: 0', 'switch { switch_descriptor: "M0" switch_id: 0')) + G0,
    "nodes linked with themselves": mesh() + fabric(2, link("0", "1") + link("1", "1") + link("0.2", "0.2") + link("0.2", "0.3") + link("0", "0")),
    "ports of devices": mesh() + fabric(3, "".join(link(a, b, f"count: {n}") for a, b, n in (("0.1", "1.1", 5), ("0.1", "2.1", 1), ("0.0", "1.0", 6), ("1.5", "2.5", 4), ("1.4", "2.4", 9)))),
    "toruses without edges": torus(1) + mesh("1, 2", name="M1") + graph("G0", ONE % 0 + ONE % 1 + ONE.replace("M0", "M1") % 2 + link("0", "1", "count: 1") + link("1", "0", "count: 1")
        + link("1", "2", "count: 1").replace('"M0" mesh_id: 2', '"M1" mesh_id: 2') + link("0", "1", "count: 1").replace("channels", "assign_z_direction: true channels")) + G0,
    "what the runtime refuses": mesh("8", hosts="1", name="A") + mesh() .replace("host_topology { dims: [ 1, 1 ] }", "") + mesh(name="B", extra="express_connections { src: 0 dst: 1 } express_connections { src: 1 dst: 2 }")
    + mesh(name="C", extra="express_connections { src: 0 dst: 1 }") + graph("G0", ONE % 0 + ONE % 1 + ONE % 2 + "".join(link(str(a), str(b), f"count: 1 policy: {word}") for a, b, word in (
        (0, 1, "RELAXED"), (1, 2, "STRICT"), (0, 2, "RELAXED"), (0, 0, "STRICT"))) + 'connections { ' + "".join(f'nodes {{ mesh {{ mesh_descriptor: "M0" mesh_id: {i} }} }} ' for i in range(3)) + "channels { count: 1 policy: RELAXED } }")
    + graph("G1", ONE % 0, "POD") + graph("G2", ONE % 0, "FABRIK") + G0,
}  # fmt: skip


def test_the_words_on_each_case() -> None:
    """All that is found, with its places and advice: `edges.txt`, for a person to read."""
    cases = {name: text for name, (text, *_) in FOUND.items()} | MANY
    lines = []
    for name, text in cases.items():
        lines.append(name)
        for found in check(loads(text)):
            lines += lines_of(found)
    same_as_read("\n".join(lines) + "\n", Path(__file__).with_name("edges.txt"))


@pytest.mark.parametrize("name", list(FOUND))
def test_exactly_this_is_found(name: str) -> None:
    text, codes, help = FOUND[name]
    found = check(loads(text))
    assert sorted(each.code for each in found) == sorted(codes), short(text)
    assert not codes or any(
        each.help == help[1:] if help.startswith("=") else help in each.help for each in found
    )


def test_which_form_is_the_odd_one() -> None:
    both = [
        'logical_fabric_node_id { mesh_id_regex: "0" chip_id: 0 }',
        "logical_fabric_node_id { mesh_id: 0 chip_id: 1 }",
    ]
    for order, told in ((both, "numbers"), (both[::-1], "patterns")):
        [found] = [
            each for each in check(loads(mesh() + TOP + pins(" ".join(order)))) if each.code == "MGD032"
        ]
        assert found.message == f"this one is written with {told}, the first of the entry is not"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (SWITCH.replace("count: 2", "count: 0") + mesh() + TOP, 'switch "SW" has 0 channels'),
        (SWITCH.replace("channels { count: 2 }", "") + mesh() + TOP, 'switch "SW" has no channels'),
        (mesh().replace("count: 2", "count: 0") + TOP, 'mesh "M0" has 0 channels'),
        (mesh() + fabric(2, link("0", "1", "count: 0")), 'a connection of "G0" has 0 channels'),
    ],
)
def test_who_has_no_channels(text: str, told: str) -> None:
    assert [each.message for each in check(loads(text)) if each.code == "MGD005"] == [told]
    assert (
        not [each for each in check(loads(text.replace("count: 0", "count: 1"))) if each.code == "MGD005"]
        or "has no" in told
    )


@pytest.mark.parametrize(
    ("file", "help"), [("a.b.yaml", "mgd convert a.b.yaml > a.b.textproto"), ("a.b.txt", "rename the file")]
)
def test_a_file_that_the_runtime_does_not_open(file: str, help: str) -> None:
    [found] = check(loads(mesh() + TOP, file=file))
    assert (found.code, found.help) == ("MGD056", help)


def test_nothing_described_is_one_mistake() -> None:
    assert [each.code for each in check(loads(""))] == ["MGD001"]
    assert [
        each.help for each in check(loads('graph_descriptors { name: "g" }')) if each.code == "MGD002"
    ] == ['add top_level_instance { mesh { mesh_descriptor: "M0" mesh_id: 0 } }']


@pytest.mark.parametrize(
    ("a", "b", "effect"), [("0.1", "1.1", "both count"), ("0", "1", "only the last one counts")]
)
def test_what_a_double_does(a: str, b: str, effect: str) -> None:
    [found] = check(loads(mesh() + fabric(2, link(a, b, "count: 1") * 2)))
    assert found.message == f'this connection of "G0" is there already; {effect}'


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_type_is_above_on_any_path(order: tuple[int, int]) -> None:
    """X is in P, and in R of Q; of the types above it Y has that of R alone."""
    parts = [child("P", 0), child("Q", 1)]
    text = mesh() + graph("G0", parts[order[0]] + parts[order[1]], "A") + graph("P", child("X", 0), "B")
    text += graph("Q", child("R", 0), "B") + graph("R", child("X", 0), "D") + graph("X", child("Y", 0), "C")
    found = [each for each in check(loads(text + graph("Y", ONE % 0, "D") + G0)) if each.is_error]
    assert [each.code for each in found] == ["MGD020"]


@pytest.mark.parametrize(
    "path", sorted(RULE_FOLDERS.glob("MGD0*/*.textproto")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_a_descriptor_without_a_file_is_judged_alike(path: Path) -> None:
    try:
        read = load(path)
    except MgdError:
        return
    told = sorted((each.code, each.message) for each in check(read) if each.code != "MGD056")
    in_memory = check(replace(read, source=None, notices=()))
    assert sorted((each.code, each.message) for each in in_memory) == told
    assert not any(label.position.line for each in in_memory for label in each.labels)


@pytest.mark.parametrize("count", [report.MOST - 1, report.MOST, report.MOST + 1])
def test_so_many_findings_of_a_rule_are_kept(count: int) -> None:
    empty = "pinnings { physical_asic_position { tray_id: 1 } }\n" * count
    assert short(mesh() + empty + TOP) == ["MGD016 a pinning names no device"] * min(count, report.MOST)


def test_the_names_of_graphs_are_compared_in_so_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """G0 stands above both others, G1 above G2: one name, then two."""
    text = mesh() + "".join(
        graph(f"G{i}", (child(f"G{i + 1}", 0) if i < 2 else ONE % 0), f"T{i}") for i in range(3)
    ) + G0  # fmt: skip
    for most, codes in ((3, []), (2, ["MGD090"])):
        monkeypatch.setattr(references, "MOST_STEPS", most)
        assert [each.code for each in check(loads(text)) if each.is_error] == codes


@pytest.mark.parametrize(
    ("count", "who"),
    [
        (3, "each of 3 meshes (0, 1, 2), which have"),
        (4, "each of 4 meshes (0, 1, 2, 3), which have"),
        (5, "each of 5 meshes (0, 1, 2, 3 and 1 more), which have"),
        (7, "each of 7 meshes (0, 1, 2, 3 and 3 more), which have"),
    ],
)
def test_meshes_that_ask_for_too_many_channels_are_told_together(count: int, who: str) -> None:
    ring = "".join(link(str(a), str((a + 1) % count), "count: 21") for a in range(count))
    [told] = [each for each in check(loads(mesh() + fabric(count, ring))) if each.code == "MGD072"]
    assert told.message == f"42 channels are asked of {who} 40 ports"
    assert len(told.labels) == min(count, 4)
