"""Whole pages of odd graphs, sign by sign, as they were when a person last looked at them: `pages.txt`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mgd.drawing.marks import Marks
from mgd.drawing.text import draw
from mgd.expanding.connections import InterLink
from mgd.graph import Link, Mesh, MeshGraph
from tests.words import same_as_read

LINE, RING = ("LINE", "LINE"), ("RING", "RING")


def mesh(
    dims: tuple[int, int],
    hosts: tuple[int, int] = (1, 1),
    types: tuple[str, str] = LINE,
    mesh_id: int = 0,
    path: tuple[tuple[str, int], ...] = (),
    **more: Any,
) -> Mesh:
    return Mesh(mesh_id, "M0", "BLACKHOLE", dims, hosts, types, 1, "STRICT", path, **more)


def several(count: int, dims: tuple[int, int] = (1, 2), **more: Any) -> tuple[Mesh, ...]:
    return tuple(mesh(dims, mesh_id=i, **more) for i in range(count))


def linked(count: int, *pairs: tuple[int, int, int], **more: Any) -> MeshGraph:
    return MeshGraph(
        several(count), tuple(InterLink(a, b, channels, "RELAXED", **more) for a, b, channels in pairs)
    )


NESTED = tuple(
    mesh((1, 2), mesh_id=i, path=(("C", 0), ("P", pod), ("Q", 7))) for pod in range(2) for i in range(2)
)
PAGES: dict[str, tuple[MeshGraph, dict[str, Any]]] = {
    "one device": (MeshGraph((mesh((1, 1)),)), {}),
    "one device in rings": (MeshGraph((mesh((1, 1), types=RING),)), {}),
    "rings of two": (MeshGraph((mesh((2, 2), types=RING),)), {}),
    "rings of three over three hosts": (MeshGraph((mesh((3, 3), (3, 1), RING),)), {}),
    "numbers of three digits in rings": (MeshGraph((mesh((10, 11), types=RING),)), {}),
    "hosts in both directions": (MeshGraph((mesh((4, 6), (2, 3)),)), {}),
    "narrow gaps": (MeshGraph((mesh((2, 12), (1, 4)),)), {"width": 76}),
    "no gaps, four hosts": (MeshGraph((mesh((2, 12), (1, 4)),)), {"width": 60}),
    "short labels": (MeshGraph((mesh((2, 12), (2, 4)),)), {"width": 56}),
    "no gaps": (MeshGraph((mesh((2, 12), (1, 2), ("LINE", "RING")),)), {"width": 40}),
    "without the middle": (MeshGraph((mesh((2, 12), (1, 2)),)), {"width": 24}),
    "without the middle of hosts": (MeshGraph((mesh((1, 30), (1, 10)),)), {"width": 40}),
    "rows without lines": (MeshGraph((mesh((17, 1), types=("RING", "LINE")),)), {}),
    "rows with lines": (MeshGraph((mesh((16, 1), (2, 1)),)), {}),
    "rows left out": (MeshGraph((mesh((66, 1), (3, 1), ("RING", "LINE")),)), {}),
    "a switch": (MeshGraph((mesh((2, 2), is_switch=True),)), {}),
    "a narrow switch": (MeshGraph((mesh((1, 4), is_switch=True),)), {"width": 20}),
    "express links": (MeshGraph((mesh((1, 4), express=(Link(0, 3, "Z", 1), Link(1, 3, "Z", 1))),)), {}),
    "everything is broken": (
        MeshGraph((mesh((2, 3), (1, 3), RING),)),
        {
            "marks": Marks(
                frozenset({(0, 0), (0, 4)}),
                frozenset({(0, 0, 1), (0, 1, 4), (0, 3, 5), (0, 2, 5)}),
                frozenset({(0, 2)}),
                labels={(0, 1): "host-b"},
                notes=("n1", "n2"),
            )
        },
    ),
    "broken links at no gap": (
        MeshGraph((mesh((1, 14), types=("LINE", "RING")),)),
        {"width": 50, "marks": Marks(devices=frozenset({(0, 3)}), edges=frozenset({(0, 5, 6), (0, 0, 13)}))},
    ),
    "paths of nested graphs": (MeshGraph(NESTED), {}),
    "two that differ": (MeshGraph((mesh((1, 2)), mesh((1, 2), types=RING, mesh_id=1), mesh((1, 2), mesh_id=2))), {}),
    "alike on two shelves": (MeshGraph(several(3, (2, 4))), {"width": 60}),
    "alike, more than a screen": (MeshGraph(several(5, (20, 9))), {"width": 100}),
    "alike, all": (MeshGraph(several(3, (20, 1))), {"width": 20, "every": True}),
    "one of those alike is broken": (
        MeshGraph(several(4)), {"marks": Marks(devices=frozenset({(1, 1)}), hosts=frozenset({(3, 0)}))}
    ),
    "a chain": (linked(4, (0, 1, 2), (1, 2, 2), (2, 3, 2)), {}),
    "a chain of other counts": (linked(4, (2, 1, 1), (1, 0, 2), (2, 3, 12)), {}),
    "a ring": (linked(4, (0, 1, 2), (1, 2, 2), (2, 3, 2), (0, 3, 2)), {}),
    "a ring of other counts": (linked(3, (0, 1, 2), (1, 2, 3), (0, 2, 2)), {}),
    "a star": (linked(4, (1, 0, 1), (1, 2, 1), (1, 3, 1)), {}),
    "every pair of some": (linked(4, (0, 1, 1), (0, 2, 1), (1, 2, 1)), {}),
    "every pair of four of five": (linked(5, *((a, b, 1) for a in range(4) for b in range(a))), {}),
    "every pair of all": (linked(4, *((a, b, 1) for a in range(4) for b in range(a))), {}),
    "every pair, one of them broken": (
        linked(4, *((a, b, 1) for a in range(4) for b in range(a))), {"marks": Marks(links=frozenset({("1", "3")}))}
    ),
    "in the Z direction": (linked(3, (0, 1, 1), (1, 2, 1), z_direction=True), {"width": 20}),
    "between devices": (linked(2, (0, 1, 4), (1, 0, 2), a_device=0, b_device=1), {}),
    "broken links between meshes": (
        linked(3, (0, 1, 2), (1, 2, 2), (0, 2, 2)), {"marks": Marks(links=frozenset({("0", "2")}))}
    ),
    "a long chain": (linked(12, *((i, i + 1, 1) for i in range(11))), {"width": 40}),
}  # fmt: skip


def test_whole_pages() -> None:
    lines = []
    for name, (graph, words) in PAGES.items():
        page = draw(graph, **words)
        drawn = [line for line in page.splitlines() if line[:1] in "╭│╰"]
        assert max(map(len, drawn)) <= words.get("width", 100), name
        lines += [f"=== {name}", page]
    same_as_read("\n".join(lines), Path(__file__).with_name("pages.txt"))
