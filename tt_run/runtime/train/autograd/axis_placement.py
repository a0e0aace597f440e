"""Where the shards of a value lie, told by the axes of its mesh: what the backward rules of collectives decide by.

A mapper without an axis lays a tensor over all devices as one line, and its topology has one placement however many axes the mesh
has. So it says, as in the reference; but merged with a topology of two, half of what is known would be lost, and a gradient that differs
along an axis would count as a copy. So operands are merged axis by axis, and collectives of training tell their place by the axes:

    x [Replicate, Shard(0)]  with  y [Shard(2), Replicate]   ->  [Shard(2), Shard(0)]
    x [Shard(0)] (a line)    with  y [Replicate, Replicate]  ->  [Shard(0), Shard(0)]
    x [Shard(0)] (a line)    after all_reduce over axis 1    ->  [Shard(0), Replicate]

A Shard says "differs along this axis"; of its dimension only that of parameters and inputs is meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ops.declaration.result_topology import by_axes as told_by_axes
from tt_run.runtime.tensor.distribution.gathering import own_shards
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, TensorTopology
from tt_run.runtime.values import shapes
from tt_run.runtime.values.dtypes import is_float

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]


def by_axes(value: Value) -> TensorTopology:
    """The topology of a value with one placement for each axis of its mesh."""
    topology, device = value.tensor_topology(), value.device()
    return topology if device is None else told_by_axes(topology, device.shape)


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
