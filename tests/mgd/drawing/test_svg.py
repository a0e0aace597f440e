"""The SVG: well formed, complete, the same bytes every time."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

import mgd
from mgd.connections import InterLink
from mgd.drawing.marks import Marks
from mgd.drawing.svg import TooLargeToDraw, draw_svg
from mgd.graph import Mesh, MeshGraph
from mgd.systems import System, systems

SVG = "{http://www.w3.org/2000/svg}"


def mesh(mesh_id: int, dims: tuple[int, int] = (2, 4), hosts: tuple[int, int] = (1, 1)) -> Mesh:
    return Mesh(mesh_id, 'M"0<&>', "WORMHOLE_B0", dims, hosts, ("LINE", "RING"), 2, "RELAXED")


def with_class(svg: str, tag: str, name: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(svg)
    return [each for each in root.iter(f"{SVG}{tag}") if name in each.get("class", "").split()]


@pytest.mark.parametrize("system", systems(), ids=[system.name for system in systems()])
def test_every_system_has_a_picture_with_all_devices_hosts_and_links(system: System) -> None:
    graph = mgd.expand(mgd.load(system.path))
    svg = draw_svg(graph, title=system.name)
    assert svg == draw_svg(graph, title=system.name)
    assert len(with_class(svg, "rect", "device")) == graph.device_count
    assert len(with_class(svg, "rect", "host")) == sum(each.host_count for each in graph.meshes)
    between = [each for each in graph.connections if not any(node.is_graph for node in each.nodes)]
    assert len(with_class(svg, "path", "far")) == len(between) + sum(
        len(each.express) for each in graph.meshes
    )


def test_everything_lies_on_the_page() -> None:
    graph = MeshGraph(tuple(mesh(i, (8, 4), (2, 2)) for i in range(9)))
    root = ElementTree.fromstring(draw_svg(graph))
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for each in root.iter(f"{SVG}rect"):
        x, y = float(each.get("x", 0)), float(each.get("y", 0))
        assert x >= 0 and x + float(each.get("width", 0)) <= width
        assert y >= 0 and y + float(each.get("height", 0)) <= height


def test_device_links_end_at_their_devices() -> None:
    graph = MeshGraph((mesh(0), mesh(1)), (InterLink(0, 1, 3, "STRICT", 3, 4),))
    (path,) = with_class(draw_svg(graph), "path", "far")
    assert path.find(f"{SVG}title") is not None
    title = path.findtext(f"{SVG}title")
    assert title == "mesh 0 device 3 to mesh 1 device 4: 3 channels STRICT"


def test_marks_are_crosses_and_notes_are_escaped() -> None:
    marks = Marks(frozenset({(0, 1)}), frozenset({(0, 1, 2)}), frozenset({(0, 0)}), notes=("a < b & c",))
    svg = draw_svg(MeshGraph((mesh(0),)), title="<&>", marks=marks)
    root = ElementTree.fromstring(svg)
    texts = ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]
    assert "1✗" in texts and "✗" in texts and "✗ rank 0" in texts and "✗ a < b & c" in texts


def test_too_many_devices_are_refused() -> None:
    with pytest.raises(TooLargeToDraw, match="1000000 devices"):
        draw_svg(MeshGraph((mesh(0, (1000, 1000)),)))
