"""MGD 1.0 to 2.0 (reference library 0.81.1)."""

from __future__ import annotations

from mgd.descriptor import (
    Architecture,
    Channels,
    Connection,
    Descriptor,
    GraphDescriptor,
    GraphRef,
    MeshDescriptor,
    MeshRef,
    MeshTopology,
    NodeRef,
    Policy,
    TorusTopology,
    TorusTopologyType,
)
from mgd.diagnostics import Diagnostic
from mgd.text.source import Source
from mgd.v1.model import BoardMesh, FirstFormat

GRAPH = "G0"
_RINGS = {"MESH": (), "TORUS_Y": (0,), "TORUS_X": (1,), "TORUS_XY": (0, 1)}


def as_descriptor(
    value: FirstFormat, source: Source | None = None, notices: tuple[Diagnostic, ...] = ()
) -> Descriptor:
    """The 2.0 descriptor of MGD 1.0 values: one template per board, device and host shape; a lone mesh stands at the top."""
    names: dict[object, str] = {}
    templates: list[MeshDescriptor] = []
    instances: list[NodeRef] = []
    name_of: dict[int, str] = {}
    for mesh in value.meshes:
        key = (mesh.board, mesh.devices, mesh.hosts)
        if key not in names:
            names[key] = f"M{len(names)}"
            templates.append(_template(names[key], mesh, value))
        name_of.setdefault(mesh.mesh_id, names[key])
        instances.append(_node(names[key], mesh.mesh_id, None, mesh.at))
    graphs: tuple[GraphDescriptor, ...] = ()
    top = instances[0]
    if len(instances) > 1 or value.links:
        at = value.meshes[0].at
        graphs = (GraphDescriptor(GRAPH, "FABRIC", tuple(instances), None, _connections(value, name_of), at),)
        top = NodeRef(graph=GraphRef(GRAPH, 0, None, at), at=at)
    return Descriptor(
        tuple(templates), graphs, top, source=source, notices=notices, first_format=value if source else None
    )


def _template(name: str, mesh: BoardMesh, value: FirstFormat) -> MeshDescriptor:
    rings = _RINGS[value.board(mesh.board).type]
    types = tuple(TorusTopologyType.RING if dim in rings else TorusTopologyType.LINE for dim in (0, 1))
    return MeshDescriptor(
        name,
        Architecture[value.arch],
        TorusTopology(mesh.devices, types if rings else (), mesh.devices_at),
        # A single-chip board may have no ports at all; 2.0 asks for a count, its own files of such boards say 1.
        Channels(max(value.ports, 1), None, mesh.at),
        MeshTopology(mesh.hosts, mesh.hosts_at),
        at=mesh.at,
    )


def _node(name: str, mesh_id: int, device: int | None, at: int) -> NodeRef:
    return NodeRef(mesh=MeshRef(name, mesh_id, device, at), at=at)


def _connections(value: FirstFormat, name_of: dict[int, str]) -> tuple[Connection, ...]:
    policy = Policy.RELAXED if value.mode == "RelaxedGraph" else Policy.STRICT
    return tuple(
        Connection(
            (
                _node(name_of[link.a], link.a, link.a_device, link.a_at),
                _node(name_of[link.b], link.b, link.b_device, link.b_at),
            ),
            Channels(link.channels, policy, link.at),
            at=link.at,
        )
        for link in value.links
    )
