"""How many links and which topology collectives may use on a mesh, for programs that choose by themselves. Source: reference library 0.81.1."""

from __future__ import annotations

import os

from tt_run.runtime.ccl.exchange import fabric
from tt_run.runtime.comm.world import world
from tt_run.runtime.enums import FabricConfig, Topology
from tt_run.runtime.errors import fatal, put_on_device
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.system import described_meshes
from tt_run.runtime.mesh.view import MeshId
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.tuning.choices import FabricType

_OF_FABRIC = {
    FabricConfig.FABRIC_1D_RING: Topology.Ring,
    FabricConfig.FABRIC_2D: Topology.Mesh,
    FabricConfig.FABRIC_2D_TORUS_X: Topology.Torus,
    FabricConfig.FABRIC_2D_TORUS_Y: Topology.Torus,
    FabricConfig.FABRIC_2D_TORUS_XY: Topology.Torus,
}
_OPEN = {Topology.Ring: Topology.Linear, Topology.Torus: Topology.Mesh}


def get_num_links(mesh_device: MeshDevice, cluster_axis: int | None = None) -> int:
    """The channels of a link between neighbours as the descriptor has them; 1 without one. Raises RuntimeError for another axis."""
    _check_axis(cluster_axis)
    return max(mesh_device.system.channels, 1)


def get_all_fabric_mesh_ids() -> list[MeshId]:
    """The ids of all meshes of the descriptor that ranks can host, also of those that other ranks do."""
    return [MeshId(number) for number in described_meshes(os.environ, world())]


def get_all_mgd_fabric_types() -> list[FabricType]:
    """For each of those meshes, along which of its axes it closes to rings."""
    return [FabricType[word] for word in described_meshes(os.environ, world()).values()]


def get_usable_topology(
    tensor: Tensor, topology: Topology | None = None, cluster_axis: int | None = None
) -> Topology:
    """The topology asked for, or the fabric's; a ring only where the devices of the mesh close to one along the axis.

    A mesh of one row or column that holds all devices of its system is a ring through them. Raises RuntimeError for a tensor on the host.
    """
    _check_axis(cluster_axis)
    device = tensor.device()
    if device is None:
        raise fatal(
            "get_usable_topology needs a tensor on a device",
            "tensor.device() != nullptr",
            hint=put_on_device("tensor"),
        )
    wanted = topology or _OF_FABRIC.get(fabric.get_fabric_config(), Topology.Linear)
    return wanted if wanted not in _OPEN or _closes(device, cluster_axis) else _OPEN[wanted]


def _closes(device: MeshDevice, axis: int | None) -> bool:
    system, shape = device.system, tuple(device.shape)
    if len(device.positions) == len(system.ids) and 1 in shape and (axis is None or shape[axis] > 1):
        return 1 not in tuple(system.shape) or any(system.wraps)
    axes = (0, 1) if axis is None else (axis,)
    return all(system.wraps[a] and shape[a] == system.shape[a] for a in axes if shape[a] > 1)


def _check_axis(axis: int | None) -> None:
    if axis not in (None, 0, 1):
        raise fatal(
            f"cluster_axis must be 0, 1 or None, got {axis}",
            hint="cluster_axis=0, 1 or None for the whole mesh",
        )
