"""Which way the fabric sends: as the reference answers on a mock cluster of eight chips in two rows."""

from __future__ import annotations

import pytest

from tt_run.runtime.mesh.directions import get_eth_forwarding_direction
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
