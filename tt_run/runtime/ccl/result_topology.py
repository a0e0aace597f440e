"""How the result of a collective is spread over the mesh. Source: reference library 0.81.1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt_run.runtime.mesh.shape import MeshShape
from tt_run.runtime.tensor.spec.topology import Placement, PlacementReplicate, PlacementShard, TensorTopology

if TYPE_CHECKING:
    from tt_run.runtime.mesh import MeshDevice


def unchanged(
    topology: TensorTopology, device: MeshDevice, cluster_axis: int | None, dim: int | None
) -> TensorTopology:
    """As the tensor was spread."""
    return topology


def replicated(
    topology: TensorTopology, device: MeshDevice, cluster_axis: int | None, dim: int | None
) -> TensorTopology:
    """After an all-gather, all-reduce or broadcast: the axis of the group holds the same everywhere.

    A distribution that does not follow the axes of the mesh keeps its first placement, as in the reference: along axis 1 the axis is
    added to it, along axis 0 nothing changes.
    """
    shape, placements = topology.distribution_shape(), topology.placements()
    if cluster_axis is None:
        return TensorTopology(shape, [PlacementReplicate()] * len(placements), topology.mesh_coords())
    axis = cluster_axis % device.shape.dims()
    if len(placements) == device.shape.dims():
        placements[axis] = PlacementReplicate()
        return TensorTopology(shape, placements, topology.mesh_coords())
    if axis == 0:
        return topology
    return TensorTopology(device.shape, [*placements[:axis], PlacementReplicate()], device.coords)


def scattered(
    topology: TensorTopology, device: MeshDevice, cluster_axis: int | None, dim: int | None
) -> TensorTopology:
    """After a reduce-scatter or a partition: dimension `dim` is cut over the axis of the group."""
    assert dim is not None
    placements = topology.placements()
    cut = PlacementShard(dim)
    if cluster_axis is None:
        return TensorTopology(MeshShape([len(device.coords)]), [cut], device.coords)
    axis = cluster_axis % device.shape.dims()
    if len(placements) == device.shape.dims():
        placements[axis] = cut
        return TensorTopology(topology.distribution_shape(), placements, topology.mesh_coords())
    both: list[Placement] = [placements[0]] * device.shape.dims()
    both[axis] = cut
    return TensorTopology(device.shape, both, device.coords)
