"""A mesh graph as one SVG file: boxes of graphs, meshes in them, every link, and a legend.

The colours stand at the elements, so that viewers without style sheets show them; a rule for dark pages is beside them. Nothing is loaded
and nothing runs. Whatever the pointer rests on says what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from mgd.drawing.hierarchy import Bundle
from mgd.drawing.legend import legend
from mgd.drawing.marks import Marks
from mgd.drawing.palette import dark_style, heat, light
from mgd.drawing.panel_geometry import width_of
from mgd.drawing.scene import BoxAt, LineAt, Scene, scene_of
from mgd.drawing.svg_mesh import mesh_lines
from mgd.drawing.traffic import Traffic
from mgd.graph import MeshGraph

MOST_DEVICES = 16384
MARGIN = 24
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"


class TooLargeToDraw(ValueError):
    """The graph has more devices than an SVG viewer takes."""


def draw_svg(
    graph: MeshGraph,
    *,
    title: str = "",
    marks: Marks | None = None,
    traffic: Traffic | None = None,
    theme: str = "",
) -> str:
    """The picture of a graph as one SVG file; `traffic` colours links by what flowed over them.

    It follows the reader's light or dark theme where it is opened; `theme` "page" leaves that to the classes of the page that it stands in.
    Raises TooLargeToDraw beyond 16,384 devices.
    """
    if graph.device_count > MOST_DEVICES:
        raise TooLargeToDraw(
            f"{graph.device_count} devices are too many for a picture: at most {MOST_DEVICES}"
        )
    marks = marks or Marks()
    scene = scene_of(graph, rails=traffic is None and not marks.links)
    titles = [title] if title else []
    titles.append(_summary(graph, scene))
    head = MARGIN + 20 * len(titles)
    widest = [
        scene.width,
        *(width_of(text, 13) for text in titles),
        *(width_of(note, 12) + 20 for note in marks.notes),
    ]
    width = max(*widest, 420) + 2 * MARGIN
    key, key_height = legend(graph, scene, marks, traffic, width - 2 * MARGIN)
    below = head + scene.height + MARGIN
    height = below + 18 * len(marks.notes) + key_height + MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' font-family="{_FONT}" role="img" aria-label="{escape(title or "mesh graph", quote=True)}">'
    ]
    dark = dark_style() + ".halo{stroke:#0d1117}"
    lines.append("<style>" + ("" if theme else f"@media (prefers-color-scheme:dark){{{dark}}}") + "</style>")
    lines.append(
        f'<rect class="page f-page" fill="{light("page")}" width="{width:.0f}" height="{height:.0f}"/>'
    )
    for number, text in enumerate(titles):
        bold = ' font-weight="bold"' if title and not number else ""
        name = "ink" if title and not number else "soft"
        lines.append(_text(text, MARGIN, MARGIN + 10 + 20 * number, 13, name, bold))
    left = (width - scene.width) / 2
    lines.append(f'<g class="scene" transform="translate({left:.0f} {head:.0f})">')
    lines += [_box(each) for each in scene.boxes]
    for number, line in enumerate(scene.lines):
        lines.extend(_line(line, number, marks, traffic))
    for panel in scene.panels:
        lines.extend(mesh_lines(panel, marks, traffic))
    lines.extend(_labels(scene, marks, traffic))
    lines.append("</g>")
    for number, note in enumerate(marks.notes):
        lines.append(_text(f"✗ {note}", MARGIN, below + 12 + 18 * number, 12, "bad"))
    lines.append(f'<g class="legend" transform="translate({MARGIN} {below + 18 * len(marks.notes):.0f})">')
    return "\n".join([*lines, *key, "</g>", "</svg>"]) + "\n"


def bundle_facts(graph: MeshGraph, *, rails: bool = True) -> list[list[str]]:
    """The words of the links of each line, by the line's number in the picture."""
    return [
        [joint.words for bundle in line.bundles for joint in bundle.joints]
        for line in scene_of(graph, rails=rails).lines
    ]


def bundle_panels(graph: MeshGraph, *, rails: bool = True) -> list[list[int]]:
    """The meshes at the ends of each line's links, by the line's number in the picture: numbers of the meshes as they are drawn."""
    scene = scene_of(graph, rails=rails)
    ends = [
        {path for b in line.bundles for joint in b.joints for path in joint.paths} for line in scene.lines
    ]
    paths = [panel.item.path for panel in scene.panels]
    return [[number for number, path in enumerate(paths) if path in each] for each in ends]


