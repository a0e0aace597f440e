"""Edge ports and fabric types (reference library 0.81.1)."""

from __future__ import annotations

import pytest

from mgd.expanding.topology import device_ports, edge_devices, edge_ports, fabric_type, port_count, port_name
from mgd.graph import Mesh


def mesh(dims: tuple[int, int], types: tuple[str, str] = ("LINE", "LINE"), channels: int = 2) -> Mesh:
    return Mesh(0, "M0", "BLACKHOLE", dims, (1, 1), types, channels, "RELAXED")


def test_ports_are_numbered_along_each_edge() -> None:
    grid = mesh((2, 3))
    assert [(port_name(port), port.device) for port in edge_ports(grid, "N")] == [
        ("N0", 0), ("N1", 0), ("N2", 1), ("N3", 1), ("N4", 2), ("N5", 2),
    ]  # fmt: skip
    assert list(edge_devices(grid, "S")) == [3, 4, 5]
    assert list(edge_devices(grid, "E")) == [2, 5]
    assert list(edge_devices(grid, "W")) == [0, 3]
    assert list(edge_devices(grid, "Z")) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("dims", "types", "name", "ports"),
    [
        ((4, 4), ("LINE", "LINE"), "MESH", 32),
        ((4, 4), ("RING", "LINE"), "TORUS_Y", 16),
        ((4, 4), ("LINE", "RING"), "TORUS_X", 16),
        ((4, 4), ("RING", "RING"), "TORUS_XY", 0),
        ((2, 4), ("RING", "RING"), "TORUS_XY", 16),
    ],
)
def test_rings_close_edges(dims: tuple[int, int], types: tuple[str, str], name: str, ports: int) -> None:
    grid = mesh(dims, types)
    assert fabric_type(grid) == name
    assert port_count(grid) == ports == sum(1 for side in "NESW" for _ in edge_ports(grid, side))


@pytest.mark.parametrize("dims", [(1, 1), (1, 4), (3, 2), (4, 4)])
@pytest.mark.parametrize("types", [("LINE", "LINE"), ("RING", "LINE"), ("RING", "RING")])
def test_ports_of_a_device_are_its_share(dims: tuple[int, int], types: tuple[str, str]) -> None:
    grid = mesh(dims, types, channels=3)
    for device in range(grid.device_count):
        assert device_ports(grid, device) == sum(
            port.device == device for side in "NESWZ" for port in edge_ports(grid, side)
        )
