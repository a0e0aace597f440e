"""Which way the fabric sends what goes from one device to another. Source: reference library 0.81.1 on its mock clusters."""

from __future__ import annotations

from tt_run.runtime.errors import fatal, incompatible
from tt_run.runtime.mesh.system import system_mesh
from tt_run.runtime.mesh.view import FabricNodeId

_EAST, _WEST, _NORTH, _SOUTH = range(4)
_SIGNATURE = (
    "get_eth_forwarding_direction(src_fabric_node_id: ttnn._ttnn.fabric.FabricNodeId, "
    "dst_fabric_node_id: ttnn._ttnn.fabric.FabricNodeId) -> int | None"
)


def get_eth_forwarding_direction(
    src_fabric_node_id: FabricNodeId, dst_fabric_node_id: FabricNodeId
) -> int | None:
    """The direction of the first hop: 0 east, 1 west, 2 north, 3 south; None from a device to itself.

    Along its column first, then along its row, and never over the link that closes a ring. Raises RuntimeError for a device that is not
    in this rank's system mesh.
    """
    nodes = (src_fabric_node_id, dst_fabric_node_id)
    if not all(isinstance(node, FabricNodeId) for node in nodes):
        raise incompatible("get_eth_forwarding_direction", (_SIGNATURE,), nodes)
    source, target = map(_place, nodes)
    if source[0] != target[0]:
        return _NORTH if target[0] < source[0] else _SOUTH
    if source[1] != target[1]:
        return _WEST if target[1] < source[1] else _EAST
    return None


def _place(node: FabricNodeId) -> tuple[int, int]:
    system = system_mesh()
    rows, columns = system.shape
    if int(node.mesh_id) != system.mesh_id or not 0 <= node.chip_id < rows * columns:
        raise fatal(
            f"{node} is no device of mesh {system.mesh_id}, whose devices are D0 to D{rows * columns - 1}",
            hint="directions are known inside of one mesh: links between meshes have none here",
        )
    return divmod(node.chip_id, columns)
