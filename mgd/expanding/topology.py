"""Edge ports and fabric types: where links between meshes can leave one (reference library 0.81.1)."""

from __future__ import annotations

from collections.abc import Iterator

from mgd.graph import Mesh
from mgd.lean import dataclass


@dataclass(frozen=True, slots=True)
class EdgePort:
    """One channel that leaves a mesh: direction "N", "E", "S", "W" or "Z", its number along that edge, and its device."""

    direction: str
    number: int
    device: int


def fabric_type(mesh: Mesh) -> str:
    """MESH, TORUS_Y (dimension 0 is a ring), TORUS_X (dimension 1) or TORUS_XY, as declared."""
    rings = ("Y" * (mesh.dim_types[0] == "RING"), "X" * (mesh.dim_types[1] == "RING"))
    return {("", ""): "MESH", ("Y", ""): "TORUS_Y", ("", "X"): "TORUS_X"}.get(rings, "TORUS_XY")


def edge_devices(mesh: Mesh, direction: str) -> range:
    """The devices of an edge in port order: N and S west to east, E and W north to south, Z all by id.

    Empty for an edge that a real ring has closed.
    """
    rows, columns = mesh.dims
    if direction == "Z":
        return range(rows * columns)
    if mesh.wraps(0 if direction in "NS" else 1):
        return range(0)
    if direction == "N":
        return range(columns)
    if direction == "S":
        return range((rows - 1) * columns, rows * columns)
    return range(columns - 1 if direction == "E" else 0, rows * columns, columns)


def edge_ports(mesh: Mesh, direction: str) -> Iterator[EdgePort]:
    """The ports of an edge: as many per device as the mesh has channels, numbered from 0 along the edge."""
    for index, device in enumerate(edge_devices(mesh, direction)):
        for channel in range(mesh.channels):
            yield EdgePort(direction, index * mesh.channels + channel, device)


def port_count(mesh: Mesh, directions: str = "NESW") -> int:
    """How many ports those edges have together."""
    return mesh.channels * sum(len(edge_devices(mesh, each)) for each in directions)


def device_ports(mesh: Mesh, device: int) -> int:
    """How many ports one device has on all edges, its Z ports included."""
    rows, columns = mesh.dims
    row, column = divmod(device, columns)
    edges = 1
    if not mesh.wraps(0):
        edges += (row == 0) + (row == rows - 1)
    if not mesh.wraps(1):
        edges += (column == 0) + (column == columns - 1)
    return mesh.channels * edges


def port_name(port: EdgePort) -> str:
    """The letter and number that MGD 1.0 writes."""
    return f"{port.direction}{port.number}"
