"""Rows, places and ways of graphs of every shape, point by point, as they were when their pictures were last looked at: `ways.txt`."""

from __future__ import annotations

from pathlib import Path

import pytest

from mgd.drawing.arrangement import arranged
from mgd.drawing.routing import Placed, Router, Way
from mgd.drawing.scene import scene_of
from mgd.expanding.connections import InterLink
from mgd.graph import Mesh, MeshGraph
from tests.mgd.drawing.test_scene import every_pair, ring, torus
from tests.words import same_as_read

Pair = tuple[int, int]
SIZES = ((60.0, 100.0), (100.0, 100.0), (250.0, 99.0), (400.0, 60.0))


def chain(count: int) -> list[Pair]:
    return [(each, each + 1) for each in range(count - 1)]


def star(hub: int, count: int) -> list[Pair]:
    return [(min(hub, each), max(hub, each)) for each in range(count) if each != hub]


SHAPES: dict[str, tuple[int, list[Pair]]] = {
    "one": (1, []),
    "one with itself": (1, [(0, 0)]),
    "two": (2, []),
    "two linked": (2, [(0, 1)]),
    "three": (3, []),
    "three, two of them linked": (3, [(0, 2)]),
    "every pair of three": (3, every_pair(3)),
    "every pair of four": (4, every_pair(4)),
    "every pair of five": (5, every_pair(5)),
    **{f"a chain of {count}": (count, chain(count)) for count in (3, 4, 7, 10)},
    "a chain that begins in the middle": (5, [(0, 3), (1, 3), (1, 4), (2, 4)]),
    **{f"a ring of {count}": (count, ring(count)) for count in (4, 5, 6, 7, 8, 12)},
    "two rings": (6, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]),
    "a chain with a loop": (4, [*chain(4), (2, 2)]),
    **{f"a star of {count}": (count, star(1, count)) for count in (4, 9, 10)},
    "nearly a star": (5, [*star(0, 5)[:-1], (3, 4)]),
    **{f"a torus of {rows} x {columns}": (rows * columns, torus(rows, columns)) for rows, columns in ((3, 3), (2, 4), (3, 4))},
    "a grid of 2 x 3": (6, [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)]),
    "a grid and a link across": (6, [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5), (0, 4)]),
    "nine, some of them linked": (9, [(0, 8), (0, 4), (1, 7), (2, 6), (3, 5), (2, 3), (0, 2), (6, 8), (1, 4)]),
    "nine, and twins": (9, [(0, 1), (0, 1), (4, 8), (4, 8), (3, 6), (3, 6), (3, 6), (0, 3), (7, 7)]),
}  # fmt: skip


def test_rows_of_every_shape() -> None:
    lines = []
    for name, (count, pairs) in SHAPES.items():
        for size in SIZES:
            found = arranged(count, pairs, size)
            rows = " / ".join(" ".join(map(str, row)) for row in found.rows)
            lines.append(f"{name}, {size[0]:.0f} x {size[1]:.0f}: {rows}{' on a rail' * found.is_bus}")
    same_as_read("\n".join(lines) + "\n", Path(__file__).with_name("rows.txt"))


def _points(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:.5g},{y:.5g}" for x, y in points)


@pytest.mark.parametrize("is_even", [True, False])
def test_ways_of_every_shape(is_even: bool) -> None:
    lines = []
    for name, (count, pairs) in SHAPES.items():
        sizes = [
            (100.0, 80.0) if is_even else (60.0 + 17 * (i % 4), 50.0 + 13 * (i % 3)) for i in range(count)
        ]
        rows = arranged(count, pairs, sizes[-1]).rows
        boxes = [Placed(*size) for size in sizes]
        ways = [Way(a, b, "4 ch" if (a + b) % 3 else "12 channels each") for a, b in pairs]
        width, height = Router(boxes, rows, ways).run()
        lines += [f"{name}: {width:.5g} x {height:.5g}", f"  at {_points([(box.x, box.y) for box in boxes])}"]
        lines += [
            f"  {way.first}-{way.last} {way.straight or way.side}: {_points(way.points)}, label at {_points([way.label_at])}"
            for way in ways
        ]
    same_as_read(
        "\n".join(lines) + "\n", Path(__file__).with_name(f"ways-{'even' if is_even else 'odd'}.txt")
    )


def test_rails_and_panels() -> None:
    lines = []
    for count, channels in ((4, 1), (5, 2), (7, 1), (12, 3)):
        meshes = tuple(
            Mesh(i, f"M{i % 2}", "BLACKHOLE", (1 + i % 2, 2), (1, 1), ("LINE", "RING"), 1, "STRICT")
            for i in range(count)
        )
        links = tuple(InterLink(a, b, channels + (b == 6), "RELAXED") for a, b in every_pair(count))
        for rails in (True, False):
            scene = scene_of(MeshGraph(meshes, links), rails=rails)
            lines.append(f"{count} meshes{' on rails' * rails}: {scene.width:.5g} x {scene.height:.5g}")
            lines.append(f"  panels {_points([(each.x, each.y) for each in scene.panels])}")
            for line in scene.lines[:4]:
                strokes = "; ".join(_points(list(stroke)) for stroke in line.strokes)
                lines.append(
                    f"  {line.label} at {_points([line.label_at])}{'|' * line.label_starts}: {strokes}"
                )
    same_as_read("\n".join(lines) + "\n", Path(__file__).with_name("rails.txt"))
