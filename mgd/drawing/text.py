"""A mesh graph for the terminal: every mesh with its hosts, ranks and wraps, then what links the meshes.

>>> print(draw(mgd.expand(mgd.load("t3k_2x4_two_hosts.textproto"))))
2x4, WORMHOLE_B0, 8 devices on 2 hosts, 2 channels RELAXED
╭ rank 0 ───╮ ╭ rank 1 ───╮
│  0 ─── 1 ─┼─┼─ 2 ─── 3  │
│  │     │  │ │  │     │  │
│  4 ─── 5 ─┼─┼─ 6 ─── 7  │
╰───────────╯ ╰───────────╯
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from mgd.drawing.canvas import Canvas, paint
from mgd.drawing.marks import Marks
from mgd.drawing.panel import MOST_ROWS, TALL_ROWS, draw_mesh
from mgd.drawing.relations import Relation, relations
from mgd.folding import fold
from mgd.graph import Mesh, MeshGraph

WIDTH = 100
MOST_LINES = 60  # panels beyond this height are drawn once for all meshes that look alike
MOST_DRAWN = 64  # meshes alike that are looked at to fill the first lines
MOST_LINKS = 24  # links written out one by one


def draw(
    graph: MeshGraph,
    width: int = WIDTH,
    colour: bool = False,
    *,
    marks: Marks | None = None,
    every: bool = False,
) -> str:
    """The picture of a graph in at most `width` columns, ending in a line break.

    Meshes that look alike are drawn once when the whole would be long, unless `every`. `marks` crosses out what is
    broken and renames host blocks. Without `colour` the text has no escape sequences; it depends on the arguments alone.
    """
    marks = marks or Marks()
    lines = [*_panels(graph, width, colour, marks, every), *_links(graph, width, colour, marks)]
    for line in _legend(graph, marks):
        lines.extend(_beside_signs(line, width))
    lines.extend(paint(f"✗ {note}", "broken", colour) for note in marks.notes)
    return "\n".join(lines) + "\n"


def _panels(graph: MeshGraph, width: int, colour: bool, marks: Marks, every: bool) -> Iterator[str]:
    groups = _groups(graph.meshes, marks)
    first_ranks = _first_ranks(graph.meshes)
    for index, (alike, start) in enumerate(groups):
        if index:
            yield ""
        for line in fold(_heading(alike), width, "  ").split("\n"):
            yield paint(line, "title", colour)
        canvases = [
            _titled(mesh, draw_mesh(mesh, width, marks, first_ranks[start + offset]), len(alike) > 1)
            for offset, mesh in enumerate(alike if every else alike[:MOST_DRAWN])
        ]
        shelves = list(_shelves(canvases, width))
        if not every:
            shelves = _shortened(shelves)
        for shelf in shelves:
            yield from _side_by_side(shelf).lines(colour)
        hidden = len(alike) - sum(map(len, shelves))
        if hidden:
            yield paint(_unseen(alike[-hidden:]), "dim", colour)


def _shortened(shelves: list[list[Canvas]]) -> list[list[Canvas]]:
    """All shelves when they fit a screen or so, else the first, else its first panel."""
    if sum(max(canvas.height for canvas in shelf) for shelf in shelves) <= MOST_LINES:
        return shelves
    first = shelves[0]
    return [first] if len(shelves) > 1 and first[0].height <= MOST_LINES else [first[:1]]


def _groups(meshes: Sequence[Mesh], marks: Marks) -> list[tuple[list[Mesh], int]]:
    """Runs of meshes that look alike, with the position of the first; a mesh with marks stands alone."""
    groups: list[tuple[list[Mesh], int]] = []
    marked = {key[0] for key in (*marks.devices, *marks.edges, *marks.hosts)}
    for position, mesh in enumerate(meshes):
        previous = groups[-1][0][-1] if groups else None
        alike = previous is not None and _look(previous) == _look(mesh)
        if alike and mesh.mesh_id not in marked and previous is not None and previous.mesh_id not in marked:
            groups[-1][0].append(mesh)
        else:
            groups.append(([mesh], position))
    return groups


def _look(mesh: Mesh) -> tuple[object, ...]:
    return (
        mesh.descriptor,
        mesh.arch,
        mesh.dims,
        mesh.host_dims,
        mesh.dim_types,
        mesh.channels,
        mesh.policy,
        mesh.is_switch,
        mesh.express,
    )


def _first_ranks(meshes: Sequence[Mesh]) -> list[int]:
    """The global rank of each mesh's first host: mesh-major, then host rank (reference library 0.81.1)."""
    starts, rank = [], 0
    for mesh in meshes:
        starts.append(rank)
        rank += mesh.host_count
    return starts


def _heading(alike: Sequence[Mesh]) -> str:
    mesh = alike[0]
    kind = "switch" if mesh.is_switch else "mesh"
    shape = "x".join(map(str, mesh.dims))
    count = f"{len(alike)} {kind}es of {shape}" if len(alike) > 1 else f"{kind} {mesh.mesh_id}, {shape}"
    hosts = f" on {mesh.host_count} hosts" if mesh.host_count > 1 else ""
    each = " each" if len(alike) > 1 else ""
    devices = f"{mesh.device_count} device{'' if mesh.device_count == 1 else 's'}{each}{hosts}"
    channels = f"{mesh.channels} channel{'' if mesh.channels == 1 else 's'} {mesh.policy}"
    words = [count, mesh.arch, devices, channels]
    if mesh.wraps(0) or mesh.wraps(1):
        words.append("torus " + ("X" if mesh.wraps(1) else "") + ("Y" if mesh.wraps(0) else ""))
    if mesh.express:
        words.append(f"{len(mesh.express)} express links")
    return ", ".join(words)


