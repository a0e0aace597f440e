"""The SVG: well formed, every link accounted for, nothing clipped, colours in the file, the same bytes every time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

import mgd
from mgd.drawing.marks import Marks
from mgd.drawing.palette import HEAT, heat
from mgd.drawing.panel_geometry import width_of
from mgd.drawing.svg import TooLargeToDraw, draw_svg
from mgd.drawing.traffic import Traffic
from mgd.expanding.connections import InterLink
from mgd.graph import Mesh, MeshGraph
from mgd.systems import System, systems
from tests.mgd.fixtures import EACH_SYSTEM

SVG = "{http://www.w3.org/2000/svg}"
SYSTEMS = pytest.mark.parametrize("system", EACH_SYSTEM)


def mesh(
    mesh_id: int,
    dims: tuple[int, int] = (2, 4),
    hosts: tuple[int, int] = (1, 1),
    types: tuple[str, str] = ("LINE", "RING"),
) -> Mesh:
    return Mesh(mesh_id, 'M"0<&>', "WORMHOLE_B0", dims, hosts, types, 2, "RELAXED")


def picture(system: System) -> tuple[MeshGraph, ElementTree.Element]:
    graph = mgd.expand(mgd.load(system.path))
    return graph, ElementTree.fromstring(draw_svg(graph, title=system.name))


def with_class(root: ElementTree.Element, tag: str, name: str) -> list[ElementTree.Element]:
    return [each for each in root.iter(f"{SVG}{tag}") if name in each.get("class", "").split()]


def placed(
    element: ElementTree.Element, x: float = 0, y: float = 0, style: str = ""
) -> Iterator[tuple[ElementTree.Element, float, float, str]]:
    """Every element with what the groups around it add to its place, and whether they give it a colour."""
    move = element.get("transform", "")
    if move:
        dx, dy = move.removeprefix("translate(").rstrip(")").split()
        x, y = x + float(dx), y + float(dy)
    style += element.get("fill", "") + element.get("stroke", "") + element.get("style", "")
    yield element, x, y, style
    for child in element:
        yield from placed(child, x, y, style)


@SYSTEMS
def test_every_device_host_and_link_of_a_system_is_drawn_once(system: System) -> None:
    graph, root = picture(system)
    assert len(with_class(root, "rect", "device")) == graph.device_count
    groups = with_class(root, "g", "mesh")
    assert len(groups) == len(graph.meshes)
    hosts: Counter[tuple[int, int]] = Counter()
    for each in graph.meshes:
        hosts[each.mesh_id, each.host_count] += 1
    for group in groups:
        mesh_id = int(group.get("data-mesh", ""))
        own = next(each for each in graph.meshes if each.mesh_id == mesh_id)
        drawn = Counter(each.get("data-link") for each in group.iter() if each.get("data-link"))
        meant = Counter(f"{link.a}-{link.b}" for link in (*own.grid_links(), *own.express))
        assert drawn == meant
        hosts[mesh_id, len(with_class(group, "rect", "host"))] -= 1
    assert not +hosts
    between = [int(each.get("data-links", 0)) for each in with_class(root, "path", "far")]
    assert sum(between) == sum(len(each.nodes) - 1 for each in graph.connections)


@SYSTEMS
def test_nothing_is_clipped_and_every_colour_stands_in_the_file(system: System) -> None:
    _, root = picture(system)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for element, x, y, style in placed(root):
        tag = element.tag.removeprefix(SVG)
        if tag in ("rect", "path", "line", "text"):
            assert "#" in style, ElementTree.tostring(element)
        if tag == "rect":
            left, top = x + float(element.get("x", 0)), y + float(element.get("y", 0))
            assert left >= 0 and left + float(element.get("width", 0)) <= width
            assert top >= 0 and top + float(element.get("height", 0)) <= height
        if tag == "text":
            room = width_of("".join(element.itertext()), float(element.get("font-size", 11)))
            shift = room / 2 if element.get("text-anchor") == "middle" else 0
            left = x + float(element.get("x", 0)) - shift
            assert left >= 0 and left + room <= width, "".join(element.itertext())


def test_the_same_graph_gives_the_same_bytes() -> None:
    graph = mgd.expand(mgd.load(systems()[0].path))
    assert draw_svg(graph, title="x") == draw_svg(graph, title="x")


def test_the_longest_title_makes_the_page_wider() -> None:
    root = ElementTree.fromstring(draw_svg(MeshGraph((mesh(0, (1, 1)),)), title="a" * 300 + ".textproto"))
    assert float(root.get("width", 0)) > 2000


def test_a_graph_without_connections_keeps_its_links() -> None:
    graph = MeshGraph((mesh(0), mesh(1)), (InterLink(0, 1, 3, "STRICT", 3, 4),))
    (path,) = with_class(ElementTree.fromstring(draw_svg(graph)), "path", "far")
    title = path.findtext(f"{SVG}title")
    assert title == "3 ch\nmesh 0 device 3 to mesh 1 device 4: 3 channels STRICT"


def test_two_ways_from_corner_to_corner_keep_beside_each_other() -> None:
    pairs = [InterLink(a, b, 1, "STRICT") for a in range(4) for b in range(a + 1, 4)]
    links = (*pairs, InterLink(0, 3, 1, "STRICT", z_direction=True))
    root = ElementTree.fromstring(draw_svg(MeshGraph(tuple(mesh(i, (4, 4)) for i in range(4)), links)))
    ways = [list(map(int, re.findall(r"\d+", each.get("d", "")))) for each in with_class(root, "path", "far")]
    (x, _, to_x, _), (twin_x, _, twin_to_x, _) = [way for way in ways if way[0] < way[2] and way[1] < way[3]]
    assert twin_x - x == twin_to_x - to_x > 0


def test_marks_are_crosses_and_notes_are_escaped() -> None:
    graph = MeshGraph((mesh(0), mesh(1)), (InterLink(0, 1, 3, "STRICT", 3, 4),))
    marks = Marks(
        frozenset({(0, 1)}),
        frozenset({(0, 1, 2)}),
        frozenset({(0, 0)}),
        frozenset({("0:D3", "1:D4")}),
        notes=("a < b & c",),
    )
    root = ElementTree.fromstring(draw_svg(graph, title="<&>", marks=marks))
    texts = ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]
    for wanted in ("1✗", "✗", "✗ rank 0", "✗ 3 ch", "✗ a < b & c", "what the rules refuse"):
        assert wanted in texts
    [line] = [each for each in with_class(root, "line", "bad") if each.get("data-link") == "1-2"]
    [cross] = [each for each in with_class(root, "text", "bad") if each.text == "✗"]
    middle = [(int(line.get(f"{axis}1", 0)) + int(line.get(f"{axis}2", 0))) // 2 for axis in "xy"]
    assert [int(cross.get("x", 0)), int(cross.get("y", 0)) - 4] == middle


def test_a_label_does_not_run_into_the_next_block() -> None:
    """A host's name stands in the block where there is room, and always in its title."""
    labels = {(0, 0): "rank 0 on a", (0, 1): "rank 1 on a-host-of-a-long-name"}
    graph = MeshGraph((mesh(0, (2, 8), (1, 2)),))
    root = ElementTree.fromstring(draw_svg(graph, marks=Marks(labels=labels)))
    assert [each.text for each in with_class(root, "text", "rank")] == ["rank 0 on a", "rank 1"]
    told = [
        each.findtext(f"{SVG}title") or "" for each in with_class(root, "rect", "host")[:2]
    ]  # the legend has one, too
    assert [text.partition(":")[0] for text in told] == list(labels.values())


