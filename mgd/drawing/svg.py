"""A mesh graph as SVG: panels of devices in host blocks, wraps as arrows, links between meshes as curves.

The file needs no fonts or scripts, follows the reader's light or dark theme, and tells device, place and rank of
whatever the pointer rests on.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from mgd.drawing.marks import Marks
from mgd.drawing.svg_arcs import far_links
from mgd.drawing.svg_page import BORDER, DEVICE, MARGIN, PITCH, TITLE, Panel, placed
from mgd.graph import MeshGraph

MOST_DEVICES = 16384
HUES = 6

_STYLE = """
  svg { --ink: #1f2328; --soft: #59636e; --line: #8c959f; --page: #ffffff; --wrap: #0969da; --far: #8250df; --bad: #cf222e; }
  @media (prefers-color-scheme: dark) {
    svg { --ink: #f0f6fc; --soft: #9198a1; --line: #656c76; --page: #0d1117; --wrap: #58a6ff; --far: #bc8cff; --bad: #ff7b72; }
  }
  text { font: 12px ui-monospace, SFMono-Regular, Menlo, monospace; fill: var(--ink); }
  .page { fill: var(--page); } .title { font-weight: bold; }
  .title, .count { paint-order: stroke; stroke: var(--page); stroke-width: 4px; }
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
    panels = placed(graph, arches + (TITLE + 8 if title else 0))
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
    lines.extend(far_links(graph, panels))
    for panel in panels:
        lines.extend(_mesh(panel, marks))
    below = max(panel.y + panel.height for panel in panels) + 20
    lines.extend(
        f'<text class="bad" x="{MARGIN}" y="{below + 18 * number}">✗ {escape(note)}</text>'
        for number, note in enumerate(marks.notes)
    )
    return "\n".join([*lines, "</svg>"]) + "\n"


def _mesh(panel: Panel, marks: Marks) -> Iterator[str]:
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


def _hosts(panel: Panel, marks: Marks) -> Iterator[str]:
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


def _ranks(panel: Panel, marks: Marks) -> Iterator[str]:
    mesh = panel.mesh
    for host_rank in range(mesh.host_count):
        x, y, _, _ = panel.host_rectangle(mesh.host_block(host_rank))
        bad = (mesh.mesh_id, host_rank) in marks.hosts
        label = ("✗ " if bad else "") + _label(panel, host_rank, marks)
        yield f'<text class="rank{" bad" if bad else ""}" x="{x + 6}" y="{y + 11}">{escape(label)}</text>'


def _label(panel: Panel, host_rank: int, marks: Marks) -> str:
    default = "switch" if panel.mesh.is_switch else f"rank {panel.first_rank + host_rank}"
    return marks.labels.get((panel.mesh.mesh_id, host_rank), default)


def _links(panel: Panel, marks: Marks) -> Iterator[str]:
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


def _wraps(panel: Panel) -> Iterator[str]:
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


def _device(panel: Panel, device: int, marks: Marks) -> Iterator[str]:
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
