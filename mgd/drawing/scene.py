"""A whole picture as values: panels, boxes and ways with their places on the page; what writes it out decides nothing."""

from __future__ import annotations

from mgd.drawing.arrangement import arranged
from mgd.drawing.hierarchy import Bundle, Item, hierarchy
from mgd.drawing.panel_geometry import Panel, PixelScale, scale_of, width_of
from mgd.drawing.routing import LANE, Placed, Point, Router, Way
from mgd.graph import MeshGraph
from mgd.lean import dataclass, field

PADDING = 18  # of a graph's box
RAIL = 22  # from a row of boxes down to their rail


@dataclass(frozen=True, slots=True)
class PanelAt:
    x: float
    y: float
    panel: Panel
    item: Item


@dataclass(frozen=True, slots=True)
class BoxAt:
    """A graph's box with its title in the upper left corner."""

    x: float
    y: float
    width: float
    height: float
    title: str
    depth: int


@dataclass(frozen=True, slots=True)
class LineAt:
    """The links of a bundle, or of all bundles of a graph on one rail: strokes, a label, and what they stand for."""

    strokes: tuple[tuple[Point, ...], ...]
    label: str
    label_at: Point
    bundles: tuple[Bundle, ...]
    label_starts: bool = False  # the label begins at its place, in place of standing around it


@dataclass(slots=True)
class Scene:
    """Everything with its place, and how much room it takes."""

    scale: PixelScale
    width: float
    height: float
    panels: list[PanelAt] = field(default_factory=list)
    boxes: list[BoxAt] = field(default_factory=list)
    lines: list[LineAt] = field(default_factory=list)

    def place(self, part: Scene, dx: float, dy: float) -> None:
        """Take in all of another scene at a place."""
        self.panels += [PanelAt(each.x + dx, each.y + dy, each.panel, each.item) for each in part.panels]
        self.boxes += [
            BoxAt(each.x + dx, each.y + dy, each.width, each.height, each.title, each.depth)
            for each in part.boxes
        ]
        for each in part.lines:
            strokes = tuple(tuple((x + dx, y + dy) for x, y in stroke) for stroke in each.strokes)
            label_at = (each.label_at[0] + dx, each.label_at[1] + dy)
            self.lines.append(LineAt(strokes, each.label, label_at, each.bundles, each.label_starts))


def scene_of(graph: MeshGraph, *, rails: bool = True) -> Scene:
    """The picture of a graph. With `rails` links among all of a graph's parts are drawn as one rail, without them each on its own."""
    return _scene(hierarchy(graph), scale_of(graph), rails, 0)


def _scene(item: Item, scale: PixelScale, rails: bool, depth: int) -> Scene:
    if item.mesh is not None:
        panel = Panel(item.mesh, item.name, item.first_rank, scale)
        return Scene(scale, panel.width, panel.height, [PanelAt(0, 0, panel, item)])
    parts = [_scene(each, scale, rails, depth + 1) for each in item.items]
    inner = _joined(item, parts, scale, rails)
    title = _title(item)
    head = scale.words + 14 if title else 0
    padding = PADDING if title else 0
    width = max(inner.width, width_of(title, scale.words)) + 2 * padding
    scene = Scene(scale, width, inner.height + head + padding)
    if title:
        scene.boxes.append(BoxAt(0, 0, scene.width, scene.height, title, depth))
    scene.place(inner, (scene.width - inner.width) / 2, head)
    return scene


def _title(item: Item) -> str:
    if item.instance is None:
        return ""
    kind = item.instance.type
    return item.name if not kind or kind == item.instance.name else f"{item.name}, {kind}"


def _joined(item: Item, parts: list[Scene], scale: PixelScale, rails: bool) -> Scene:
    """The parts of a graph in rows, and what links them."""
    boxes = [Placed(part.width, part.height) for part in parts]
    if not boxes:
        return Scene(scale, 40, 20)
    size = max(box.width for box in boxes) + 44, max(box.height for box in boxes) + 44
    arrangement = arranged(len(parts), [(each.first, each.last) for each in item.bundles], size)
    on_rail = rails and arrangement.is_bus
    ways = [] if on_rail else [Way(each.first, each.last, each.label) for each in item.bundles]
    router = Router(boxes, arrangement.rows, ways, gap=46 if on_rail else 40 if ways else 24)
    width, height = router.run()
    scene = Scene(scale, width, height)
    if on_rail:
        _rail(scene, item, boxes, arrangement.rows)
    for way, bundle in zip(ways, item.bundles, strict=False):
        scene.lines.append(
            LineAt((tuple(way.points),), way.label, way.label_at, (bundle,), way.straight == "across")
        )
    for box, part in zip(boxes, parts, strict=True):
        scene.place(part, box.x, box.y)
    return scene


def _rail(scene: Scene, item: Item, boxes: list[Placed], rows: tuple[tuple[int, ...], ...]) -> None:
    """One line along below each row, to which every box has its tap; a spine on the left where there are several rows."""
    shift = LANE if len(rows) > 1 else 0
    for box in boxes:
        box.x += shift
    strokes: list[tuple[Point, ...]] = []
    levels = []
    for row in rows:
        bottom = max(boxes[each].y + boxes[each].height for each in row)
        levels.append(bottom + RAIL)
        ends = [boxes[each].middle for each in row]
        strokes += [
            ((boxes[each].middle, boxes[each].y + boxes[each].height), (boxes[each].middle, levels[-1]))
            for each in row
        ]
        strokes.append(((LANE / 2 if shift else min(ends), levels[-1]), (max(ends), levels[-1])))
    if shift:
        strokes.append(((LANE / 2, levels[0]), (LANE / 2, levels[-1])))
    counts = {joint.channels for bundle in item.bundles for joint in bundle.joints}
    number = sum(len(bundle.joints) for bundle in item.bundles)
    each_has = (
        f"{counts.pop()} ch each"
        if len(counts) == 1
        else f"{sum(j.channels for b in item.bundles for j in b.joints)} ch"
    )
    label = f"every pair: {number} links, {each_has}"
    start = LANE / 2 if shift else boxes[rows[0][0]].middle
    scene.lines.append(LineAt(tuple(strokes), label, (start + 6, levels[-1] + 16), tuple(item.bundles), True))
    scene.width = max(scene.width + shift, start + 6 + width_of(label, scene.scale.words))
    scene.height = levels[-1] + RAIL
