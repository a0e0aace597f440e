"""What can be drawn of a descriptor, also of one that the rules reject: the rest of it, with the mistakes crossed out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mgd.checking import check
from mgd.descriptor import (
    Architecture,
    Connection,
    Descriptor,
    MeshDescriptor,
    NodeRef,
    SwitchDescriptor,
    TorusTopologyType,
)
from mgd.diagnostics import Diagnostic
from mgd.drawing.marks import Device, Ends, HostRank, Marks, end_name
from mgd.errors import RejectedError
from mgd.expanding.connections import InterLink
from mgd.expanding.instances import expand_checked
from mgd.graph import Mesh, MeshGraph
from mgd.names import policy_name, type_name
from mgd.text.tree import Block, read_tree

MOST_MESHES, MOST_DEVICES, MOST_DEPTH = 64, 1 << 16, 20
Template = MeshDescriptor | SwitchDescriptor
Span = tuple[int, int]


def drawable(descriptor: Descriptor) -> tuple[MeshGraph, Marks, bool]:
    """The graph to draw, what to cross out on it, and whether the rules accept the descriptor.

    Raises RejectedError when no mesh of it has a shape.
    """
    errors = [each for each in check(descriptor) if each.is_error]
    if not errors:
        return expand_checked(descriptor), Marks(), True
    meshes = [_mesh(*found) for found in _instances(descriptor)][:MOST_MESHES]
    if not meshes:
        raise RejectedError(errors)
    links = tuple(_links(descriptor, {mesh.mesh_id for mesh in meshes}))
    return MeshGraph(tuple(meshes), links, file=descriptor.file), _marks(descriptor, meshes, errors), False


def _instances(descriptor: Descriptor) -> Iterator[tuple[Template, int]]:
    """(template, id) of every mesh and switch that can be reached; of every template when none can."""
    by_name: dict[tuple[str, str], Template] = {}
    for each in descriptor.templates():
        kind = "mesh" if isinstance(each, MeshDescriptor) else "switch"
        by_name.setdefault((kind, each.name), each)
    top = descriptor.top_level_instance
    found = [pair for pair in _reached(descriptor, [top] if top else [], by_name, 0) if _has_shape(pair[0])]
    yield from found or (
        (each, number) for number, each in enumerate(descriptor.templates()) if _has_shape(each)
    )


def _reached(
    descriptor: Descriptor, nodes: Iterable[NodeRef], by_name: dict[tuple[str, str], Template], depth: int
) -> Iterator[tuple[Template, int]]:
    for node in nodes:
        if node.mesh and ("mesh", node.mesh.mesh_descriptor) in by_name:
            yield by_name["mesh", node.mesh.mesh_descriptor], node.mesh.mesh_id
        elif node.switch and ("switch", node.switch.switch_descriptor) in by_name:
            yield by_name["switch", node.switch.switch_descriptor], node.switch.switch_id
        elif node.graph and depth < MOST_DEPTH:
            name = node.graph.graph_descriptor
            graph = next((each for each in descriptor.graph_descriptors if each.name == name), None)
            # A graph that contains itself would go on for ever: only the first level of it is drawn.
            inner = [each for each in graph.instances if not each.graph or depth == 0] if graph else []
            yield from _reached(descriptor, inner[:MOST_MESHES], by_name, depth + 1)


def _has_shape(template: Template) -> bool:
    dims = template.device_topology.dims if template.device_topology else ()
    return len(dims) == 2 and min(dims) > 0 and dims[0] * dims[1] <= MOST_DEVICES


def _mesh(template: Template, mesh_id: int) -> Mesh:
    topology = template.device_topology
    rows, columns = topology.dims if topology else (1, 1)
    kinds = [kind == TorusTopologyType.RING for kind in topology.dim_types[:2]] if topology else []
    types = ["RING" if ring else "LINE" for ring in (*kinds, False, False)]
    hosts = (
        template.host_topology.dims if isinstance(template, MeshDescriptor) and template.host_topology else ()
    )
    fits = len(hosts) == 2 and min(hosts) > 0 and rows % hosts[0] == 0 and columns % hosts[1] == 0
    return Mesh(
        mesh_id=mesh_id,
        descriptor=template.name,
        arch=type_name(Architecture, template.arch),
        dims=(rows, columns),
        host_dims=(hosts[0], hosts[1]) if fits else (1, 1),
        dim_types=(types[0], types[1]),
        channels=template.channels.count if template.channels else 0,
        policy=policy_name(template.channels, "RELAXED"),
        is_switch=isinstance(template, SwitchDescriptor),
    )


def _links(descriptor: Descriptor, meshes: set[int]) -> Iterator[InterLink]:
    """The connections of two meshes that are drawn, whatever is wrong with them."""
    for connection, _ in _connections(descriptor):
        ends = [_end(node) for node in connection.nodes]
        if len(ends) == 2 and all(mesh in meshes for mesh, _ in ends):
            channels = connection.channels.count if connection.channels else 0
            (a, a_device), (b, b_device) = ends
            policy = policy_name(connection.channels, "STRICT")
            yield InterLink(a, b, channels, policy, a_device, b_device, bool(connection.assign_z_direction))


def _end(node: NodeRef) -> tuple[int, int | None]:
    """(mesh id, device) of a connection's node; mesh id -1 for a graph or nothing."""
    if node.mesh:
        return node.mesh.mesh_id, node.mesh.device_id
    return (node.switch.switch_id, node.switch.device_id) if node.switch else (-1, None)


