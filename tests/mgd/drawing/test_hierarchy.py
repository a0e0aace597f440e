"""Boxes in boxes: what holds what, and between which of its items a connection is drawn."""

from __future__ import annotations

import pytest

from mgd.drawing.hierarchy import hierarchy
from mgd.drawing.relations import _name
from mgd.expanding.connections import ConnectionEnd
from tests.mgd.test_expansion import NESTED, graph_of

TURNED = NESTED.replace("graph_id: 4\n", "graph_id: #\n").replace("graph_id: 2\n", "graph_id: 4\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (NESTED, "mesh 1 of POD 4 device 3 to mesh 0 of POD 2"),
        (TURNED.replace("#", "2"), "mesh 1 of POD 2 device 3 to mesh 0 of POD 4"),
    ],
)
def test_a_connection_of_nested_meshes_is_drawn_between_their_pods(text: str, words: str) -> None:
    root = hierarchy(graph_of(text))
    assert [item.name for item in root.items] == ["POD 4", "POD 2"]
    (bundle,) = root.bundles
    assert (bundle.first, bundle.last) == (0, 1)
    assert bundle.joints[0].words.startswith(words)


@pytest.mark.parametrize(
    ("path", "device", "is_graph", "by_id", "name"),
    [
        ((("T", 0), ("M", 5)), None, False, True, "5"),
        ((("T", 0), ("M", 5)), 3, False, True, "5:D3"),
        ((("T", 0), ("P", 1), ("M", 5)), 3, False, True, "5:D3"),
        ((("T", 0), ("P", 1), ("M", 5)), 3, False, False, "P(1)/5:D3"),
        ((("T", 0), ("P", 1), ("Q", 2), ("M", 5)), None, False, False, "P(1)/Q(2)/5"),
        ((("T", 0), ("P", 1)), None, True, True, "P(1)"),
        ((("T", 0), ("P", 1), ("Q", 2)), None, True, False, "P(1)/Q(2)"),
    ],
)
def test_how_an_end_is_named(
    path: tuple[tuple[str, int], ...], device: int | None, is_graph: bool, by_id: bool, name: str
) -> None:
    assert _name(ConnectionEnd(path, device, is_graph), by_id) == name
