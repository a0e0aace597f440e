"""A mesh graph as NetworkX graphs, for whoever has NetworkX installed (extra `graph`)."""

from __future__ import annotations

from typing import Any

from mgd.graph import Mesh, MeshGraph


def device_graph(graph: MeshGraph) -> Any:
    """A `networkx.MultiGraph` of all devices.

    Nodes are (path of the mesh, device id) with `mesh_id`, `row`, `column` and `host_rank`; edges have `kind` ("grid", "express" or
    "inter"), `channels`, and inside a mesh `direction` and `wrap`. Wishes between whole meshes have no devices and are left
    to `mesh_level_graph`. Raises ImportError without NetworkX.
    """
    networkx = _networkx()
    made = networkx.MultiGraph()
    for mesh in graph.meshes:
        _add_mesh(made, mesh)
    for each in graph.connections:
        if len(each.nodes) == 2 and all(node.device is not None for node in each.nodes):
            a, b = ((node.path, node.device) for node in each.nodes)
            made.add_edge(
                a, b, kind="inter", channels=each.channels, policy=each.policy, z_direction=each.z_direction
            )
    return made


def _add_mesh(made: Any, mesh: Mesh) -> None:
    path, columns = mesh.own_path, mesh.dims[1]
    for device in range(mesh.device_count):
        row, column = divmod(device, columns)
        rank = mesh.host_rank_of(row, column)
        made.add_node((path, device), mesh_id=mesh.mesh_id, row=row, column=column, host_rank=rank)
    for kind, links in (("grid", mesh.grid_links()), ("express", mesh.express)):
        for link in links:
            ends = (path, link.a), (path, link.b)
            made.add_edge(*ends, kind=kind, channels=link.channels, direction=link.direction, wrap=link.wrap)


def mesh_level_graph(graph: MeshGraph) -> Any:
    """A `networkx.MultiGraph` of meshes and switches by id, with what FABRIC graphs ask for as edges.

    Raises ImportError without NetworkX, ValueError when nested graphs repeat mesh ids.
    """
    if not graph.ids_unique:
        raise ValueError("mesh ids repeat across nested graphs; use device_graph, whose nodes are paths")
    made = _networkx().MultiGraph()
    for mesh in graph.meshes:
        made.add_node(mesh.mesh_id, descriptor=mesh.descriptor, dims=mesh.dims, is_switch=mesh.is_switch)
    for link in graph.links:
        made.add_edge(
            link.a, link.b, channels=link.channels, policy=link.policy, devices=(link.a_device, link.b_device),
            z_direction=link.z_direction,
        )  # fmt: skip
    return made


def _networkx() -> Any:
    import importlib

    return importlib.import_module("networkx")