# --- what to cross out --------------------------------------------------------------------------------------------------


def _marks(descriptor: Descriptor, meshes: list[Mesh], errors: list[Diagnostic]) -> Marks:
    """Every mesh whose template or instance holds an error, the ends of every connection that does, and all errors as notes."""
    offsets = [_offset(descriptor, each) for each in errors]
    names, ids = _spans(descriptor)
    hosts: set[HostRank] = set()
    for mesh in meshes:
        spans = [*names.get(mesh.descriptor, ()), *ids.get((mesh.descriptor, mesh.mesh_id), ())]
        if any(start <= offset < end for start, end in spans for offset in offsets):
            hosts.update((mesh.mesh_id, rank) for rank in range(mesh.host_count))
    devices: set[Device] = set()
    links: set[Ends] = set()
    by_id = {mesh.mesh_id: mesh for mesh in meshes}
    for connection, (start, end) in _connections(descriptor):
        if any(start <= offset < end for offset in offsets):
            _cross_ends(connection, by_id, devices, hosts)
            links.add(tuple(sorted(end_name(*_end(node)) for node in connection.nodes)))
    notes = tuple(
        f"{each.code} {each.position}: {each.message}" if each.position else each.message for each in errors
    )
    return Marks(frozenset(devices), frozenset(), frozenset(hosts), frozenset(links), notes=notes)


def _offset(descriptor: Descriptor, error: Diagnostic) -> int:
    where, source = error.position, descriptor.source
    if where is None or source is None or where.line < 1:
        return -1
    lines = source.text.split("\n")
    return sum(len(line) + 1 for line in lines[: where.line - 1]) + where.column - 1


def _spans(descriptor: Descriptor) -> tuple[dict[str, list[Span]], dict[tuple[str, int], list[Span]]]:
    """Where each template is written, and each instance by name and id."""
    names: dict[str, list[Span]] = {}
    ids: dict[tuple[str, int], list[Span]] = {}
    root = _written(descriptor)
    written = [*_blocks(root, "mesh_descriptors"), *_blocks(root, "switch_descriptors")]
    for template, own in zip(descriptor.templates(), written, strict=False):
        names.setdefault(template.name, []).append((own.start, own.end))
    for graph, block in zip(descriptor.graph_descriptors, _blocks(root, "graph_descriptors"), strict=False):
        for node, instance in zip(graph.instances, _blocks(block, "instances"), strict=False):
            if node.mesh:
                key = (node.mesh.mesh_descriptor, node.mesh.mesh_id)
            elif node.switch:
                key = (node.switch.switch_descriptor, node.switch.switch_id)
            else:
                continue
            ids.setdefault(key, []).append((instance.start, instance.end))
    return names, ids


def _connections(descriptor: Descriptor) -> Iterator[tuple[Connection, Span]]:
    root = _written(descriptor)
    for graph, block in zip(descriptor.graph_descriptors, _blocks(root, "graph_descriptors"), strict=False):
        for connection, written in zip(graph.connections, _blocks(block, "connections"), strict=False):
            yield connection, (written.start, written.end)


def _written(descriptor: Descriptor) -> Block:
    """The tree of the text; an empty one for MGD 1.0 YAML, whose mistakes are not looked up in it."""
    source = descriptor.source
    if source is None or descriptor.first_format is not None:
        return Block(0, 0)
    return read_tree(source.text).root


def _blocks(block: Block, name: str) -> list[Block]:
    return [inner for each in block.find(name) for inner in each.blocks]


def _cross_ends(
    connection: Connection, meshes: dict[int, Mesh], devices: set[Device], hosts: set[HostRank]
) -> None:
    """Cross out the device of each end that exists, else the whole mesh that it should be in."""
    for mesh_id, device in map(_end, connection.nodes):
        if mesh_id not in meshes:
            continue
        if device is not None and 0 <= device < meshes[mesh_id].device_count:
            devices.add((mesh_id, device))
        else:
            hosts.update((mesh_id, rank) for rank in range(meshes[mesh_id].host_count))
