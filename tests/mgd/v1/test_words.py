"""Every word on files of the first format, what is read of those that are accepted, and what it cannot say: `words.txt`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mgd.diagnostics import Diagnostic
from mgd.errors import MgdError
from mgd.reading import loads as loads_text
from mgd.text.writer import write
from mgd.v1 import loads, to_yaml
from tests.mgd.fixtures import TOP, fabric, link, mesh
from tests.words import same_as_read

# Two hosts of four chips beside one of four.
SECTIONS = {
    "ChipSpec": "{ arch: wormhole_b0, ethernet_ports: { N: 2, E: 2, S: 2, W: 2 } }",
    "Board": "[ { name: B, type: Mesh, topology: [2, 2] } ]",
    "Mesh": "[ { id: 0, board: B, device_topology: [2, 4], host_topology: [1, 2] },\n  { id: 1, board: B, device_topology: [2, 2], host_topology: [1, 1] } ]",
    "Graph": "[ [[M0, D3], [M1, D0], 2] ]",
}
CHIP, PORTS = (
    "{ arch: %s, ethernet_ports: { N: 2, E: 2, S: 2, W: 2 } }",
    "{ arch: blackhole, ethernet_ports: %s }",
)
ONE = "[ { id: 0, board: B, device_topology: %s, host_topology: %s } ]"
BOARD = "{ name: %s, type: %s, topology: %s }"
MANY = (
    "[ "
    + ",\n ".join(
        f"{{ id: {i}, board: B, device_topology: [2, 2], host_topology: [1, 1] }}" for i in range(9)
    )
    + " ]"
)
CHANGES: list[dict[str, str | None]] = [
    {},
    {"ChipSpec": None},
    {"ChipSpec": "[]"},
    {"ChipSpec": CHIP % "Blackhole"},
    {"ChipSpec": CHIP % "grayskull"},
    {"ChipSpec": CHIP % "quasar"},
    {"ChipSpec": "{ arch: wormhole_b0 }"},
    {"ChipSpec": "{ arch: wormhole_b0, ethernet_ports: 2, more: 1 }"},
    {"ChipSpec": PORTS % "{ N: 2, E: 3, S: x, W: -1 }"},
    {"ChipSpec": PORTS % "{ N: -1, E: -1, S: 2 }"},
    {"ChipSpec": PORTS % "{ E: 2, S: 2, W: 2, Z: 1 }"},
    {"ChipSpec": PORTS % "{ N: 1, E: 1, S: 1, W: 1, Z: 0 }"},
    {"ChipSpec": PORTS % "{ N: 1, E: 1, S: 1, W: 1, Z: -1 }"},
    {"ChipSpec": PORTS % "{ N: 1, E: 1, S: 1, W: 1, Z: x, N: 2, Up: 1 }"},
    {"ChipSpec": PORTS % "{ N: 0, E: 0, S: 0, W: 0 }"},
    {"ChipSpec": PORTS % "{ N: 0, E: 1, S: 0, W: 0 }"},
    {"ChipSpec": "{ arch: blackhole }", "Graph": "[ [[0, Z0], [1, Z0]] ]"},
    {"Graph": "[ [[0, N0], [1, W0]], [[1, W1], [0, N1]] ]"},
    {"Graph": "[ [[0, E1], [1, S0]], [[0, E0], [1, S1]], [[1, S2], [0, E2]], [[0, E3], [1, S3]] ]"},
    {"ChipSpec": PORTS % "{ N: 0, E: 0, S: 0, W: 0 }", "Board": "[ { name: B, type: Mesh, topology: [1, 1] } ]", "Mesh": ONE % ("[1, 1]", "[1, 1]"), "Graph": "[]"},
    {"ChipSpec": None, "Graph": "[ [[0, N0], [1, S0]], [[0, Z0], [1, Z0]] ]"},
    {"ChipSpec": "{ arch: blackhole }", "Graph": "[ [[0, N0], [1, S0]] ]"},
    {"Graph": None, "RelaxedGraph": "[ [M000000000, M000000001, 1], [M0000000000, M1, 1] ]"},
    {"Board": None},
    {"Board": "{}"},
    {"Board": "[]"},
    {"Board": "[ x, { name: B, type: Mesh, topology: [2, 2] } ]"},
    {"Board": "[ " + BOARD % ("B", "Mesh", "[2, 2]") + ",\n " + BOARD % ("B", "Mesh", "[1, 2]") + " ]"},
    {"Board": "[ { type: Mesh, topology: [2, 2], name: '' },\n  { name: B, type: torus_xy, topology: [2, 2], tpye: 1 } ]"},
    {"Board": "[ " + BOARD % ("B", "Torus", "[2, 2]") + " ]"},
    {"Board": "[ { name: B, topology: [2, 2] } ]"},
    *({"Board": "[ " + BOARD % ("B", "Mesh", shape) + " ]"} for shape in ("[2]", "[2, 2, 1]", "[0, 2]", "[2, x]", "2", "[1, 1]", "[]", "[2, 0]")),
    *({"Board": "[ " + BOARD % ("B", kind, "[2, 2]") + " ]", "Graph": "[]"} for kind in ("Torus_X", "TORUS_Y", "Torus_XY")),
    {"Mesh": None},
    {"Mesh": "{}"},
    {"Mesh": "[]"},
    {"Mesh": "[ 3, { id: 0 } ]"},
    {"Mesh": "[ { board: b, device_topology: [2, 2], host_topology: [1, 1] },\n { id: x, board: B, device_topology: [2, 2], host_topology: 1 } ]"},
    {"Mesh": ONE % ("[2, 4]", "[2, 1]"), "Graph": "[]"},
    {"Mesh": ONE % ("[2, 3]", "[1, 2]"), "Graph": "[]"},
    {"Mesh": ONE % ("[3, 2]", "[1, 2]"), "Graph": "[]"},
    {"Mesh": ONE % ("[0, 2]", "[1, -1]"), "Graph": "[]"},
    {"Mesh": ONE % ("[2, 2]", "[1, 1]") + "\nmesh: 1", "Graph": "[]"},
    {"Mesh": "[ { id: 1, board: B, device_topology: [2, 2], host_topology: [1, 1] },\n { id: 1, board: B, device_topology: [2, 2], host_topology: [1, 1] } ]", "Graph": "[]"},
    {"Graph": None},
    {"Graph": "{}"},
    {"Graph": "[]"},
    {"RelaxedGraph": "[]"},
    {"Graph": None, "RelaxedGraph": "[ [M0, M1, 4], [M1, M0, 1] ]"},
    {"Graph": None, "RelaxedGraph": "[ [M0, M1], [M0, M9, 1], [m0, M1, 1], [M0, M1, 0], [[M0, D0], [M1, D0], 1], [M0, Mx, 1], [M0, M1, 1, 1] ]"},
    {"Graph": "[ [[M0, D7], [M1, D3], 1], [[M0, D8], [M1, D4], 1], [[M2, D0], [M1, D0], 1] ]"},
    {"Graph": "[ [[M0], [M1, D3], 1], [[M0, x], [M1, D0], 1], [[x, D0], [M1, D0], 1], x, [[M0, D0], [M1, D0], x], [M0, M1, 1] ]"},
    {"Mesh": MANY, "Graph": "[ [[M9, D0], [M1, D0], 1] ]"},
    {"Mesh": MANY, "Graph": None, "RelaxedGraph": "[ [M9, M1, 1] ]"},
    {"Mesh": MANY, "Graph": "[ [[9, N0], [1, S0]] ]"},
    {"Graph": "[ [[0, E0], [1, W0]], [[0, E1], [1, W1]], [[1, W2], [0, E2]], [[1, W0], [0, E0]], [[0, N7], [1, S3]] ]"},
    {"Graph": "[ [[0, E0], [1, W0]], [[0, E0], [1, W1]], [[0, E1], [1, W0]] ]"},
    {"Graph": "[ [[0, E4], [1, W0]], [[0, E3], [1, W4]], [[0, Z0], [1, Z0]], [[2, N0], [1, N0]] ]"},
    {"ChipSpec": PORTS % "{ N: 1, E: 1, S: 1, W: 1, Z: 1 }", "Graph": "[ [[0, Z7], [1, Z3]], [[0, N3], [1, N1]], [[0, Z8], [1, Z0]] ]"},
    {"Board": "[ { name: B, type: Torus_Y, topology: [2, 2] } ]", "Graph": "[ [[0, N0], [1, W0]], [[0, E0], [1, W1]] ]"},
    {"Graph": "[ [[0, E0], [1, W0]], [[M0, D3], [M1, D0], 2] ]"},
    {"Graph": "[ [[0, E0, 1], [1, W0]], [0, [1, W0]], [[0, Q0], [1, W0]] ]"},
    {"ChipSpec": None, "Board": None, "Mesh": None, "Graph": None, "rank_bindings": "[]"},
    {"ChipSpec": None, "Board": None, "Mesh": None, "Graph": None, "a": "1", "b": "1", "c": "1", "d": "1", "e": "1"},
    {"ChipSpec": None, "Board": None, "Mesh": None, "Graph": None},
    {"Chip": "1", "Bord": "1", "zzz": "1"},
]  # fmt: skip
RELAXED = mesh("2, 4", hosts="1, 2").replace("count: 2", "count: 2 policy: RELAXED")
WRITTEN = [
    RELAXED + fabric(2, link("0", "1", "count: 3 policy: RELAXED")),
    RELAXED + fabric(2, link("0.3", "1.4", "count: 1 policy: STRICT")),
    RELAXED + fabric(2),
    RELAXED + fabric(2, link("0", "1", "count: 3")),
    RELAXED + fabric(2, link("0.1", "1.1", "count: 3 policy: RELAXED")),
    RELAXED + fabric(2, link("0.1", "1.1", "count: 1 policy: STRICT") + link("0", "1", "count: 3 policy: RELAXED")),
    RELAXED.replace("[ 2, 4 ]", "[ 4, 4 ] dim_types: [ RING, LINE ]") + RELAXED.replace("M0", "M1").replace("count: 2", "count: 3")
    + fabric(1, 'instances { mesh { mesh_descriptor: "M1" mesh_id: 1 } }'),
    RELAXED.replace("[ 2, 4 ]", "[ 4, 4 ] dim_types: [ RING, RING ]") + fabric(1),
    RELAXED.replace("[ 2, 4 ]", "[ 4, 4 ] dim_types: [ LINE, RING ]") + fabric(1),
    RELAXED + TOP + "pinnings { logical_fabric_node_id { chip_id: 0 } physical_asic_position { tray_id: 1 asic_location: 1 } }",
    RELAXED
    + 'graph_descriptors { name: "G0" type: "CLUSTER" instances { graph { graph_descriptor: "G1" graph_id: 1 } } }'
    + 'graph_descriptors { name: "G1" type: "POD" instances { mesh { mesh_descriptor: "M0" mesh_id: 0 } } }'
    + '\n\ntop_level_instance { graph { graph_descriptor: "G0" graph_id: 0 } }',
    mesh(arch="QUASAR", extra="express_links { pattern { step: 2 } }") + fabric(1),
]  # fmt: skip


def told(found: tuple[Diagnostic, ...]) -> Iterator[str]:
    for each in found:
        labels = [
            f"{label.position.line}:{label.position.column} {label.text}".rstrip() for label in each.labels
        ]
        yield f"  {each.severity.value} {each.code} at {', '.join(labels)}: {each.message} | {each.help}"


def test_so_many_findings_are_kept() -> None:
    from mgd.v1.nodes import MOST

    for count in (MOST - 1, MOST, MOST + 1):
        boards = ", ".join(["x"] * count)
        text = "".join(f"{key}: {value}\n" for key, value in {**SECTIONS, "Board": f"[ {boards} ]"}.items())
        with pytest.raises(MgdError) as caught:
            loads(text)
        told = [each.code for each in caught.value.diagnostics]
        assert told.count("MGD205") == min(count, MOST) and len(told) <= MOST


def test_the_words_on_every_file() -> None:
    lines = []
    for changes in CHANGES:
        text = "".join(
            f"{key}: {value}\n" for key, value in {**SECTIONS, **changes}.items() if value is not None
        )
        lines.append("with " + ", ".join(f"{key}: {value}" for key, value in changes.items()))
        try:
            read = loads(text, file="f.yaml")
        except MgdError as error:
            lines += told(error.diagnostics)
            continue
        lines += told(read.notices)
        lines += [f"  | {line}" for line in write(read).splitlines()]
        try:
            lines += [f"  > {line}" for line in to_yaml(read).splitlines() if line]
        except MgdError as error:
            lines += [f"back{line}" for line in told(error.diagnostics)]
    for text in WRITTEN:
        lines.append(f"written {text.rstrip()}")
        try:
            lines += [f"  > {line}" for line in to_yaml(loads_text(text, file="f")).splitlines() if line]
        except MgdError as error:
            lines += told(error.diagnostics)
    same_as_read("\n".join(lines) + "\n", Path(__file__).with_name("words.txt"))
