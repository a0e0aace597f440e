"""Where the shards of a value lie, told by the axes of its mesh: what the backward rules of collectives decide by.

A mapper without an axis lays a tensor over all devices as one line, and its topology has one placement however many axes the mesh
has. Merged with a topology of two, half of what is known would be lost, and a gradient that differs along an axis would count as a copy.
So every value that training meets tells its place by the axes of its mesh, and operands are merged axis by axis:

    x [Replicate, Shard(0)]  with  y [Shard(2), Replicate]   ->  [Shard(2), Shard(0)]
    x [Shard(0)] (a line)    with  y [Replicate, Replicate]  ->  [Shard(0), Shard(0)]
    x [Shard(0)] (a line)    after all_reduce over axis 1    ->  [Shard(0), Replicate]

A Shard says "differs along this axis"; of its dimension only that of parameters and inputs is meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt_run.runtime.tensor.spec.topology import Placement, PlacementReplicate, TensorTopology

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value


def by_axes(value: Value) -> TensorTopology:
    """The topology of a value with one placement for each axis of its mesh.

    A line over all devices becomes its placement along every axis longer than 1. What lies on some devices only stays as it is.
    """
    topology, device = value.tensor_topology(), value.device()
    placements = topology.placements()
    if device is None or len(placements) == device.shape.dims() or len(placements) != 1:
        return topology
    if topology.distribution_shape().mesh_size() != device.get_num_devices():
        return topology
    along: list[Placement] = [
        placements[0] if extent > 1 else PlacementReplicate() for extent in device.shape
    ]
    return TensorTopology(device.shape, along, topology.mesh_coords())