def _titled(mesh: Mesh, panel: Canvas, several: bool) -> Canvas:
    if not several:
        return panel
    canvas = Canvas()
    path = "/".join(f"{name}({number})" for name, number in mesh.path[1:])
    kind = "switch" if mesh.is_switch else "mesh"
    canvas.put(1, 0, f"{path + '/' if path else ''}{kind} {mesh.mesh_id}", "title")
    canvas.paste(panel, 0, 1)
    return canvas


def _shelves(canvases: Iterable[Canvas], width: int) -> Iterator[list[Canvas]]:
    """Panels in rows that are no wider than the page."""
    row: list[Canvas] = []
    used = 0
    for canvas in canvases:
        if row and used + canvas.width > width:
            yield row
            row, used = [], 0
        row.append(canvas)
        used += canvas.width + 3
    if row:
        yield row


def _side_by_side(row: Sequence[Canvas]) -> Canvas:
    page, x = Canvas(), 0
    for canvas in row:
        page.paste(canvas, x, 0)
        x += canvas.width + 3
    return page


def _unseen(meshes: Sequence[Mesh]) -> str:
    first, last = meshes[0].mesh_id, meshes[-1].mesh_id
    which = f"mesh {first} looks" if len(meshes) == 1 else f"meshes {first} to {last} look"
    return f"{which} the same (all are drawn with --all)"


# --- links between meshes -----------------------------------------------------------------------------------------------


def _links(graph: MeshGraph, width: int, colour: bool, marks: Marks) -> Iterator[str]:
    found = relations(graph)
    if len(graph.meshes) > 1:
        yield ""
        total = sum(len(relation.ends) for relation in found)
        yield paint(f"links between meshes: {total or 'none'}", "title", colour)
    for relation in found:
        yield f"  {_pattern(relation)}{relation.terms}"
        if relation.pattern != "every pair" or relation.nodes != len(graph.meshes) or marks.links:
            yield from _wrapped(_hops(relation, marks), width)


def _pattern(relation: Relation) -> str:
    words = {
        "every pair": f"every pair of {relation.nodes}",
        "ring": f"a ring of {relation.nodes}",
        "chain": f"a chain of {relation.nodes}",
        "star": f"a star around {relation.path[0] if relation.path else ''}",
    }
    return f"{words[relation.pattern]}, each " if relation.pattern else ""


def _hops(relation: Relation, marks: Marks) -> list[str]:
    line = " ═z═ " if relation.z_direction else " ═══ "
    path = relation.path
    if relation.pattern == "every pair" and not marks.links:
        return [", ".join(path)] if len(path) <= MOST_LINKS else [f"{path[0]} to {path[-1]}"]
    if relation.pattern in ("ring", "chain") and not marks.links:
        onward = [*path[1:], path[0]] if relation.pattern == "ring" else path[1:]
        channels = relation.channels_between()
        counts = [channels[frozenset(hop)] for hop in zip(path, onward, strict=False)]
        same = len(set(counts)) == 1
        return [
            path[0],
            *(
                f"{line[1:] if same else _counted(line, n)}{node}"
                for node, n in zip(onward, counts, strict=True)
            ),
        ]
    broken = {ends for ends in relation.ends if tuple(sorted(ends)) in marks.links}
    found = [(" ═✗═ " if ends in broken else line).join(ends) + "  " for ends in relation.ends]
    more = len(found) - MOST_LINKS
    return found if more <= 0 else [*found[:MOST_LINKS], f"and {more} more"]


def _counted(line: str, channels: int) -> str:
    """The sign of a link with its channels in it."""
    return f"{line[1:-2]}{channels}═ "


def _wrapped(words: Sequence[str], width: int) -> Iterator[str]:
    line = "    "
    for word in words:
        if len(line) + len(word) + 1 > width and line.strip():
            yield line.rstrip()
            line = "    "
        line += word + " "
    yield line.rstrip()


# --- legend -------------------------------------------------------------------------------------------------------------


def _beside_signs(line: str, width: int) -> list[str]:
    """A line of the legend, in as many as the width needs, its words below each other."""
    signs, gap, words = re.split(r"(\s{2,})", line, maxsplit=1)
    lead = f"  {signs}{gap}"
    return (lead + fold(words, width, " " * len(lead), len(lead))).split("\n")


def _legend(graph: MeshGraph, marks: Marks) -> Iterator[str]:
    meshes = graph.meshes
    if any(mesh.wraps(dim) for mesh in meshes for dim in (0, 1)):
        yield "▴▾ ◂▸  closes into a ring with the opposite edge"
    if any(mesh.dim_types[dim] == "RING" and not mesh.wraps(dim) for mesh in meshes for dim in (0, 1)):
        yield "▵▿ ◃▹  RING is declared, but an extent of 2 or less has no wrap"
    if any(mesh.dims[0] > TALL_ROWS for mesh in meshes):
        yield "rows    neighbouring rows are linked; the lines are left out"
    if any(mesh.dims[0] > MOST_ROWS for mesh in meshes):
        yield "⋮ ⋯     rows and columns left out"
    if marks.any_broken:
        yield "✗       broken"
