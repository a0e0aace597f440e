"""A mesh graph as SVG: panels of devices in host blocks, wraps as arrows, links between meshes as curves.

The file needs no fonts or scripts, follows the reader's light or dark theme, and tells device, place and rank of
whatever the pointer rests on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from mgd.drawing.marks import Marks
from mgd.graph import Block, Mesh, MeshGraph

PITCH, DEVICE, BORDER, GAP = (
    44,
    28,
    14,
    22,
)  # between device centres; a device; around devices in a host; between hosts
TITLE, MARGIN, BETWEEN = 22, 24, 56
PAGE = 1400
MOST_DEVICES = 16384
HUES = 6

_STYLE = """
  svg { --ink: #1f2328; --soft: #59636e; --line: #8c959f; --page: #ffffff; --wrap: #0969da; --far: #8250df; --bad: #cf222e; }
  @media (prefers-color-scheme: dark) {
    svg { --ink: #f0f6fc; --soft: #9198a1; --line: #656c76; --page: #0d1117; --wrap: #58a6ff; --far: #bc8cff; --bad: #ff7b72; }
  }
  text { font: 12px ui-monospace, SFMono-Regular, Menlo, monospace; fill: var(--ink); }
  .page { fill: var(--page); } .title { font-weight: bold; }
  .rank { fill: var(--soft); font-size: 10px; paint-order: stroke; stroke: var(--page); stroke-width: 3px; }
  .id { text-anchor: middle; dominant-baseline: central; font-size: 11px; }
  .link { stroke: var(--line); stroke-width: 2; } .wrap { stroke: var(--wrap); stroke-width: 2; }
  .short { stroke-dasharray: 2 3; }
  .far { stroke: var(--far); stroke-width: 2; fill: none; } .z { stroke-dasharray: 6 4; } .count { fill: var(--far); }
  .tip { fill: var(--wrap); } .bad { stroke: var(--bad); stroke-width: 3; } text.bad { fill: var(--bad); stroke: none; }
  .device { fill: var(--page); stroke-width: 2; } .host { fill-opacity: .08; stroke-width: 1.5; }
  .h0 { stroke: #1a7f37; } .h1 { stroke: #0969da; } .h2 { stroke: #9a6700; }
  .h3 { stroke: #8250df; } .h4 { stroke: #1b7c83; } .h5 { stroke: #bc4c00; }
  .host.h0 { fill: #1a7f37; } .host.h1 { fill: #0969da; } .host.h2 { fill: #9a6700; }
  .host.h3 { fill: #8250df; } .host.h4 { fill: #1b7c83; } .host.h5 { fill: #bc4c00; }
  rect.bad { stroke: var(--bad); stroke-dasharray: 5 3; }
"""


class TooLargeToDraw(ValueError):
    """The graph has more devices than an SVG viewer takes."""


@dataclass(frozen=True, slots=True)
class _Panel:
    """A mesh at a place on the page."""

    mesh: Mesh
    first_rank: int
    x: int
    y: int

    @property
    def width(self) -> int:
        return _extent(self.mesh.dims[1], self.mesh.host_dims[1])

    @property
    def height(self) -> int:
        return TITLE + _extent(self.mesh.dims[0], self.mesh.host_dims[0])

    def centre(self, row: int, column: int) -> tuple[int, int]:
        """The middle of a device."""
        rows, columns = (
            self.mesh.dims[0] // self.mesh.host_dims[0],
            self.mesh.dims[1] // self.mesh.host_dims[1],
        )
        x = self.x + _offset(column, columns)
        return x, self.y + TITLE + _offset(row, rows)

    def host_rectangle(self, block: Block) -> tuple[int, int, int, int]:
        """x, y, width, height of a host block."""
        left, top = self.centre(block.row, block.column)
        right, bottom = self.centre(*block.last)
        reach = DEVICE // 2 + BORDER
        return left - reach, top - reach, right - left + 2 * reach, bottom - top + 2 * reach

    @property
    def middle(self) -> tuple[int, int]:
        return self.x + self.width // 2, self.y + TITLE + (self.height - TITLE) // 2


def _offset(index: int, per_host: int) -> int:
    """Distance of a device's middle from the panel's edge."""
    return BORDER + DEVICE // 2 + index * PITCH + (index // per_host) * (GAP + 2 * BORDER + DEVICE - PITCH)


def _extent(count: int, hosts: int) -> int:
    return _offset(count - 1, count // hosts) + DEVICE // 2 + BORDER


def draw_svg(graph: MeshGraph, *, title: str = "", marks: Marks | None = None) -> str:
    """The picture of a graph as one SVG file. Raises TooLargeToDraw beyond 16,384 devices."""
    if graph.device_count > MOST_DEVICES:
        raise TooLargeToDraw(
            f"{graph.device_count} devices are too many for a picture: at most {MOST_DEVICES}"
        )
    marks = marks or Marks()
    arches = (
        MARGIN * 3 if any(link.a_device is None for link in graph.links) and len(graph.meshes) > 2 else MARGIN
    )
    panels = _placed(graph, arches + (TITLE + 8 if title else 0))
    width = max(panel.x + panel.width for panel in panels) + MARGIN
    height = max(panel.y + panel.height for panel in panels) + MARGIN + 18 * (len(marks.notes) + 1)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f' role="img" aria-label="{escape(title or "mesh graph", quote=True)}">',
        f"<style>{_STYLE}</style>",
        f'<rect class="page" width="{width}" height="{height}"/>',
    ]
    if title:
        lines.append(f'<text class="title" x="{MARGIN}" y="{MARGIN}">{escape(title)}</text>')
    for panel in panels:
        lines.extend(_mesh(panel, marks))
    lines.extend(_far_links(graph, panels))
    below = max(panel.y + panel.height for panel in panels) + 20
    lines.extend(
        f'<text class="bad" x="{MARGIN}" y="{below + 18 * number}">✗ {escape(note)}</text>'
        for number, note in enumerate(marks.notes)
    )
    return "\n".join([*lines, "</svg>"]) + "\n"


def _placed(graph: MeshGraph, top: int) -> list[_Panel]:
    """Panels from left to right in shelves as wide as the page."""
    panels: list[_Panel] = []
    x, y, tallest, rank = MARGIN, top, 0, 0
    for mesh in graph.meshes:
        panel = _Panel(mesh, rank, x, y)
        if x > MARGIN and x + panel.width > PAGE:
            x, y, tallest = MARGIN, y + tallest + BETWEEN, 0
            panel = _Panel(mesh, rank, x, y)
        panels.append(panel)
        x += panel.width + BETWEEN
        tallest = max(tallest, panel.height)
        rank += mesh.host_count
    return panels


def _mesh(panel: _Panel, marks: Marks) -> Iterator[str]:
    mesh = panel.mesh
    kind = "switch" if mesh.is_switch else "mesh"
    path = "/".join(f"{name}({number})" for name, number in mesh.path[1:])
    shape = f"{mesh.dims[0]}x{mesh.dims[1]}, {mesh.channels} channels {mesh.policy}"
    name = f"{path + '/' if path else ''}{kind} {mesh.mesh_id}"
    yield f'<g><text class="title" x="{panel.x}" y="{panel.y + 10}">{escape(name)}<title>{shape}</title></text>'
    yield from _hosts(panel, marks)
    yield from _links(panel, marks)
    yield from _wraps(panel)
    yield from _ranks(panel, marks)
    for device in range(mesh.device_count):
        yield from _device(panel, device, marks)
    yield "</g>"


def _hosts(panel: _Panel, marks: Marks) -> Iterator[str]:
    mesh = panel.mesh
    for host_rank in range(mesh.host_count):
        x, y, width, height = panel.host_rectangle(mesh.host_block(host_rank))
        rank = panel.first_rank + host_rank
        label = _label(panel, host_rank, marks)
        bad = " bad" if (mesh.mesh_id, host_rank) in marks.hosts else ""
        yield (
            f'<rect class="host h{rank % HUES}{bad}" x="{x}" y="{y}" width="{width}" height="{height}" rx="8">'
            f"<title>{escape(label)}: host rank {host_rank} of mesh {mesh.mesh_id}</title></rect>"
        )


def _ranks(panel: _Panel, marks: Marks) -> Iterator[str]:
    mesh = panel.mesh
    for host_rank in range(mesh.host_count):
        x, y, _, _ = panel.host_rectangle(mesh.host_block(host_rank))
        bad = (mesh.mesh_id, host_rank) in marks.hosts
        label = ("✗ " if bad else "") + _label(panel, host_rank, marks)
        yield f'<text class="rank{" bad" if bad else ""}" x="{x + 6}" y="{y + 11}">{escape(label)}</text>'


def _label(panel: _Panel, host_rank: int, marks: Marks) -> str:
    default = "switch" if panel.mesh.is_switch else f"rank {panel.first_rank + host_rank}"
    return marks.labels.get((panel.mesh.mesh_id, host_rank), default)


def _links(panel: _Panel, marks: Marks) -> Iterator[str]:
    mesh = panel.mesh
    columns = mesh.dims[1]
    for link in mesh.grid_links():
        if link.wrap:
            continue
        (x1, y1), (x2, y2) = panel.centre(*divmod(link.a, columns)), panel.centre(*divmod(link.b, columns))
        bad = (mesh.mesh_id, min(link.a, link.b), max(link.a, link.b)) in marks.edges
        yield f'<line class="{"bad" if bad else "link"}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'
        if bad:
            yield f'<text class="id bad" x="{(x1 + x2) // 2}" y="{(y1 + y2) // 2}">✗</text>'
    for link in mesh.express:
        (x1, y1), (x2, y2) = panel.centre(*divmod(link.a, columns)), panel.centre(*divmod(link.b, columns))
        bend = PITCH // 2
        yield f'<path class="far z" d="M{x1} {y1} Q{(x1 + x2) // 2 + bend} {(y1 + y2) // 2 + bend} {x2} {y2}"/>'


def _wraps(panel: _Panel) -> Iterator[str]:
    """An arrow out of each end of a closed dimension; dotted when RING is declared but the extent is too short."""
    rows, columns = panel.mesh.dims
    far = DEVICE // 2 + BORDER + 8
    ends: list[tuple[int, int, int, int]] = []
    if panel.mesh.dim_types[1] == "RING":
        ends += [
            (row, column, step, 0) for row in range(rows) for column, step in ((0, -1), (columns - 1, 1))
        ]
    across = len(ends)
    if panel.mesh.dim_types[0] == "RING":
        ends += [
            (row, column, 0, step) for column in range(columns) for row, step in ((0, -1), (rows - 1, 1))
        ]
    for number, (row, column, dx, dy) in enumerate(ends):
        x, y = panel.centre(row, column)
        tip_x, tip_y = x + dx * far, y + dy * far
        short = "" if panel.mesh.wraps(1 if number < across else 0) else " short"
        yield f'<line class="wrap{short}" x1="{x}" y1="{y}" x2="{tip_x}" y2="{tip_y}"/>'
        back_x, back_y = tip_x - dx * 6, tip_y - dy * 6
        side = f"{back_x + dy * 4},{back_y + dx * 4} {back_x - dy * 4},{back_y - dx * 4}"
        yield f'<polygon class="tip" points="{tip_x},{tip_y} {side}"/>'


def _device(panel: _Panel, device: int, marks: Marks) -> Iterator[str]:
    mesh = panel.mesh
    row, column = divmod(device, mesh.dims[1])
    x, y = panel.centre(row, column)
    rank = panel.first_rank + mesh.host_rank_of(row, column)
    bad = (mesh.mesh_id, device) in marks.devices
    half = DEVICE // 2
    yield (
        f'<rect class="device h{rank % HUES}{" bad" if bad else ""}" x="{x - half}" y="{y - half}" width="{DEVICE}"'
        f' height="{DEVICE}" rx="6"><title>device {device}: row {row}, column {column}, rank {rank}</title></rect>'
    )
    yield f'<text class="id{" bad" if bad else ""}" x="{x}" y="{y}">{device}{"✗" if bad else ""}</text>'


def _far_links(graph: MeshGraph, panels: list[_Panel]) -> Iterator[str]:
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


def _curve(panels: list[_Panel], hop: _Hop) -> tuple[str, tuple[int, int]]:
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


def _end(panel: _Panel, device: int | None) -> tuple[int, int]:
    return panel.centre(*divmod(min(device or 0, panel.mesh.device_count - 1), panel.mesh.dims[1]))
