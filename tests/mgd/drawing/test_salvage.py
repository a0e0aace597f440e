"""What is wrong in a descriptor that is drawn all the same, found where it is written."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from mgd.checking import check
from mgd.drawing.hierarchy import _meeting
from mgd.drawing.salvage import _offset, drawable
from mgd.errors import RejectedError
from mgd.reading import loads
from mgd.v1.reading import loads as loads_v1
from tests.mgd.fixtures import TOP, fabric, link, mesh


def test_a_place_is_the_character_that_stands_there() -> None:
    text = mesh() + fabric(2, link("0", "7") + link("1", "1"))
    descriptor = loads(text, file="f")
    found = [each for each in check(descriptor) if each.position and each.position.line]
    assert found
    lines = text.split("\n")
    for each in found:
        assert each.position
        at = _offset(descriptor, each)
        before = [*lines[: each.position.line - 1], lines[each.position.line - 1][: each.position.column - 1]]
        assert text[:at] == "\n".join(before)


@pytest.mark.parametrize(
    ("dims", "hosts", "drawn"),
    [
        ("2, 4", "1, 3", ((2, 4), (1, 1))),
        ("2, 4", "4, 1", ((2, 4), (1, 1))),
        ("2, 4", "2, 2", ((2, 4), (2, 2))),
        ("6, 4", "3, 2", ((6, 4), (3, 2))),
        ("4, 6", "3, 2", ((4, 6), (1, 1))),
        ("4, 6", "2, 0", ((4, 6), (1, 1))),
        ("4, 6", "2", ((4, 6), (1, 1))),
        ("256, 256", "1, 1", ((256, 256), (1, 1))),
        ("2, 32768", "1, 1", ((2, 32768), (1, 1))),
        ("256, 257", "1, 1", None),
        ("257, 256", "1, 1", None),
        ("0, 4", "1, 1", None),
        ("4", "1, 1", None),
        ("2, 2, 2", "1, 1", None),
    ],
)
def test_what_is_drawn_of_a_mesh_with_a_mistake(
    dims: str, hosts: str, drawn: tuple[tuple[int, int], tuple[int, int]] | None
) -> None:
    descriptor = loads(mesh(dims, hosts=hosts) + mesh("1, 1", name="M0") + TOP, file="f")
    if drawn is None:
        broken = loads(mesh(dims, hosts=hosts).replace("count: 2", "count: 0") + TOP)
        with pytest.raises(RejectedError):
            drawable(broken)
    else:
        graph, _, accepted = drawable(descriptor)
        assert not accepted and (graph.meshes[0].dims, graph.meshes[0].host_dims) == drawn


@pytest.mark.parametrize(
    ("first", "second", "owner", "ends"),
    [
        ("a", "b", "", (0, 1)),
        ("a/x", "a/y", "a", (0, 1)),
        ("a/y", "a/x", "a", (1, 0)),
        ("a/x", "b/x", "", (0, 1)),
        # An end inside of the other one, or the same, stays in one box.
        ("a", "a/y", "", (0, 0)),
        ("b/x", "b", "", (1, 1)),
        ("a/y", "a/y", "a", (1, 1)),
    ],
)
def test_which_box_holds_a_link(first: str, second: str, owner: str, ends: tuple[int, int]) -> None:
    def way(text: str) -> tuple[tuple[str, int], ...]:
        return (("G", 0), *((name, 0) for name in text.split("/") if name))

    def box(text: str, *inside: str) -> SimpleNamespace:
        return SimpleNamespace(path=way(text), items=[SimpleNamespace(path=way(each)) for each in inside])

    boxes = {each.path: each for each in (box("", "a", "b"), box("a", "a/x", "a/y"), box("b", "b/x", "b/y"))}
    found, *numbers = _meeting(boxes[way("")], boxes, way(first), way(second))  # type: ignore[arg-type]
    assert (found.path, tuple(numbers)) == (way(owner), ends)


def test_what_has_no_place_is_nowhere() -> None:
    descriptor = loads(mesh() + fabric(2, link("0", "7")), file="f")
    [first, *_] = check(descriptor)
    assert _offset(descriptor, replace(first, labels=())) < 0


def test_what_has_no_text_of_its_own_is_drawn_without_places() -> None:
    """A descriptor in memory, and MGD 1.0, whose YAML is not looked through for mistakes."""
    text = mesh("3, 3") + TOP
    graph, marks, accepted = drawable(replace(loads(text, file="f"), source=None))
    assert ([each.dims for each in graph.meshes], marks.hosts, accepted) == ([(3, 3)], frozenset(), False)
    assert drawable(loads(text, file="f"))[1].hosts == {(0, 0)}
    first_format = """ChipSpec: {arch: wormhole_b0, ethernet_ports: {N: 2, E: 2, S: 2, W: 2}}
Board: [{name: B, type: Mesh, topology: [3, 3]}]
Mesh: [{id: 0, board: B, device_topology: [3, 3], host_topology: [1, 1]}]
Graph: []
"""
    graph, marks, accepted = drawable(loads_v1(first_format, file="f.yaml"))
    assert ([each.dims for each in graph.meshes], marks.hosts, accepted) == ([(3, 3)], frozenset(), False)
    assert [note.partition(" ")[0] for note in marks.notes] == ["MGD025"]