def _summary(graph: MeshGraph, scene: Scene) -> str:
    between = sum(len(bundle.joints) for line in scene.lines for bundle in line.bundles)
    inside = sum(mesh.grid_link_count + len(mesh.express) for mesh in graph.meshes)
    hosts = sum(mesh.host_count for mesh in graph.meshes)
    parts = [
        (len(graph.meshes), "mesh", "meshes"),
        (graph.device_count, "device", "devices"),
        (hosts, "host", "hosts"),
    ]
    parts += [(inside, "link inside", "links inside"), (between, "link between", "links between")]
    return ", ".join(f"{count:,} {one if count == 1 else many}" for count, one, many in parts)


def _text(text: str, x: float, y: float, size: float, name: str, more: str = "") -> str:
    return f'<text class="f-{name}" fill="{light(name)}" font-size="{size:g}" x="{x:.0f}" y="{y:.0f}"{more}>{escape(text)}</text>'


def _box(box: BoxAt) -> str:
    name = "page" if box.depth % 2 else "box"
    return (
        f'<rect class="graph f-{name} s-edge" fill="{light(name)}" stroke="{light("edge")}" x="{box.x:.0f}" y="{box.y:.0f}"'
        f' width="{box.width:.0f}" height="{box.height:.0f}" rx="10"/>'
        + _text(box.title, box.x + 14, box.y + 18, 12, "soft", ' font-weight="bold"')
    )


def _kind(bundle: Bundle, marks: Marks) -> str:
    if any(joint.key in marks.links for joint in bundle.joints):
        return "bad"
    return "z" if bundle.z_direction else "far"


def _line(line: LineAt, number: int, marks: Marks, traffic: Traffic | None) -> Iterator[str]:
    kind = _kind(line.bundles[0], marks)
    count = sum(len(bundle.joints) for bundle in line.bundles)
    amount = sum(traffic.of_bundle(bundle) for bundle in line.bundles) if traffic else 0
    words = [joint.words for bundle in line.bundles for joint in bundle.joints]
    told = "\n".join([line.label, *words[:24], *([f"and {len(words) - 24} more"] if len(words) > 24 else [])])
    if traffic:
        told = f"{traffic.shown(amount)}\n{told}"
        share = amount / traffic.most if traffic.most else 0
        colour, name, width = heat(share), "", 2 + 4 * share
    else:
        colour, name, width = light(kind), f" s-{kind}", 2.0 if count == 1 else 3.0
    dash = ' stroke-dasharray="7 4"' if kind == "z" else ""
    path = " ".join(_rounded(stroke) for stroke in line.strokes)
    yield (
        f'<path class="far{name}" data-line="{number}" data-links="{count}" fill="none" stroke="{colour}" stroke-width="{width:.1f}"'
        f' stroke-linejoin="round"{dash} d="{path}"><title>{escape(told)}</title></path>'
    )


def _rounded(stroke: tuple[tuple[float, float], ...], reach: float = 7) -> str:
    """A way along its points, its corners round."""
    words = [f"M{stroke[0][0]:.0f} {stroke[0][1]:.0f}"]
    for before, here, after in zip(stroke, stroke[1:], stroke[2:], strict=False):
        words.append(
            f"L{_towards(here, before, reach)}Q{here[0]:.0f} {here[1]:.0f} {_towards(here, after, reach)}"
        )
    return "".join([*words, f"L{stroke[-1][0]:.0f} {stroke[-1][1]:.0f}"])


def _towards(here: tuple[float, float], there: tuple[float, float], reach: float) -> str:
    dx, dy = there[0] - here[0], there[1] - here[1]
    part = min(reach / ((dx * dx + dy * dy) ** 0.5 or 1), 0.5)
    return f"{here[0] + dx * part:.1f} {here[1] + dy * part:.1f}"


def _labels(scene: Scene, marks: Marks, traffic: Traffic | None) -> Iterator[str]:
    """Labels come last, so that no line crosses them."""
    for line in scene.lines:
        kind = _kind(line.bundles[0], marks)
        text = ("✗ " if kind == "bad" else "") + line.label
        if traffic:
            text = traffic.shown(sum(traffic.of_bundle(bundle) for bundle in line.bundles))
        anchor = "" if line.label_starts else ' text-anchor="middle"'
        x, y = line.label_at
        words = f'font-size="11" x="{x:.0f}" y="{y:.0f}"{anchor}>{escape(text)}</text>'
        # A stroke below the letters keeps lines off them; two elements, for few viewers know paint-order.
        yield f'<text class="halo" aria-hidden="true" fill="none" stroke="{light("page")}" stroke-width="4" stroke-linejoin="round" {words}'
        yield f'<text class="count f-{kind}" fill="{light(kind)}" {words}'
