"""The oldest form of a link in MGD 1.0, `[[0, S2], [1, N0]]`: a mesh's number and a port on its edge, an entry per channel and direction.

Ports are numbered along an edge, as many for each chip as ethernet_ports says: on N and S from west to east, on E and W from north to
south, on Z over all chips in the order of their ids. An edge whose dimension closes to a ring has none.
"""

from __future__ import annotations

import re

from mgd.documents import Node
from mgd.lean import dataclass
from mgd.v1.model import Board, BoardLink, BoardMesh
from mgd.v1.nodes import Findings, integer, is_list, offset, text_of

_PORT = re.compile(r"([NESWZ])([0-9]{1,9})")
_RINGS = {"TORUS_Y": "NS", "TORUS_X": "EW", "TORUS_XY": "NESW"}


@dataclass(frozen=True, slots=True)
class Ports:
    """What numbers the ports of a file: how many a chip has on each side and in Z, and the boards by name."""

    sides: int
    z: int
    boards: dict[str, Board]


Port = tuple[int, str]  # mesh id, letter and number
_End = tuple[Port, int]  # a port and the device that has it


def is_port_link(node: Node) -> bool:
    """True for a pair of [mesh number, edge port]."""
    parts = node.items if is_list(node) else []
    return len(parts) == 2 and all(_written(part) for part in parts)


def port_links(
    found: Findings, nodes: list[Node], meshes: dict[int, BoardMesh], ports: Ports
) -> list[BoardLink]:
    """The links that entries of the oldest form stand for: one for each pair of devices, with its channels counted.

    An entry for the other direction of a channel adds nothing. A port that has two peers is reported, and one that is not there.
    """
    peers: dict[Port, Port] = {}
    channels: dict[tuple[int, int, int, int], int] = {}
    places: dict[tuple[int, int, int, int], tuple[int, int, int]] = {}
    for node in nodes:
        parts = node.items if is_list(node) else []
        ends = [_end(found, part, meshes, ports) for part in parts]
        if ends[0] is None or ends[1] is None:
            continue
        (a, a_device), (b, b_device) = ends[0], ends[1]
        if peers.get(a, b) != b or peers.get(b, a) != a:
            taken = a if peers.get(a, b) != b else b
            told = f"port {taken[1]} of mesh {taken[0]} is linked to two ports"
            found.add(
                "MGD211", offset(node), told, help="give each port one peer, the same in both directions"
            )
        elif a not in peers:
            peers[a], peers[b] = b, a
            pair = (a[0], a_device, b[0], b_device)
            pair = pair[2:] + pair[:2] if pair[2:] + pair[:2] in channels else pair
            channels[pair] = channels.get(pair, 0) + 1
            places.setdefault(pair, (offset(node), offset(parts[0]), offset(parts[1])))
    links = [
        BoardLink(a, b, count, a_device, b_device, *places[a, a_device, b, b_device])
        for (a, a_device, b, b_device), count in channels.items()
    ]
    _tell(found, nodes[0], links)
    return links


def _tell(found: Findings, node: Node, links: list[BoardLink]) -> None:
    first = (
        f"[[M{links[0].a}, D{links[0].a_device}], [M{links[0].b}, D{links[0].b_device}], {links[0].channels}]"
        if links
        else ""
    )
    found.add(
        "MGD213",
        offset(node),
        "links name edge ports, the oldest form; " + (f"the first reads {first}" if first else "none of them is right"),
        help="`mgd convert` writes them by devices",
    )  # fmt: skip


def _written(node: Node) -> tuple[int, str, int] | None:
    """(mesh number, letter, port number) as written."""
    parts = node.items if is_list(node) else []
    port = _PORT.fullmatch(text_of(parts[1]) or "") if len(parts) == 2 else None
    mesh = integer(parts[0]) if parts else None
    return None if port is None or mesh is None else (mesh, port[1], int(port[2]))


def _end(found: Findings, node: Node, meshes: dict[int, BoardMesh], ports: Ports) -> _End | None:
    mesh_id, letter, number = _written(node) or (0, "N", 0)
    mesh = meshes.get(mesh_id)
    if mesh is None:
        known = ", ".join(map(str, sorted(meshes)[:8])) or "none"
        # A mesh with a mistake of its own is not in the table; then this would only follow from it.
        if not found.has_errors:
            found.add("MGD212", offset(node), f"there is no mesh {mesh_id}", help=f"the meshes are {known}")
        return None
    board = ports.boards.get(mesh.board)
    count = ports.z if letter == "Z" else ports.sides
    devices = [] if board and letter in _RINGS.get(board.type, "") else edge(mesh.devices, letter)
    if number >= len(devices) * count:
        last = len(devices) * count - 1
        told = f"mesh {mesh_id} has no port {letter}{number}"
        help = (
            f"its ports there are {letter}0 to {letter}{last}" if last >= 0 else f"side {letter} has no ports"
        )
        found.add("MGD212", offset(node), told, (mesh.at, "the mesh"), help=help)
        return None
    return (mesh_id, f"{letter}{number}"), devices[number // count]


def edge(shape: tuple[int, int], letter: str) -> list[int]:
    """The devices on an edge, in the order in which their ports are numbered."""
    rows, columns = shape
    row, column = list(range(columns)), [each * columns for each in range(rows)]
    return {
        "N": row,
        "S": [each + (rows - 1) * columns for each in row],
        "W": column,
        "E": [each + columns - 1 for each in column],
        "Z": list(range(rows * columns)),
    }[letter]
