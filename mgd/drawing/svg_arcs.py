"""The links between meshes on an SVG page: straight to a neighbour, in arches over a shelf, from shelf to shelf."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from mgd.drawing.svg_page import TITLE, Panel
from mgd.graph import MeshGraph
from mgd.lean import dataclass


def far_links(graph: MeshGraph, panels: list[Panel]) -> Iterator[str]:
    for hop in _hops(graph):
        path, (x, y) = _curve(panels, hop)
        yield f'<path class="far{" z" if hop.z_direction else ""}" d="{path}"><title>{escape(hop.words)}</title></path>'
        yield f'<text class="count id" x="{x}" y="{y - 8}">{hop.channels}</text>'


@dataclass(frozen=True, slots=True)
class _Hop:
    """A link between two panels by their place in the order, the first one lower; devices when it names them."""

    first: int
    last: int
    devices: tuple[int | None, int | None]
    channels: int
    z_direction: bool
    words: str


def _hops(graph: MeshGraph) -> Iterator[_Hop]:
    """Every link between two meshes or switches; links to whole graphs have no place in a picture of meshes."""
    if not graph.connections:
        by_id = {mesh.mesh_id: place for place, mesh in enumerate(graph.meshes)}
        for link in graph.links:
            ends = ((by_id[link.a], link.a_device), (by_id[link.b], link.b_device))
            yield _hop(ends, link.channels, link.policy, link.z_direction, graph)
    by_path = {mesh.own_path: place for place, mesh in enumerate(graph.meshes)}
    for each in graph.connections:
        if not any(node.is_graph for node in each.nodes):
            places = [(by_path[node.path], node.device) for node in each.nodes]
            for other in places[1:]:
                yield _hop((places[0], other), each.channels, each.policy, each.z_direction, graph)


def _hop(
    ends: tuple[tuple[int, int | None], tuple[int, int | None]],
    channels: int,
    policy: str,
    z_direction: bool,
    graph: MeshGraph,
) -> _Hop:
    (first, near), (last, far) = sorted(ends, key=lambda end: end[0])
    names = [
        f"mesh {graph.meshes[place].mesh_id}" + ("" if device is None else f" device {device}")
        for place, device in ((first, near), (last, far))
    ]
    words = f"{names[0]} to {names[1]}: {channels} channels {policy}" + (", Z ports" if z_direction else "")
    return _Hop(first, last, (near, far), channels, z_direction, words)


def _curve(panels: list[Panel], hop: _Hop) -> tuple[str, tuple[int, int]]:
    """The path of a link and its middle: straight to a neighbour, over the heads on one shelf, else from shelf to shelf."""
    first, last = hop.first, hop.last
    a, b = panels[first], panels[last]
    if None not in hop.devices:
        (x1, y1), (x2, y2) = (_end(panel, device) for panel, device in zip((a, b), hop.devices, strict=True))
        bow_x, bow_y = (x1 + x2) // 2, min(y1, y2) - abs(x2 - x1) // 10
    elif a.y == b.y and last == first + 1:
        x1, y1, x2, y2 = a.x + a.width, a.middle[1], b.x, b.middle[1]
        bow_x, bow_y = (x1 + x2) // 2, (y1 + y2) // 2
    elif a.y == b.y:
        x1, y1, x2, y2 = a.middle[0], a.y + TITLE, b.middle[0], b.y + TITLE
        bow_x, bow_y = (x1 + x2) // 2, y1 - TITLE - 24 * (last - first)
    else:
        x1, y1, x2, y2 = a.middle[0], a.y + a.height, b.middle[0], b.y + TITLE
        bow_x, bow_y = (x1 + x2) // 2, (y1 + y2) // 2
    middle = ((x1 + x2 + 2 * bow_x) // 4, (y1 + y2 + 2 * bow_y) // 4)
    return f"M{x1} {y1} Q{bow_x} {bow_y} {x2} {y2}", middle


def _end(panel: Panel, device: int | None) -> tuple[int, int]:
    return panel.centre(*divmod(min(device or 0, panel.mesh.device_count - 1), panel.mesh.dims[1]))
