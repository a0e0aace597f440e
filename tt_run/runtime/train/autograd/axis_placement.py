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

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.tensor.distribution.gathering import own_shards
from tt_run.runtime.tensor.spec.topology import Placement, PlacementReplicate, TensorTopology
from tt_run.runtime.values import shapes
from tt_run.runtime.values.dtypes import is_float

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]


def settled(value: Value) -> TensorTopology:
    """The topology that a value keeps: by the axes of its mesh where more than one is longer than 1, else as it is, for there both say the same."""
    device = value.device()
    return value.tensor_topology() if device is None or _is_line(device.shape) else by_axes(value)


def _is_line(shape: MeshShape) -> bool:
    return sum(extent > 1 for extent in shape) < 2


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


def members(value: Value, cluster_axis: int | None) -> int:
    """Devices in a group along an axis of the value's mesh; all of them without an axis."""
    device = value.device()
    if device is None:
        return 1
    return device.get_num_devices() if cluster_axis is None else int(device.shape[cluster_axis])


def is_replicated(value: Value, cluster_axis: int | None) -> bool:
    """Whether all devices of a group along the axis hold the same, by the placement that the value records."""
    topology = value.tensor_topology()
    extents = topology.distribution_shape()
    alike = [
        isinstance(placement, PlacementReplicate) or extents[axis] == 1
        for axis, placement in enumerate(topology.placements())
    ]
    return all(alike) if cluster_axis is None or len(alike) < 2 else alike[cluster_axis]


def first_shard(value: Value) -> Array:
    """The value that all devices share, as float32 or integers. Raises RuntimeError when they hold different shards, or copies that differ, and when the mesh is closed."""
    count = len(value.site.coords)
    if count > 1 and not is_replicated(value, None):
        raise RuntimeError(
            f"the tensor is sharded over {count} devices ({value.tensor_topology().placements()}); "
            "help: to_numpy(composer=ttml.core.distributed.concat_mesh_to_tensor_composer(device, dim))"
        )
    data = own_shards(value).data
    if value.shards.bare:
        shapes.values_read(value.shards.shape)
        return np.zeros(value.shards.shape, data.dtype)
    if not len(data):
        raise RuntimeError("no device of this rank holds a shard of the tensor")
    if any(not np.array_equal(data[0], copy, equal_nan=is_float(value.dtype)) for copy in data[1:]):
        raise RuntimeError(
            f"the {count} devices hold copies of the tensor that differ, as after a step without synchronize_gradients(parameters); "
            "help: to_numpy(composer=ttml.core.distributed.concat_mesh_to_tensor_composer(device, dim))"
        )
    return np.array(data[0])
