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
