"""Room for tensors, on a mesh or on the host: preallocated outputs and targets of copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import ArgumentMismatch
from tt_run.runtime.native.arguments import also_named, public
from tt_run.runtime.tensor.conversion.devices import from_device
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import Shape, TensorSpec
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, TensorTopology
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values import shapes
from tt_run.runtime.values.dtypes import check_layout, stored_dtype
from tt_run.runtime.values.shards import Shards

if TYPE_CHECKING:
    from tt_run.runtime.mesh.device import MeshDevice


_BY_FORM = also_named(tensor_spec="spec_or_shape", shape="spec_or_shape", dtype="dtype_or_device")


@public
@_BY_FORM
def allocate_tensor_on_device(
    spec_or_shape: TensorSpec | Shape | Sequence[int],
    dtype_or_device: DataType | MeshDevice | None = None,
    layout: Layout | None = None,
    mesh_device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """A tensor of zeros on every device: `(spec, mesh_device)` or `(shape, dtype, layout, mesh_device, memory_config=None)`."""
    spec, device = _wanted(spec_or_shape, dtype_or_device, layout, mesh_device, memory_config)
    data = np.zeros((shapes.rows(), *spec.shape), stored_dtype(spec.dtype))
    shards = Shards(data, (0,) * len(device.local_positions))
    return Tensor.of(
        shards,
        dtype=spec.dtype,
        layout=spec.layout,
        device=device,
        topology=mesh_replicated(device),
        memory_config=spec.memory_config,
        tile=spec.tile,
        fits=True,
    )


@public
@_BY_FORM
def allocate_tensor_on_host(
    spec_or_shape: TensorSpec | Shape | Sequence[int],
    dtype_or_device: DataType | MeshDevice | None = None,
    layout: Layout | None = None,
    mesh_device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """The host counterpart of `allocate_tensor_on_device`, with room for one shard per device."""
    return from_device(
        allocate_tensor_on_device(spec_or_shape, dtype_or_device, layout, mesh_device, memory_config)
    )


def _wanted(
    first: Any,
    second: Any,
    layout: Layout | None,
    device: MeshDevice | None,
    memory_config: MemoryConfig | None,
) -> tuple[TensorSpec, MeshDevice]:
    if isinstance(first, TensorSpec) and (second is not None or device is not None):
        return first, second if device is None else device
    if not isinstance(second, DataType) or device is None:
        raise ArgumentMismatch(
            "ttnn.allocate_tensor_on_device: expected (tensor_spec, mesh_device) or "
            "(shape, dtype, layout, mesh_device, memory_config=None)"
        )
    chosen = layout or Layout.ROW_MAJOR
    check_layout(second, chosen)
    return TensorSpec(Shape(first), second, chosen, memory_config or DRAM_MEMORY_CONFIG), device


def mesh_replicated(device: MeshDevice) -> TensorTopology:
    """Replication along every axis of the mesh itself."""
    return TensorTopology(device.shape, [PlacementReplicate()] * device.shape.dims(), device.coords)
