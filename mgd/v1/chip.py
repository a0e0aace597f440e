"""The chip of MGD 1.0: its architecture and its ports, as many on each side (reference library 0.81.1)."""

from __future__ import annotations

from mgd.documents import Node
from mgd.text.problems import quoted
from mgd.v1.model import BoardMesh
from mgd.v1.nodes import Findings, entries, integer, is_map, offset, text_of
from mgd.v1.sections import map_section, shown_shape, unknown_keys

ARCHITECTURES = {"wormhole_b0": "WORMHOLE_B0", "blackhole": "BLACKHOLE"}


def read_chip(found: Findings, root: Node, node: Node | None) -> tuple[str, int, int]:
    """The architecture, the ports of each side and the Z ports of the file; "" and 0 for what is reported."""
    chip = map_section(found, root, node, "ChipSpec")
    if chip is None:
        return "", 0, 0
    unknown_keys(found, chip, "ChipSpec")
    values = entries(chip)
    word = text_of(values.get("arch")) or ""
    arch = ARCHITECTURES.get(word.lower(), "")
    if not arch:
        at = offset(values.get("arch", chip))
        found.add(
            "MGD203", at, f"arch {quoted(word)} is unknown", help=f"write one of {', '.join(ARCHITECTURES)}"
        )
    ports = values.get("ethernet_ports")
    if ports is None or not is_map(ports):
        found.add(
            "MGD204",
            offset(ports or chip),
            "ethernet_ports is missing",
            help="write ethernet_ports: { N: 2, E: 2, S: 2, W: 2 }",
        )
        return arch, 0, 0
    unknown_keys(found, ports, "ethernet_ports")
    counts = entries(ports)
    numbers = {side: integer(counts.get(side)) for side in "NESW"}
    north = numbers["N"]
    first = None if north is None or north < 0 else north
    for side, number in numbers.items():
        at = offset(counts.get(side, ports))
        if number is None or number < 0:
            told = (
                f"side {side} has no number of ports" if number is None else f"side {side} has {number} ports"
            )
            found.add("MGD204", at, told, help=f"write {side}: {2 if first is None else first}")
        elif first is not None and number != first:
            found.add(
                "MGD204", at, f"side {side} has {number} ports, side N {first}", help=f"write {side}: {first}"
            )
    z_ports = integer(counts["Z"]) if "Z" in counts else 0
    if z_ports is None or z_ports < 0:
        found.add("MGD204", offset(counts["Z"]), "the Z ports are not a number", help="write Z: 0")
    return arch, first or 0, z_ports or 0


def check_ports(found: Findings, chip: Node | None, meshes: list[BoardMesh]) -> None:
    """Chips without ports, as on single-chip boards, can make no mesh of several devices."""
    large = next((mesh for mesh in meshes if mesh.devices != (1, 1)), None)
    ports = entries(chip).get("ethernet_ports") if is_map(chip) else None
    if large is None or not is_map(ports):
        return
    found.add(
        "MGD204", offset(ports), f"chips without ports cannot be linked to the {shown_shape(large.devices)} devices of a mesh",
        (large.devices_at, "this mesh"), help="write ethernet_ports: { N: 2, E: 2, S: 2, W: 2 }",
    )  # fmt: skip