def test_the_legend_tells_of_what_is_there_and_of_nothing_else() -> None:
    def entries(graph: MeshGraph) -> set[str]:
        root = ElementTree.fromstring(draw_svg(graph))
        return {text for each in with_class(root, "g", "entry") for text in ["".join(each.itertext())]}

    alone = entries(MeshGraph((mesh(0, (1, 1), types=("LINE", "LINE")),)))
    assert alone == {"device by number", "host block with its rank"}
    ring = entries(MeshGraph((mesh(0), mesh(1)), (InterLink(0, 1, 3, "STRICT", z_direction=True),)))
    assert "wrap, goes on at the other border" in ring
    assert "links between over Z ports, with their channels (ch) in all" in ring
    assert "RING too short to close" in entries(MeshGraph((mesh(0, (2, 2)),)))


def test_traffic_colours_and_widens_links() -> None:
    graph = MeshGraph(
        (mesh(0), mesh(1), mesh(2)), (InterLink(0, 1, 1, "STRICT"), InterLink(1, 2, 1, "STRICT"))
    )
    traffic = Traffic({(0, 0, 1): 5e8, (2, 0, 3): 1e9}, {(0, 1): 2e9})
    root = ElementTree.fromstring(draw_svg(graph, traffic=traffic))
    lines = with_class(root, "path", "far")
    widths = {int(each.get("data-line", 0)): float(each.get("stroke-width", 0)) for each in lines}
    assert sorted(widths.values()) == [2.0, 6.0]
    assert lines[0].get("stroke") != lines[1].get("stroke")
    texts = ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]
    assert "2 GB" in texts and "0 B" in texts and "on a link, from 0 to 2 GB" in texts
    first, *_ = [each for each in root.iter(f"{SVG}line") if each.get("data-link") == "0-1"]
    assert "stroke-width:2.8" in first.get("style", "")


