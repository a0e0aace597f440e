"""From YAML text to MGD 1.0 values, with the rules of that format (specification: MGD section 11)."""

from __future__ import annotations

from typing import Any

from mgd.descriptor import Descriptor
from mgd.diagnostics import Severity
from mgd.errors import RejectedError
from mgd.text.problems import nearest, quoted, shown
from mgd.v1.links import read_links
from mgd.v1.model import Board, BoardMesh, FirstFormat, Shape
from mgd.v1.nodes import Findings, YamlSource, compose, entries, integer, is_list, is_map, offset, text_of

ARCHITECTURES = {"wormhole_b0": "WORMHOLE_B0", "blackhole": "BLACKHOLE"}
BOARD_TYPES = ("MESH", "TORUS_X", "TORUS_Y", "TORUS_XY")
_KEYS = {
    "": ("ChipSpec", "Board", "Mesh", "RelaxedGraph", "Graph"),
    "ChipSpec": ("arch", "ethernet_ports"),
    "ethernet_ports": ("N", "E", "S", "W", "Z"),
    "Board": ("name", "type", "topology"),
    "Mesh": ("id", "board", "device_topology", "host_topology", "host_ranks"),
}


def loads(text: str | bytes, *, file: str = "") -> Descriptor:
    """Read MGD 1.0 from memory, as a descriptor of the 2.0 model with positions in the YAML.

    Raises ParseError when it is not YAML, RejectedError with every violation of the format's own rules.
    """
    from mgd.v1.conversion import as_descriptor

    value, found = read(text, file=file)
    if value is None:
        raise RejectedError(found.all)
    return as_descriptor(
        value, found.source, tuple(each for each in found.all if each.severity is not Severity.ERROR)
    )


def read(text: str | bytes, *, file: str = "") -> tuple[FirstFormat | None, Findings]:
    """The values of the text, None when a rule refuses them, and all findings. Raises ParseError when it is not YAML."""
    from mgd.reading import as_source

    plain, warnings = as_source(text, file)
    source = YamlSource(plain.text, file)
    found = Findings(source, list(warnings))
    root = compose(source)
    if root is None or not is_map(root):
        found.add(
            "MGD201",
            0,
            "the file has no sections",
            help="write ChipSpec, Board, Mesh and Graph or RelaxedGraph",
        )
        return None, found
    sections = entries(root)
    _unknown_keys(found, root, "")
    arch, ports, z_ports = _chip(found, root, sections.get("ChipSpec"))
    boards = _boards(found, root, sections.get("Board"))
    meshes = _meshes(found, root, sections.get("Mesh"), boards)
    mode, links = read_links(found, root, sections, meshes)
    if found.has_errors:
        return None, found
    return FirstFormat(arch, ports, z_ports, tuple(boards.values()), tuple(meshes), mode, links), found


def _unknown_keys(found: Findings, node: Any, section: str) -> None:
    known = _KEYS[section]
    seen: set[str] = set()
    for key, _ in node.value if is_map(node) else ():
        name = text_of(key) or ""
        if name not in known:
            near = nearest(name, known)
            found.add(
                "MGD214", offset(key), f"{section or 'the file'} has no key {shown(name)}; it is skipped",
                help=f"did you mean {near}?" if near else f"its keys are {', '.join(known)}",
            )  # fmt: skip
        elif name in seen:
            found.add(
                "MGD214", offset(key), f"{name} is given twice; the first one counts", help="remove one"
            )
        seen.add(name)


def _section(found: Findings, root: Any, node: Any, name: str, *, as_map: bool = False) -> bool:
    if node is not None and (is_map(node) if as_map else is_list(node)):
        return True
    what = "a map" if as_map else "a list"
    told = f"{name} is missing" if node is None else f"{name} is not {what}"
    found.add(
        "MGD201",
        offset(root if node is None else node),
        told,
        help=f"write {name}: {'{ … }' if as_map else '[ … ]'}",
    )
    return False


def _chip(found: Findings, root: Any, node: Any) -> tuple[str, int, int]:
    if not _section(found, root, node, "ChipSpec", as_map=True):
        return "", 0, 0
    _unknown_keys(found, node, "ChipSpec")
    values = entries(node)
    word = text_of(values.get("arch")) or ""
    arch = ARCHITECTURES.get(word.lower(), "")
    if not arch:
        at = offset(values.get("arch", node))
        found.add(
            "MGD203", at, f"arch {quoted(word)} is unknown", help=f"write one of {', '.join(ARCHITECTURES)}"
        )
    ports = values.get("ethernet_ports")
    if ports is None or not is_map(ports):
        found.add(
            "MGD204",
            offset(ports or node),
            "ethernet_ports is missing",
            help="write ethernet_ports: { N: 2, E: 2, S: 2, W: 2 }",
        )
        return arch, 0, 0
    _unknown_keys(found, ports, "ethernet_ports")
    counts = entries(ports)
    numbers = {side: integer(counts.get(side)) for side in "NESW"}
    first = numbers["N"]
    for side, number in numbers.items():
        at = offset(counts.get(side, ports))
        if number is None or number < 1:
            found.add(
                "MGD204", at, f"the ports of side {side} are not a positive number", help=f"write {side}: 2"
            )
        elif first is not None and number != first:
            found.add(
                "MGD204", at, f"side {side} has {number} ports, side N {first}", help=f"write {side}: {first}"
            )
    z_ports = integer(counts["Z"]) if "Z" in counts else 0
    if z_ports is None or z_ports < 0:
        found.add("MGD204", offset(counts["Z"]), "the Z ports are not a number", help="write Z: 0")
    return arch, first or 0, z_ports or 0


