"""2.0 to MGD 1.0, for a descriptor that 1.0 has words for."""

from __future__ import annotations

from collections.abc import Iterator

from mgd.descriptor import Descriptor
from mgd.diagnostics import Diagnostic, Label, Position
from mgd.errors import UnsayableError
from mgd.expanding.connections import InterConnection
from mgd.expanding.topology import fabric_type
from mgd.graph import Mesh, MeshGraph

CODE = "MGD220"
_TYPES = {"MESH": "Mesh"}


def to_yaml(descriptor: Descriptor) -> str:
    """The MGD 1.0 text of a descriptor.

    1.0 has one channel count and arch, flat meshes with boards, and links of one kind. Raises RejectedError for a descriptor that its own
    rules refuse, UnsayableError with every part that 1.0 cannot say.
    """
    from mgd.expansion import expand

    graph = expand(descriptor)
    problems = [
        Diagnostic(
            CODE,
            f"MGD 1.0 cannot say this: {told}",
            (Label(where or Position(descriptor.file)),),
            "keep the .textproto",
        )
        for told, where in _unsayable(descriptor, graph)
    ]
    if problems:
        raise UnsayableError(problems)
    return "\n".join([*_chip(graph), *_boards(graph), *_meshes(graph), *_links(graph), ""])


def _unsayable(descriptor: Descriptor, graph: MeshGraph) -> Iterator[tuple[str, Position | None]]:
    if len(graph.graphs) > 1:
        yield "nested graphs", graph.graphs[0].position
    if graph.arch == "QUASAR":
        yield "the architecture QUASAR", descriptor.where(descriptor.mesh_descriptors[0], "arch")
    if graph.pins or descriptor.pinnings:
        yield "pinnings", descriptor.where(descriptor.pinnings[0])
    counts = {mesh.channels for mesh in graph.meshes}
    for mesh in graph.meshes:
        if mesh.is_switch:
            yield "switches", mesh.position
        elif mesh.policy != "RELAXED":
            yield f"a mesh with the policy {mesh.policy}", mesh.position
        if mesh.express or mesh.express_connections:
            yield "express links", mesh.position
    if len(counts) > 1:
        yield "different channel counts of meshes", graph.meshes[0].position
    kinds = {any(node.device is None for node in each.nodes) for each in graph.connections}
    if len(kinds) > 1:
        yield "links between meshes beside links between devices", graph.connections[0].position
    for each in graph.connections:
        yield from _unsayable_link(each)


def _unsayable_link(each: InterConnection) -> Iterator[tuple[str, Position | None]]:
    if len(each.nodes) != 2:
        yield "a connection of more than two nodes", each.position
    if each.z_direction:
        yield "assign_z_direction", each.position
    device_level = all(node.device is not None for node in each.nodes)
    if device_level and each.policy != "STRICT":
        yield "a relaxed link between devices", each.position
    if not device_level and each.policy != "RELAXED":
        yield "a strict link between meshes", each.position


def _chip(graph: MeshGraph) -> list[str]:
    ports = graph.meshes[0].channels
    sides = ", ".join(f"{side}: {ports}" for side in "NESW")
    return ["ChipSpec: {", f"  arch: {graph.arch.lower()},", f"  ethernet_ports: {{ {sides} }}", "}", ""]


def _board_name(mesh: Mesh) -> str:
    rows, columns = _board_shape(mesh)
    kind = fabric_type(mesh)
    return f"B{rows}x{columns}" + ("" if kind == "MESH" else f"_{kind}")


def _board_shape(mesh: Mesh) -> tuple[int, int]:
    return (mesh.dims[0] // mesh.host_dims[0], mesh.dims[1] // mesh.host_dims[1])


def _boards(graph: MeshGraph) -> list[str]:
    boards = {_board_name(mesh): mesh for mesh in graph.meshes}
    rows = [
        f"  {{ name: {name}, type: {_TYPES.get(fabric_type(mesh), fabric_type(mesh))}, topology: {list(_board_shape(mesh))} }},"
        for name, mesh in boards.items()
    ]
    return ["Board: [", *rows, "]", ""]


def _meshes(graph: MeshGraph) -> list[str]:
    rows = [
        f"  {{ id: {mesh.mesh_id}, board: {_board_name(mesh)}, device_topology: {list(mesh.dims)}, "
        f"host_topology: {list(mesh.host_dims)} }},"
        for mesh in graph.meshes
    ]
    return ["Mesh: [", *rows, "]", ""]


def _links(graph: MeshGraph) -> list[str]:
    if not graph.connections:
        return ["Graph: []"]
    if any(node.device is None for node in graph.connections[0].nodes):
        rows = [
            f"  [M{a.mesh_id}, M{b.mesh_id}, {each.channels}],"
            for each in graph.connections
            for a, b in [each.nodes]
        ]
        return ["RelaxedGraph: [", *rows, "]"]
    rows = [
        f"  [[M{a.mesh_id}, D{a.device}], [M{b.mesh_id}, D{b.device}], {each.channels}],"
        for each in graph.connections
        for a, b in [each.nodes]
    ]
    return ["Graph: [", *rows, "]"]
