"""What the signs of a picture mean; only those that it has."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from mgd.drawing.marks import Marks
from mgd.drawing.palette import HEAT, HOSTS, light
from mgd.drawing.panel_geometry import width_of
from mgd.drawing.scene import Scene
from mgd.drawing.traffic import Traffic
from mgd.graph import MeshGraph

_SIZE, _SAMPLE, _LINE = 11, 30, 20


def legend(
    graph: MeshGraph, scene: Scene, marks: Marks, traffic: Traffic | None, width: float
) -> tuple[list[str], float]:
    """The elements of the legend, folded to a width, and their height."""
    lines: list[str] = []
    x, y = 0.0, 0.0
    for sample, words in _entries(graph, scene, marks, traffic):
        room = _SAMPLE + 8 + width_of(words, _SIZE) + 18
        if x and x + room > width:
            x, y = 0.0, y + _LINE
        lines.append(
            f'<g class="entry" transform="translate({x:.0f} {y:.0f})">{sample}<text class="f-soft" fill="{light("soft")}" font-size="{_SIZE}"'
            f' x="{_SAMPLE + 8}" y="13">{escape(words)}</text></g>'
        )
        x += room
    return lines, y + _LINE


def _entries(
    graph: MeshGraph, scene: Scene, marks: Marks, traffic: Traffic | None
) -> Iterator[tuple[str, str]]:
    green = HOSTS[0][0]
    yield (
        f'<rect class="f-page h0" fill="{light("page")}" stroke="{green}" stroke-width="1.6" x="8" y="2" width="14" height="14" rx="3"/>',
        "device by number",
    )
    yield (
        f'<rect class="host h0" fill="{green}" fill-opacity="0.08" stroke="{green}" stroke-width="1.2" x="2" y="1" width="26" height="16" rx="4"/>',
        "host block with its rank",
    )
    if traffic is not None:
        yield from _scale(traffic)
    elif any(mesh.grid_link_count for mesh in graph.meshes):
        yield _stroke("line"), "link"
    if any(mesh.wraps(0) or mesh.wraps(1) for mesh in graph.meshes):
        yield _stroke("wrap", tip=True), "wrap, goes on at the other border"
    if any(mesh.dim_types[d] == "RING" and not mesh.wraps(d) for mesh in graph.meshes for d in (0, 1)):
        yield _stroke("wrap", "2 3", tip=True), "RING too short to close"
    if any(mesh.express for mesh in graph.meshes):
        yield _stroke("z", "5 3"), "express link"
    kinds = {bundle.z_direction for line in scene.lines for bundle in line.bundles}
    if False in kinds and traffic is None:
        yield _stroke("far"), "links between, with their channels (ch) in all"
    if True in kinds:
        yield (
            _stroke("z", "7 4"),
            "the same over Z ports"
            if False in kinds
            else "links between over Z ports, with their channels (ch) in all",
        )
    if marks.any_broken:
        yield f'<text class="f-bad" fill="{light("bad")}" x="10" y="14">✗</text>', "what the rules refuse"


def _stroke(name: str, dash: str = "", *, tip: bool = False) -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    way = "M2 9H26M22 5L26 9L22 13" if tip else "M2 9H28"
    return f'<path class="s-{name}" fill="none" stroke="{light(name)}" stroke-width="2"{dashed} d="{way}"/>'


def _scale(traffic: Traffic) -> Iterator[tuple[str, str]]:
    """The colours from nothing to the most."""
    step = _SAMPLE / len(HEAT)
    bars = "".join(
        f'<rect fill="{colour}" x="{number * step:.1f}" y="5" width="{step:.1f}" height="8"/>'
        for number, colour in enumerate(HEAT)
    )
    yield bars, f"on a link, from 0 to {traffic.shown(traffic.most)}"
