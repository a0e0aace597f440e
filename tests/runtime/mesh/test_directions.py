"""Which way the fabric sends: as the reference answers on a mock cluster of eight chips in two rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tt_run.runtime.mesh import directions
from tt_run.runtime.mesh.directions import (
    RoutingDirection,
    get_chip_neighbors,
    get_eth_forwarding_direction,
    get_forwarding_direction,
    get_forwarding_link_indices,
)
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.mesh.system import system_mesh
from tt_run.runtime.mesh.view import FabricNodeId, MeshId


def node(chip: int, mesh: int = 0) -> FabricNodeId:
    return FabricNodeId(MeshId(mesh), chip)


@pytest.mark.parametrize(
    ("chip", "directions"),
    [(0, [None, 0, 0, 0, 3, 3, 3, 3]), (5, [2, 2, 2, 2, 1, None, 0, 0])],
)
def test_the_column_comes_first(chip: int, directions: list[int | None]) -> None:
    assert tuple(system_mesh().shape) == (2, 4)
    assert [get_eth_forwarding_direction(node(chip), node(other)) for other in range(8)] == directions


@pytest.mark.parametrize("other", [node(8), node(0, mesh=3)])
def test_devices_that_are_not_there(other: FabricNodeId) -> None:
    with pytest.raises(RuntimeError, match="no device of mesh 0, whose devices are D0 to D7"):
        get_eth_forwarding_direction(node(0), other)


def test_other_arguments() -> None:
    with pytest.raises(TypeError, match="src_fabric_node_id"):
        get_eth_forwarding_direction(0, 1)  # type: ignore[arg-type]


def test_rings_go_the_shorter_way(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = replace(system_mesh(), shape=MeshShape(8, 4), wraps=(True, True), channels=4)
    monkeypatch.setattr(directions, "system_mesh", lambda: ring)
    found = [get_eth_forwarding_direction(node(13), node(other)) for other in range(32)]
    assert found == [2] * 12 + [1, None, 0, 0] + [3] * 12 + [2] * 4
    assert [get_eth_forwarding_direction(node(0), node(other)) for other in range(4)] == [None, 0, 0, 1]
    neighbours = {way.name: get_chip_neighbors(node(0), way) for way in RoutingDirection}
    assert neighbours == {
        "N": {0: [28] * 4},
        "E": {0: [1] * 4},
        "S": {0: [4] * 4},
        "W": {0: [3] * 4},
        "Z": {},
        "C": {},
        "NONE": {},
    }


def test_words_and_links(monkeypatch: pytest.MonkeyPatch) -> None:
    board = replace(system_mesh(), channels=2)
    monkeypatch.setattr(directions, "system_mesh", lambda: board)
    assert get_forwarding_direction(node(0), node(3)) is RoutingDirection.E
    assert get_forwarding_direction(node(0), node(0)) is None
    assert get_forwarding_link_indices(node(0), node(5)) == [0, 1]
    assert get_forwarding_link_indices(node(0), node(0)) == []
    assert get_chip_neighbors(node(5), RoutingDirection.W) == {0: [4, 4]}
    assert get_chip_neighbors(node(5), RoutingDirection.S) == {}
