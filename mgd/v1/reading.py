"""From YAML text to MGD 1.0 values, with the rules of that format (reference library 0.81.1)."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from mgd.descriptor import Descriptor
from mgd.diagnostics import Severity
from mgd.documents import Node
from mgd.errors import RejectedError
from mgd.files import as_source
from mgd.text.problems import nearest, quote_text, quoted
from mgd.v1.chip import check_ports, read_chip
from mgd.v1.edge_ports import Ports
from mgd.v1.links import read_links
from mgd.v1.model import Board, BoardMesh, FirstFormat
from mgd.v1.nodes import Findings, YamlSource, compose, entries, integer, is_map, offset, text_of
from mgd.v1.recognition import OTHER_KINDS
from mgd.v1.sections import KEYS, list_section, shape_of, shown_shape, unknown_keys

BOARD_TYPES = ("MESH", "TORUS_X", "TORUS_Y", "TORUS_XY")


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
    if sections and not set(sections) & set(KEYS[""]):
        _refuse_other_kind(found, root, sections)
        return None, found
    unknown_keys(found, root, "")
    arch, ports, z_ports = read_chip(found, root, sections.get("ChipSpec"))
    boards = _boards(found, root, sections.get("Board"))
    meshes = _meshes(found, root, sections.get("Mesh"), boards)
    if ports == 0 and not found.has_errors:
        check_ports(found, sections.get("ChipSpec"), meshes)
    mode, links = read_links(found, root, sections, meshes, Ports(ports, z_ports, boards))
    if found.has_errors:
        return None, found
    return FirstFormat(arch, ports, z_ports, tuple(boards.values()), tuple(meshes), mode, links), found


def _refuse_other_kind(found: Findings, root: Node, sections: Mapping[str, Node]) -> None:
    """One finding for a file without any section of MGD 1.0, which says what it is where its keys tell."""
    kind = next((OTHER_KINDS[key] for key in sections if key in OTHER_KINDS), None)
    if kind is not None:
        told, help = f"the file holds {kind[0]}, not a mesh graph descriptor", f"it is for tt-run {kind[1]}"
    else:
        names = ", ".join(quote_text(name) for name in list(sections)[:4])
        told = f"the file has no section of a descriptor; its keys are {names}"
        help = "write ChipSpec, Board, Mesh and Graph or RelaxedGraph"
    found.add("MGD201", offset(root), told, help=help)


def _boards(found: Findings, root: Node, node: Node | None) -> dict[str, Board]:
    boards: dict[str, Board] = {}
    section = list_section(found, root, node, "Board")
    for each in section.items if section else ():
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
        unknown_keys(found, each, "Board")
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


def _meshes(found: Findings, root: Node, node: Node | None, boards: dict[str, Board]) -> list[BoardMesh]:
    meshes: list[BoardMesh] = []
    section = list_section(found, root, node, "Mesh")
    if section is None:
        return meshes
    if not section.items:
        found.add("MGD201", offset(section), "Mesh lists no mesh", help="add { id: 0, board: …, … }")
    for each in section.items:
        if found.is_full:
            break
        if not is_map(each):
            found.add("MGD207", offset(each), "a mesh is not a map", help="write { id: 0, board: B, … }")
            continue
        unknown_keys(found, each, "Mesh")
        mesh = _mesh(found, each, entries(each), boards)
        if mesh is not None:
            _own_id(found, mesh, meshes)
            meshes.append(mesh)
    return meshes


def _own_id(found: Findings, mesh: BoardMesh, before: list[BoardMesh]) -> None:
    same = next((each for each in before if each.mesh_id == mesh.mesh_id), None)
    if same is not None:
        taken = {each.mesh_id for each in before}
        free = next(number for number in count() if number not in taken)
        found.add(
            "MGD207", mesh.at, f"two meshes have the id {mesh.mesh_id}", (same.at, "the first one"), help=f"write id: {free}"
        )  # fmt: skip


def _mesh(found: Findings, node: Node, values: dict[str, Node], boards: dict[str, Board]) -> BoardMesh | None:
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
    shown_board, shown_mesh = shown_shape(board.shape), shown_shape(mesh.devices)
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