def test_links_without_any_traffic_are_thin_and_cold() -> None:
    graph = MeshGraph((mesh(0), mesh(1)), (InterLink(0, 1, 1, "STRICT"),))
    root = ElementTree.fromstring(draw_svg(graph, traffic=Traffic()))
    [line] = with_class(root, "path", "far")
    assert (line.get("stroke-width"), line.get("stroke")) == ("2.0", HEAT[0])
    inside = [each.get("style", "") for each in root.iter(f"{SVG}line") if each.get("data-link")]
    assert inside and all(f"stroke:{HEAT[0]}" in each and "stroke-width:2.0" in each for each in inside)


@pytest.mark.parametrize(
    ("share", "colour"),
    [(-1, HEAT[0]), (0, HEAT[0]), (1 / 3, HEAT[1]), (1, HEAT[3]), (2, HEAT[3]), (1 / 6, "#5e8bcb")],
)
def test_heat_is_mixed_of_the_colours_around_it(share: float, colour: str) -> None:
    assert heat(share) == colour


def test_amounts_are_those_of_both_directions() -> None:
    traffic = Traffic({(0, 1, 4): 3.0}, {(0, 2): 5.0}, "steps")
    assert (traffic.of_link(0, 1, 4), traffic.of_link(0, 4, 1)) == (3.0, 3.0)
    assert (traffic.of_link(1, 1, 4), traffic.of_link(0, 1, 5), traffic.most) == (0, 0, 5.0)
    assert Traffic().most == 0
    for amount, shown in ((0, "0"), (999, "999"), (1000, "1 k"), (1.5e6, "1.5 M"), (2e9, "2 G"), (3e12, "3 T"), (4e15, "4e+03 T")):  # fmt: skip
        assert traffic.shown(amount) == f"{shown}steps" if " " in shown else f"{shown} steps"


@pytest.mark.parametrize(
    ("dims", "types", "dotted"),
    [
        ((2, 4), ("RING", "LINE"), 4),
        ((4, 2), ("LINE", "RING"), 4),
        ((2, 2), ("RING", "RING"), 4),
        ((3, 3), ("RING", "RING"), 0),
        ((1, 4), ("RING", "LINE"), 4),
    ],
)
def test_a_ring_that_is_too_short_is_dotted_at_both_borders(
    dims: tuple[int, int], types: tuple[str, str], dotted: int
) -> None:
    root = ElementTree.fromstring(draw_svg(MeshGraph((mesh(0, dims, types=types),))))
    short = [each.get("d", "") for each in with_class(root, "path", "short")]
    # The legend shows one as well.
    assert len(short) - bool(dotted) <= dotted <= len(short)
    assert len(set(short[:dotted])) == dotted
    for way in short[:dotted]:
        (x, y), (far_x, far_y) = re.findall(r"M(\d+) (\d+)[HV]", way)
        assert (x == far_x) != (y == far_y) and (int(x), int(y)) < (int(far_x), int(far_y))


def test_too_many_devices_are_refused() -> None:
    with pytest.raises(TooLargeToDraw, match="1000000 devices"):
        draw_svg(MeshGraph((mesh(0, (1000, 1000)),)))


@pytest.mark.parametrize("count", [24, 25])
def test_the_title_of_a_bundle_lists_two_dozen_links(count: int) -> None:
    links = tuple(InterLink(0, 1, 1, "STRICT", a_device=each, b_device=each) for each in range(count))
    root = ElementTree.fromstring(draw_svg(MeshGraph((mesh(0, (5, 5)), mesh(1, (5, 5))), links), title="two"))
    titles = [
        title.text or "" for path in with_class(root, "path", "far") for title in path.iter(f"{SVG}title")
    ]
    assert [re.findall(r"and (-?\d+) more", title) for title in titles] == [[] if count == 24 else ["1"]]
