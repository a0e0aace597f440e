"""The numbers of an expanded descriptor, as plain JSON values: what `mgd check --format json` prints as `summary`."""

from __future__ import annotations

from typing import Any

from mgd.expanding.connections import Requested
from mgd.graph import GraphInstance, Mesh, MeshGraph, PinGroup

MOST_ADJACENT = 36
"""Devices; larger meshes are summarised without their adjacency."""
MOST_LISTED = 1 << 16
"""Directed records between instances, and host ranks, that are listed one by one; their numbers are always given."""

_FIRST_FORMAT_KEYS = (
    "id", "device_dims", "host_dims", "dim_types", "devices", "hosts", "grid_links", "host_rank_ranges",
)  # fmt: skip
"""What is told of the meshes of an MGD 1.0 file, which knows no templates, paths or policies."""


def summary(graph: MeshGraph) -> dict[str, Any]:
    """Counts, meshes, links and pins; their keys and values are for tools and stay."""
    plain = [mesh for mesh in graph.meshes if not mesh.is_switch]
    switches = [mesh for mesh in graph.meshes if mesh.is_switch]
    intra = sum(mesh.grid_link_count + len(mesh.express_connections) for mesh in graph.meshes)
    directed = sum(len(each.nodes) for each in graph.connections)
    unique = graph.ids_unique
    shown: set[str] = set()
    facts: dict[str, Any] = {
        "arch": graph.arch,
        "top": _top(graph.top),
        "mesh_count": len(plain),
        "switch_count": len(switches),
        "graph_count": len(graph.graphs),
        "total_devices": graph.device_count,
        "mesh_ids_unique": unique,
        "meshes": [_mesh(mesh, unique, shown, len(plain)) for mesh in plain],
        "switches": [_switch(mesh) for mesh in switches],
        "graphs": [_graph(each) for each in graph.graphs],
        "intra_links_directed": 2 * intra,
        "intra_links": intra,
        "express_connections": sum(len(mesh.express_connections) for mesh in graph.meshes),
        "inter_connections_directed": directed,
        "inter_connections": directed // 2,
        "inter_policy": graph.inter_policy,
        "inter_policy_specified": graph.inter_policy_specified,
    }
    if graph.first_format is not None:
        facts["meshes"] = [
            {key: each[key] for key in _FIRST_FORMAT_KEYS} for each in facts["meshes"] if unique
        ]
        facts["channels"] = graph.first_format.ports
        facts["z_ports"] = graph.first_format.z_ports
        facts["inter_mode"] = graph.first_format.mode
    if sum(len(each.nodes) ** 2 for each in graph.connections) <= 2 * MOST_LISTED:
        facts["inter_edges_directed"] = _edges(graph)
    if unique:
        facts["requested_mesh_links"] = [
            _wish(each) for each in graph.requested if each.source_device is None
        ]
        facts["requested_device_links"] = [
            _wish(each) for each in graph.requested if each.source_device is not None
        ]
        facts["pinning_groups"] = [_pins(group) for group in graph.pins]
    return facts


def _top(top: GraphInstance | Mesh | None) -> dict[str, Any] | None:
    if top is None:
        return None
    if isinstance(top, Mesh):
        return {
            "name": top.descriptor,
            "type": "SWITCH" if top.is_switch else "MESH",
            "local_id": top.mesh_id,
        }
    return {"name": top.name, "type": top.type, "local_id": top.graph_id}


def _mesh(mesh: Mesh, unique: bool, shown: set[str], meshes: int) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "id": mesh.mesh_id,
        "descriptor": mesh.descriptor,
        "path": [f"{name}:{number}" for name, number in mesh.path],
        "device_dims": list(mesh.dims),
        "host_dims": list(mesh.host_dims),
        "dim_types": list(mesh.dim_types),
        "devices": mesh.device_count,
        "hosts": mesh.host_count,
        "policy": mesh.policy,
    }
    if not unique:
        return facts
    facts["grid_links"] = mesh.grid_link_count
    facts["links_by_direction"] = links_by_direction(mesh)
    facts["express_z_links"] = len(mesh.express)
    facts["host_rank_ranges"] = {
        str(rank): _corners(mesh, rank) for rank in range(min(mesh.host_count, MOST_LISTED // meshes + 1))
    }
    if mesh.descriptor not in shown and mesh.device_count <= MOST_ADJACENT:
        shown.add(mesh.descriptor)
        facts["adjacency"] = {
            str(device): [list(each) for each in near] for device, near in adjacency(mesh).items()
        }
    return facts


def _corners(mesh: Mesh, rank: int) -> list[list[int]]:
    block = mesh.host_block(rank)
    return [[block.row, block.column], list(block.last)]


def links_by_direction(mesh: Mesh) -> dict[str, int]:
    """Directed links that leave a device, counted by direction; express links count as Z."""
    east, south = mesh.extents()
    counts = {"E": east, "N": south, "S": south, "W": east, "Z": 2 * len(mesh.express)}
    return {direction: count for direction, count in counts.items() if count}


def adjacency(mesh: Mesh) -> dict[int, list[tuple[int, str, int]]]:
    """The (neighbour, direction, channels) of each device, by neighbour id."""
    opposite = {"E": "W", "S": "N", "Z": "Z"}
    near: dict[int, list[tuple[int, str, int]]] = {device: [] for device in range(mesh.device_count)}
    for link in (*mesh.grid_links(), *mesh.express):
        near[link.a].append((link.b, link.direction, link.channels))
        near[link.b].append((link.a, opposite[link.direction], link.channels))
    return {device: sorted(each) for device, each in near.items()}


def _switch(mesh: Mesh) -> dict[str, Any]:
    return {
        "id": mesh.mesh_id,
        "descriptor": mesh.descriptor,
        "device_dims": list(mesh.dims),
        "dim_types": list(mesh.dim_types),
        "devices": mesh.device_count,
        "policy": mesh.policy,
    }


def _graph(graph: GraphInstance) -> dict[str, Any]:
    return {"id": graph.graph_id, "name": graph.name, "type": graph.type, "children": graph.children}


def _edges(graph: MeshGraph) -> list[dict[str, Any]]:
    edges = []
    for each in graph.connections:
        owner = "/".join(f"{name}({number})" for name, number in each.graph)
        edges += [
            {
                "nodes": [str(node) for node in record],
                "channels": each.channels,
                "policy": each.policy,
                "z": each.z_direction,
                "graph": owner,
            }
            for record in each.directed()
        ]
    return sorted(edges, key=lambda edge: (edge["nodes"], edge["channels"], edge["policy"], edge["z"]))


def _wish(wish: Requested) -> dict[str, Any]:
    facts: dict[str, Any] = {"src_mesh": wish.source}
    if wish.source_device is not None:
        facts["src_device"] = wish.source_device
    facts["dst_mesh"] = wish.target
    if wish.target_device is not None:
        facts["dst_device"] = wish.target_device
    return {**facts, "channels": wish.channels, "z": wish.z_direction}


def _pins(group: PinGroup) -> dict[str, Any]:
    return {
        "mesh": group.mesh_id,
        "chips": list(group.devices),
        "positions": [list(slot) for slot in group.slots],
        "board_revision": group.board_revision or None,
    }
