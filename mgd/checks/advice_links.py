"""Links between meshes that the machine may not be able to give (reference library 0.81.1)."""

from __future__ import annotations

from collections import defaultdict

from mgd.checks.report import Report
from mgd.diagnostics import Label, Position
from mgd.expanding.connections import InterLink
from mgd.expanding.topology import device_ports, port_count
from mgd.graph import Mesh, MeshGraph

NOWHERE = Position("")

_SHOWN = 4  # of those that have the same mistake
_PLURAL = {"mesh": "meshes", "device": "devices"}


def advise_links(report: Report, graph: MeshGraph) -> None:
    """Rules MGD065 and MGD071 to MGD073."""
    for each in graph.connections:
        if len(set(each.nodes)) < len(each.nodes):
            report.add(
                "MGD065", "a connection joins a node with itself", Label(each.position or NOWHERE),
                help="name two different nodes",
            )  # fmt: skip
    if not graph.ids_unique:
        return
    meshes = {mesh.mesh_id: mesh for mesh in graph.meshes}
    _one_dimensional(report, graph)
    asked: dict[int, int] = defaultdict(int)
    of_device: dict[tuple[int, int], int] = defaultdict(int)
    closed: set[Position | None] = set()
    for link in graph.links:
        for mesh_id, device in ((link.a, link.a_device), (link.b, link.b_device)):
            asked[mesh_id] += link.channels
            if device is not None:
                of_device[mesh_id, device] += link.channels
        if not link.z_direction and link.position not in closed:
            closed.add(link.position)  # the links of a graph_topology share one
            _closed_edges(report, link, meshes)
    over: dict[tuple[int, int, str], list[tuple[str, Mesh]]] = defaultdict(list)
    for mesh_id, wanted in sorted(asked.items()):
        mesh = meshes[mesh_id]
        if wanted > (there := port_count(mesh, "NESWZ")):
            over[wanted, there, "mesh"].append((str(mesh_id), mesh))
    for (mesh_id, device), wanted in sorted(of_device.items()):
        mesh = meshes[mesh_id]
        if wanted > (there := device_ports(mesh, device)):
            over[wanted, there, "device"].append((f"{device} of mesh {mesh_id}", mesh))
    for (wanted, there, kind), found in over.items():
        _over(report, wanted, there, kind, found)


def _over(report: Report, wanted: int, there: int, kind: str, found: list[tuple[str, Mesh]]) -> None:
    """One finding for all that have the same: a hundred alike meshes are one mistake."""
    names = [name for name, _ in found[:_SHOWN]]
    more = len(found) - len(names)
    listed = ", ".join(names) + (f" and {more} more" if more else "")
    what = (
        f"{kind} {listed}, which has"
        if len(found) == 1
        else f"each of {len(found)} {_PLURAL[kind]} ({listed}), which have"
    )
    report.add(
        "MGD072",
        f"{wanted} channels are asked of {what} {there} ports",
        *(Label(mesh.position or NOWHERE) for _, mesh in found[:_SHOWN]),
        help="ask for fewer channels",
    )


def _closed_edges(report: Report, link: InterLink, meshes: dict[int, Mesh]) -> None:
    """A link without assign_z_direction at a mesh whose edges its rings have closed."""
    for mesh_id in (link.a, link.b):
        mesh = meshes[mesh_id]
        if not mesh.is_switch and port_count(mesh) == 0:
            report.add(
                "MGD073", f"mesh {mesh_id} is closed in both dimensions: this link can only leave it by Z ports",
                Label(link.position or NOWHERE, f"asks for ports of mesh {mesh_id}"), help="write assign_z_direction: true",
            )  # fmt: skip
            return


def _one_dimensional(report: Report, graph: MeshGraph) -> None:
    lines = [mesh for mesh in graph.meshes if 1 in mesh.dims and mesh.device_count > 1 and not mesh.is_switch]
    if len(graph.meshes) > 1 and len(lines) == len(graph.meshes) and graph.links:
        top = report.at(report.descriptor.top_level_instance)
        report.add(
            "MGD071", f"{len(lines)} meshes of one row each are linked; a 1D fabric spans a single mesh", top,
            help="run it with a 2D fabric configuration",
        )  # fmt: skip