def shape_of(found: Findings, owner: Any, node: Any, name: str) -> Shape | None:
    """The [rows, columns] of a node, its absence and mistakes reported."""
    if node is None or not is_list(node):
        told = f"{name} is missing" if node is None else f"{name} is not a list"
        found.add(
            "MGD207", offset(owner if node is None else node), told, help=f"write {name}: [rows, columns]"
        )
        return None
    numbers = [integer(each) for each in node.value[:3]]
    if len(numbers) != 2 or any(each is None or each < 1 for each in numbers):
        found.add(
            "MGD207",
            offset(node),
            f"{name} is not two positive numbers",
            help=f"write {name}: [rows, columns]",
        )
        return None
    return (numbers[0] or 0, numbers[1] or 0)


def _boards(found: Findings, root: Any, node: Any) -> dict[str, Board]:
    boards: dict[str, Board] = {}
    if not _section(found, root, node, "Board"):
        return boards
    for each in node.value:
        if found.is_full:
            break
        if not is_map(each):
            found.add(
                "MGD205",
                offset(each),
                "a board is not a map",
                help="write { name: B, type: Mesh, topology: [2, 4] }",
            )
            continue
        _unknown_keys(found, each, "Board")
        values = entries(each)
        name, word = text_of(values.get("name")) or "", text_of(values.get("type")) or ""
        if not name:
            found.add("MGD205", offset(each), "a board has no name", help="add name: B")
        elif name in boards:
            at = offset(values["name"])
            found.add(
                "MGD205",
                at,
                f"two boards are named {quoted(name)}",
                (boards[name].at, "the first one"),
                help="rename one",
            )
        if word.upper() not in BOARD_TYPES:
            at = offset(values.get("type", each))
            found.add(
                "MGD206",
                at,
                f"board type {quoted(word)} is unknown",
                help=f"write one of {', '.join(BOARD_TYPES)}",
            )
        shape = shape_of(found, each, values.get("topology"), "topology")
        boards.setdefault(name, Board(name, word.upper(), shape or (0, 0), offset(each)))
    return boards


def _meshes(found: Findings, root: Any, node: Any, boards: dict[str, Board]) -> list[BoardMesh]:
    meshes: list[BoardMesh] = []
    if not _section(found, root, node, "Mesh"):
        return meshes
    if not node.value:
        found.add("MGD201", offset(node), "Mesh lists no mesh", help="add { id: 0, board: …, … }")
    for each in node.value:
        if found.is_full:
            break
        if not is_map(each):
            found.add("MGD207", offset(each), "a mesh is not a map", help="write { id: 0, board: B, … }")
            continue
        _unknown_keys(found, each, "Mesh")
        mesh = _mesh(found, each, entries(each), boards)
        if mesh is not None:
            meshes.append(mesh)
    return meshes


def _mesh(found: Findings, node: Any, values: dict[str, Any], boards: dict[str, Board]) -> BoardMesh | None:
    mesh_id, name = integer(values.get("id")), text_of(values.get("board")) or ""
    if mesh_id is None:
        found.add("MGD207", offset(values.get("id", node)), "a mesh has no id", help="add id: 0")
    if name not in boards:
        near = nearest(name, boards)
        found.add(
            "MGD208", offset(values.get("board", node)), f"no board is named {quoted(name)}",
            help=f"did you mean {quoted(near)}?" if near else f"the boards are {', '.join(boards) or 'none'}",
        )  # fmt: skip
    devices = shape_of(found, node, values.get("device_topology"), "device_topology")
    hosts = shape_of(found, node, values.get("host_topology"), "host_topology")
    if mesh_id is None or devices is None or hosts is None or name not in boards:
        return None
    mesh = BoardMesh(
        mesh_id,
        name,
        devices,
        hosts,
        offset(values["id"]),
        offset(values["device_topology"]),
        offset(values["host_topology"]),
    )
    _fits(found, mesh, boards[name])
    return mesh


def _fits(found: Findings, mesh: BoardMesh, board: Board) -> None:
    """Boards tile the mesh, one host per board."""
    if 0 in board.shape:
        return
    shown_board, shown_mesh = (f"{rows}x{columns}" for rows, columns in (board.shape, mesh.devices))
    if any(extent % side for extent, side in zip(mesh.devices, board.shape, strict=True)):
        found.add(
            "MGD209", mesh.devices_at, f"{shown_mesh} devices are not made of {shown_board} boards",
            (board.at, "the board"), help="write multiples of the board's topology",
        )  # fmt: skip
        return
    wanted = tuple(extent // side for extent, side in zip(mesh.devices, board.shape, strict=True))
    if wanted != mesh.hosts:
        found.add(
            "MGD210", mesh.hosts_at, f"{mesh.hosts[0]}x{mesh.hosts[1]} hosts with {shown_board} boards do not make {shown_mesh} devices",
            (mesh.devices_at, "the devices"), (board.at, "the board"), help=f"write host_topology: [{wanted[0]}, {wanted[1]}]",
        )  # fmt: skip
