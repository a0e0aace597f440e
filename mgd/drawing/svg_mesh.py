"""One mesh on an SVG page: its title, host blocks with their ranks, devices, links, wraps at the borders, express links."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from mgd.drawing.marks import Marks
from mgd.drawing.palette import HOSTS, heat, light
from mgd.drawing.panel_geometry import Panel, width_of
from mgd.drawing.scene import PanelAt
from mgd.drawing.traffic import Traffic
from mgd.graph import Link

_TIP = 4  # half of an arrow's tip


def mesh_lines(at: PanelAt, marks: Marks, traffic: Traffic | None) -> Iterator[str]:
    """The elements of a mesh, in one group."""
    panel, mesh = at.panel, at.panel.mesh
    yield f'<g class="mesh" data-mesh="{mesh.mesh_id}" transform="translate({at.x:.0f} {at.y:.0f})">'
    size = panel.scale.words
    yield (
        f'<text class="f-ink" fill="{light("ink")}" font-size="{size}" font-weight="bold" x="2" y="{size}">{escape(panel.name)}</text>'
    )
    yield f'<text class="f-soft" fill="{light("soft")}" font-size="{size - 2}" x="2" y="{2 * size + 2}">{escape(panel.subtitle)}</text>'
    yield from _hosts(panel, marks)
    yield from _links(panel, marks, traffic)
    yield from _wraps(panel, traffic)
    yield from _express(panel, traffic)
    yield from _ranks(panel, marks)
    yield from _devices(panel, marks)
    yield "</g>"


def _hosts(panel: Panel, marks: Marks) -> Iterator[str]:
    mesh = panel.mesh
    for host_rank in range(mesh.host_count):
        x, y, width, height = panel.host_rectangle(mesh.host_block(host_rank))
        rank = panel.first_rank + host_rank
        label = _host_label(panel, host_rank, marks)
        bad = (mesh.mesh_id, host_rank) in marks.hosts
        colour = light("bad") if bad else HOSTS[rank % len(HOSTS)][0]
        name = "s-bad f-bad" if bad else f"h{rank % len(HOSTS)}"
        dash = ' stroke-dasharray="5 3"' if bad else ""
        yield (
            f'<rect class="host {name}" fill="{colour}" fill-opacity="0.08" stroke="{colour}" stroke-width="1.2"{dash} x="{x}" y="{y}"'
            f' width="{width}" height="{height}" rx="7"><title>{escape(label)}: host rank {host_rank} of mesh {mesh.mesh_id}</title></rect>'
        )


def _ranks(panel: Panel, marks: Marks) -> Iterator[str]:
    """The ranks in the corners of their blocks, over the wraps that leave there."""
    mesh = panel.mesh
    for host_rank in range(mesh.host_count):
        x, y, width, _ = panel.host_rectangle(mesh.host_block(host_rank))
        bad = (mesh.mesh_id, host_rank) in marks.hosts
        kind = "bad" if bad else "soft"
        told = ("✗ " if bad else "") + _host_label(panel, host_rank, marks)
        # A host's name that would run into the next block is left to the block's title.
        if width_of(told, panel.scale.border - 4) > width - 5:
            told = told.partition(" on ")[0]
        words = f'font-size="{panel.scale.border - 4}" x="{x + 5}" y="{y + panel.scale.border - 4}">{escape(told)}</text>'
        yield f'<text class="halo" aria-hidden="true" fill="none" stroke="{light("page")}" stroke-width="3" stroke-linejoin="round" {words}'
        yield f'<text class="rank f-{kind}" fill="{light(kind)}" {words}'


def _host_label(panel: Panel, host_rank: int, marks: Marks) -> str:
    default = "switch" if panel.mesh.is_switch else f"rank {panel.first_rank + host_rank}"
    return marks.labels.get((panel.mesh.mesh_id, host_rank), default)


def _links(panel: Panel, marks: Marks, traffic: Traffic | None) -> Iterator[str]:
    mesh = panel.mesh
    yield f'<g class="s-line" stroke="{light("line")}" stroke-width="2">'
    for link in mesh.grid_links():
        if link.wrap:
            continue
        (x1, y1), (x2, y2) = panel.device(link.a), panel.device(link.b)
        bad = (mesh.mesh_id, min(link.a, link.b), max(link.a, link.b)) in marks.edges
        more = (
            f' class="bad s-bad" style="stroke:{light("bad")};stroke-width:3"'
            if bad
            else _heated(mesh.mesh_id, link, traffic)
        )
        place = f'data-link="{link.a}-{link.b}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"{more}'
        told = _amount(mesh.mesh_id, link, traffic)
        yield (
            f"<line {place}><title>{link.a} to {link.b}{told}</title></line>" if told else f"<line {place}/>"
        )
        if bad:
            yield f'<text class="bad f-bad" fill="{light("bad")}" stroke="none" text-anchor="middle" x="{(x1 + x2) // 2}" y="{(y1 + y2) // 2 + 4}">✗</text>'
    yield "</g>"


def _heated(mesh_id: int, link: Link, traffic: Traffic | None) -> str:
    if traffic is None:
        return ""
    share = traffic.of_link(mesh_id, link.a, link.b) / traffic.most if traffic.most else 0
    return f' style="stroke:{heat(share)};stroke-width:{2 + 3 * share:.1f}"'


def _amount(mesh_id: int, link: Link, traffic: Traffic | None) -> str:
    return f": {traffic.shown(traffic.of_link(mesh_id, link.a, link.b))}" if traffic else ""


def _wraps(panel: Panel, traffic: Traffic | None) -> Iterator[str]:
    """An arrow out of each end of a link that closes a dimension; dotted, and no link, where RING is declared but the extent too short."""
    mesh = panel.mesh
    rows, columns = mesh.dims
    yield f'<g class="s-wrap" stroke="{light("wrap")}" stroke-width="2" fill="none">'
    for link in mesh.grid_links():
        if link.wrap:
            way = _out(panel, link.b, link.direction, -1) + _out(panel, link.a, link.direction, 1)
            more = _heated(mesh.mesh_id, link, traffic)
            yield f'<path class="wrap" data-link="{link.a}-{link.b}" d="{way}"{more}><title>wrap from device {link.a} to {link.b}{_amount(mesh.mesh_id, link, traffic)}</title></path>'
    short = [(dim, "SE"[dim]) for dim in (0, 1) if mesh.dim_types[dim] == "RING" and not mesh.wraps(dim)]
    for dim, direction in short:
        for index in range(mesh.dims[1 - dim]):
            ends = (
                (index, index + (rows - 1) * columns)
                if dim == 0
                else (index * columns, (index + 1) * columns - 1)
            )
            way = _out(panel, ends[0], direction, -1) + _out(panel, ends[1], direction, 1)
            yield f'<path class="short" stroke-dasharray="2 3" d="{way}"/>'
    yield "</g>"


def _out(panel: Panel, device: int, direction: str, sense: int) -> str:
    """The way from a device out of the mesh, with a tip."""
    x, y = panel.device(device)
    start, end = panel.scale.device // 2, panel.scale.device // 2 + panel.scale.border + 7
    if direction == "E":
        tip = x + sense * end
        return f"M{x + sense * start} {y}H{tip}M{tip - sense * _TIP} {y - _TIP}L{tip} {y}L{tip - sense * _TIP} {y + _TIP}"
    tip = y + sense * end
    return f"M{x} {y + sense * start}V{tip}M{x - _TIP} {tip - sense * _TIP}L{x} {tip}L{x + _TIP} {tip - sense * _TIP}"


def _express(panel: Panel, traffic: Traffic | None) -> Iterator[str]:
    """Chords as bows beside the devices that they pass."""
    if not panel.mesh.express:
        return
    yield f'<g class="s-z" stroke="{light("z")}" stroke-width="1.6" stroke-dasharray="5 3" fill="none">'
    for link in panel.mesh.express:
        (x1, y1), (x2, y2) = panel.device(link.a), panel.device(link.b)
        bend = panel.scale.pitch * 0.62
        bow_x, bow_y = (x1 + x2) / 2 + (bend if x1 == x2 else 0), (y1 + y2) / 2 + (0 if x1 == x2 else bend)
        more = _heated(panel.mesh.mesh_id, link, traffic)
        yield (
            f'<path class="express" data-link="{link.a}-{link.b}" d="M{x1} {y1}Q{bow_x:.0f} {bow_y:.0f} {x2} {y2}"{more}>'
            f"<title>express link from device {link.a} to {link.b}, {link.channels} ch"
            f"{_amount(panel.mesh.mesh_id, link, traffic)}</title></path>"
        )
    yield "</g>"


def _devices(panel: Panel, marks: Marks) -> Iterator[str]:
    mesh, side = panel.mesh, panel.scale.device
    for device in range(mesh.device_count):
        row, column = divmod(device, mesh.dims[1])
        x, y = panel.centre(row, column)
        rank = panel.first_rank + mesh.host_rank_of(row, column)
        bad = (mesh.mesh_id, device) in marks.devices
        colour = light("bad") if bad else HOSTS[rank % len(HOSTS)][0]
        name = "s-bad" if bad else f"h{rank % len(HOSTS)}"
        number = f"{device}✗" if bad else str(device)
        yield (
            f'<rect class="device f-page {name}" data-device="{device}" fill="{light("page")}" stroke="{colour}" stroke-width="1.6"'
            f' x="{x - side // 2}" y="{y - side // 2}" width="{side}" height="{side}" rx="5">'
            f"<title>device {device}: row {row}, column {column}, rank {rank}</title></rect>"
        )
        kind = "bad" if bad else "ink"
        size = min(panel.scale.number, side / (0.62 * max(len(number), 1)) - 0.5)
        yield (
            f'<text class="id f-{kind}" fill="{light(kind)}" font-size="{size:.3g}" text-anchor="middle" pointer-events="none"'
            f' x="{x}" y="{y + size * 0.36:.1f}">{number}</text>'
        )
