"""The links of MGD 1.0: `RelaxedGraph` between meshes, `Graph` between devices (reference library 0.81.1)."""

from __future__ import annotations

from mgd.documents import Node
from mgd.v1.edge_ports import Ports, is_port_link, port_links
from mgd.v1.model import BoardLink, BoardMesh
from mgd.v1.nodes import Findings, integer, is_list, offset, text_of

_FORMS = {"RelaxedGraph": "[M0, M1, channels]", "Graph": "[[M0, D0], [M1, D0], channels]"}


def read_links(
    found: Findings, root: Node, sections: dict[str, Node], meshes: list[BoardMesh], ports: Ports
) -> tuple[str, tuple[BoardLink, ...]]:
    """The section that links the meshes, and its links. One of the two sections is there, as a list."""
    present = [name for name in _FORMS if name in sections]
    if len(present) == 2:
        first, second = (offset(sections[name]) for name in present)
        found.add(
            "MGD202",
            second,
            "Graph and RelaxedGraph are both given",
            (first, "RelaxedGraph"),
            help="remove one",
        )
        return "", ()
    if not present:
        found.add("MGD201", offset(root), "Graph is missing", help="write Graph: [] or RelaxedGraph: []")
        return "", ()
    mode = present[0]
    node = sections[mode]
    if not is_list(node):
        found.add("MGD201", offset(node), f"{mode} is not a list", help=f"write {mode}: []")
        return mode, ()
    by_id = {mesh.mesh_id: mesh for mesh in meshes}
    oldest = [each for each in node.items if mode == "Graph" and is_port_link(each)]
    links: list[BoardLink | None] = []
    for each in node.items:
        if found.is_full:
            break
        if not oldest or not is_port_link(each):
            links.append(_link(found, mode, each, by_id))
    links += port_links(found, oldest, by_id, ports) if oldest else []
    return mode, tuple(link for link in links if link is not None)


def _link(found: Findings, mode: str, node: Node, meshes: dict[int, BoardMesh]) -> BoardLink | None:
    parts = node.items if is_list(node) else []
    ends = [_end(part, mode) for part in parts[:2]]
    channels = integer(parts[2]) if len(parts) == 3 else None
    if len(parts) != 3 or None in ends or channels is None or channels < 1:
        found.add(
            "MGD211", offset(node), f"an entry of {mode} is not {_FORMS[mode]}", help=f"write {_FORMS[mode]}"
        )
        return None
    (a, a_device), (b, b_device) = (end or (0, None) for end in ends)
    fits = [
        _exists(found, part, end, meshes)
        for part, end in zip(parts, ((a, a_device), (b, b_device)), strict=False)
    ]
    if not all(fits):
        return None
    return BoardLink(a, b, channels, a_device, b_device, offset(node), offset(parts[0]), offset(parts[1]))


def _end(node: Node | None, mode: str) -> tuple[int, int | None] | None:
    """(mesh id, device id or None) of one end."""
    if mode == "RelaxedGraph":
        mesh = _numbered(node, "M")
        return None if mesh is None else (mesh, None)
    if not is_list(node) or len(node.items) != 2:
        return None
    mesh, device = _numbered(node.items[0], "M"), _numbered(node.items[1], "D")
    return None if mesh is None or device is None else (mesh, device)


def _numbered(node: Node | None, letter: str) -> int | None:
    text = text_of(node) or ""
    digits = text[1:]
    return (
        int(digits)
        if text[:1] == letter and digits.isascii() and digits.isdigit() and len(digits) < 10
        else None
    )


def _exists(found: Findings, node: Node, end: tuple[int, int | None], meshes: dict[int, BoardMesh]) -> bool:
    mesh_id, device = end
    mesh = meshes.get(mesh_id)
    if mesh is None:
        known = ", ".join(f"M{each}" for each in sorted(meshes)[:8]) or "none"
        # A mesh with a mistake of its own is not in the table; then this would only follow from it.
        if not found.has_errors:
            found.add("MGD212", offset(node), f"there is no mesh M{mesh_id}", help=f"the meshes are {known}")
        return False
    count = mesh.devices[0] * mesh.devices[1]
    if device is not None and device >= count:
        found.add(
            "MGD212",
            offset(node),
            f"M{mesh_id} has no device D{device}",
            help=f"its devices are D0 to D{count - 1}",
        )
        return False
    return True
