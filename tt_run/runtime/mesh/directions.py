"""Which way the fabric sends what goes from one device to another. Source: reference library 0.81.1 on its mock clusters."""

from __future__ import annotations

from tt_run.runtime.enums import NamedEnum
from tt_run.runtime.errors import fatal, incompatible
from tt_run.runtime.mesh.system import system_mesh
from tt_run.runtime.mesh.view import FabricNodeId
from tt_run.runtime.native.classes import native

_NODE = "ttnn._ttnn.fabric.FabricNodeId"
_BETWEEN = f"(src_fabric_node_id: {_NODE}, dst_fabric_node_id: {_NODE})"
_DIRECTION = "ttnn._ttnn.multi_device.experimental.RoutingDirection"


@native("ttnn._ttnn.multi_device.experimental.RoutingDirection")
class RoutingDirection(NamedEnum):
    """North and south along dimension 0 of a mesh, east and west along dimension 1; Z leaves the mesh, C stays."""

    N = 0
    E = 1
    S = 2
    W = 3
    Z = 4
    C = 5
    NONE = 6


_RAW = {RoutingDirection.E: 0, RoutingDirection.W: 1, RoutingDirection.N: 2, RoutingDirection.S: 3}
_STEPS = {
    RoutingDirection.N: (-1, 0),
    RoutingDirection.S: (1, 0),
    RoutingDirection.W: (0, -1),
    RoutingDirection.E: (0, 1),
}


def get_eth_forwarding_direction(
    src_fabric_node_id: FabricNodeId, dst_fabric_node_id: FabricNodeId
) -> int | None:
    """The direction of the first hop: 0 east, 1 west, 2 north, 3 south; None from a device to itself."""
    _check(
        "get_eth_forwarding_direction", f"{_BETWEEN} -> int | None", src_fabric_node_id, dst_fabric_node_id
    )
    direction = _towards(src_fabric_node_id, dst_fabric_node_id)
    return None if direction is None else _RAW[direction]


def get_forwarding_direction(src: FabricNodeId, dst: FabricNodeId) -> RoutingDirection | None:
    """The same as a word."""
    signature = f"(src: {_NODE}, dst: {_NODE}) -> {_DIRECTION} | None"
    _check("get_forwarding_direction", signature, src, dst)
    return _towards(src, dst)


def get_forwarding_link_indices(
    src_fabric_node_id: FabricNodeId, dst_fabric_node_id: FabricNodeId
) -> list[int]:
    """The links that lead from a device towards another, by their numbers."""
    _check("get_forwarding_link_indices", f"{_BETWEEN} -> list[int]", src_fabric_node_id, dst_fabric_node_id)
    there = _towards(src_fabric_node_id, dst_fabric_node_id) is not None
    return list(range(max(system_mesh().channels, 1))) if there else []


def get_chip_neighbors(src: FabricNodeId, direction: RoutingDirection) -> dict[int, list[int]]:
    """The device at the other end of the links in a direction, once for each of them, by the number of its mesh."""
    signature = f"(src: {_NODE}, direction: {_DIRECTION}) -> dict[int, list[int]]"
    if not isinstance(src, FabricNodeId) or not isinstance(direction, RoutingDirection):
        raise incompatible("get_chip_neighbors", (f"get_chip_neighbors{signature}",), (src, direction))
    system = system_mesh()
    here = _place(src)
    if direction not in _STEPS:
        return {}
    there = []
    for at, step, extent, wraps in zip(here, _STEPS[direction], system.shape, system.wraps, strict=True):
        if not 0 <= at + step < extent and not wraps:
            return {}
        there.append((at + step) % extent)
    return {system.mesh_id: [there[0] * system.shape[1] + there[1]] * max(system.channels, 1)}


def _towards(source: FabricNodeId, target: FabricNodeId) -> RoutingDirection | None:
    """Along the column first, then along the row; on a ring the shorter way, of two as long ones to the north or east."""
    (row, column), (row_there, column_there) = _place(source), _place(target)
    system = system_mesh()
    if row != row_there:
        south = (row_there - row) % system.shape[0]
        down = 2 * south < system.shape[0] if system.wraps[0] else row_there > row
        return RoutingDirection.S if down else RoutingDirection.N
    if column != column_there:
        east = (column_there - column) % system.shape[1]
        right = 2 * east <= system.shape[1] if system.wraps[1] else column_there > column
        return RoutingDirection.E if right else RoutingDirection.W
    return None


def _check(name: str, signature: str, *nodes: object) -> None:
    if not all(isinstance(node, FabricNodeId) for node in nodes):
        raise incompatible(name, (name + signature,), nodes)


def _place(node: FabricNodeId) -> tuple[int, int]:
    system = system_mesh()
    rows, columns = system.shape
    if int(node.mesh_id) != system.mesh_id or not 0 <= node.chip_id < rows * columns:
        raise fatal(
            f"{node} is no device of mesh {system.mesh_id}, whose devices are D0 to D{rows * columns - 1}",
            hint="directions are known inside of one mesh: links between meshes have none here",
        )
    return divmod(node.chip_id, columns)
