"""Shards as tensors of their own, copies into existing tensors, allocation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tt_run.runtime.arguments import public
from tt_run.runtime.enums import DataType, Layout, StorageType
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh import transfer_rules
from tt_run.runtime.mesh.coordinate import MeshCoordinate
from tt_run.runtime.mesh.shape import MeshShape
from tt_run.runtime.tensor.conversion.devices import counted_on, is_distributed
from tt_run.runtime.tensor.distribution.gathering import every_shard
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.spec.site import coords_of, local_site
from tt_run.runtime.tensor.spec.tensor_spec import Shape, TensorSpec
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, PlacementShard, TensorTopology
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import check_layout, stored_dtype
from tt_run.runtime.values.shards import Shards
from tt_run.runtime.values.storage import Part

if TYPE_CHECKING:
    from tt_run.runtime.mesh.device import MeshDevice


@public
def get_device_tensors(tensor: Tensor) -> list[Tensor]:
    """One tensor per shard, in the order of the topology's coordinates.

    Shards of a device tensor stay in the same buffer: they see later writes and go when it goes. Shards of a host tensor are
    un-distributed host tensors; over several ranks all ranks get all of them, together.
    """
    device = tensor.device()
    if device is not None:
        return _device_parts(tensor, device)
    if not is_distributed(tensor):
        return [tensor]
    shards = every_shard(tensor)
    number = {coord: i for i, coord in enumerate(tensor.site.coords)}
    spec = tensor.spec
    held = [shards[number[coord]] for coord in tensor.tensor_topology().mesh_coords()]
    return [_host(array, spec) for array in held if array is not None]


def _host(array: Any, spec: TensorSpec) -> Tensor:
    return Tensor.of(
        Shards.replicated(array, 1),
        dtype=spec.dtype,
        layout=spec.layout,
        memory_config=spec.memory_config,
        tile=spec.tile,
    )


def _device_parts(tensor: Tensor, device: MeshDevice) -> list[Tensor]:
    local = {coord: i for i, coord in enumerate(device.local_coords)}
    index = tensor.shards.index
    parts = []
    for coord in tensor.tensor_topology().mesh_coords():
        here = local.get(coord)
        if here is None or index[here] >= 0:
            parts.append(tensor.on(Part(tensor.storage, here, coord)))
    return parts


@public
def from_host_shards(tensors: Sequence[Tensor], mesh_shape: MeshShape) -> Tensor:
    """One host tensor of a mesh shape from one host tensor per device, row-major.

    Raises RuntimeError when the number differs from the mesh size or the specs differ.
    """
    if len(tensors) != mesh_shape.mesh_size():
        raise fatal("Number of tensor shards must match mesh size")
    first = tensors[0]
    for tensor in tensors:
        if tensor.storage_type() is not StorageType.HOST:
            raise fatal("All tensor shards must be on host")
        if tensor.spec != first.spec:
            raise fatal("All tensor shards must have the same tensor spec")
    coords = coords_of(tuple(mesh_shape))
    # A tensor given for several devices is one array, so that it is stored once.
    arrays = {id(tensor): tensor.shards.each()[0] for tensor in tensors}
    return Tensor.of(
        Shards.from_each([arrays[id(tensor)] for tensor in tensors], like=first.shards.data),
        dtype=first.dtype,
        layout=first.layout,
        topology=TensorTopology(MeshShape([len(tensors)]), [PlacementShard(0)], coords),
        memory_config=first.memory_config(),
        tile=first.tile,
        site=local_site(tuple(mesh_shape)),
    )


@public
def combine_device_tensors(*, tensors: Sequence[Tensor]) -> Tensor:
    """One device tensor from single-device tensors of the same mesh.

    Raises RuntimeError when one is not on a device, lies on another mesh or has another spec.
    """
    if not tensors:
        raise fatal("At least one tensor shard must be provided")
    first = tensors[0]
    device = first.device()
    arrays: list[Any] = []
    for tensor in tensors:
        if device is None or tensor.device() is None:
            raise fatal("All tensor shards must be on device")
        if tensor.device() is not device:
            raise fatal("All tensor shards must be on the same mesh device")
        if tensor.spec != first.spec:
            raise fatal("All tensor shards must have the same tensor spec")
        shards = tensor.shards.each()
        arrays = (
            shards
            if not arrays
            else [new if new is not None else old for new, old in zip(shards, arrays, strict=True)]
        )
    coords = [MeshCoordinate(0, i) for i in range(len(tensors))]
    return first.derive(
        Shards.from_each(arrays, like=first.shards.data),
        topology=TensorTopology(MeshShape([len(tensors)]), [PlacementShard(0)], coords),
    )


@public
def copy_host_to_device_tensor(
    host_tensor: Tensor, device_tensor: Tensor, cq_id: int | None = None, *, queue_id: int | None = None
) -> None:
    """Write a host tensor into the buffer of a device tensor. Raises RuntimeError when their specs differ."""
    device = device_tensor.device()
    if host_tensor.device() is not None:
        raise fatal("Source tensor is not on host.")
    if device is None:
        raise fatal("Destination tensor is not on device.")
    device.require_open("copy_host_to_device_tensor")
    _check_same(host_tensor, device_tensor)
    device_tensor.overwrite(counted_on(host_tensor, device))


@public
def copy_device_to_host_tensor(
    device_tensor: Tensor, host_tensor: Tensor, blocking: bool = True, cq_id: int | None = None
) -> None:
    """Write a device tensor into a host tensor. Raises RuntimeError when their specs differ."""
    device = device_tensor.device()
    if device is None:
        raise fatal("Source tensor is not on device.")
    device.require_open("copy_device_to_host_tensor")
    transfer_rules.check(device, "read")
    _check_same(host_tensor, device_tensor)
    shards = device_tensor.shards
    if is_distributed(host_tensor) or len(shards.index) == 1:
        host_tensor.overwrite(shards)
        return
    held = [array for array in shards.each() if array is not None]
    if len({id(array) for array in held}) != 1:
        raise fatal(
            "Host tensor has one shard, device tensor has several; allocate it with allocate_tensor_on_host"
        )
    host_tensor.overwrite(Shards.replicated(held[0], 1))


def _check_same(host_tensor: Tensor, device_tensor: Tensor) -> None:
    if host_tensor.shape != device_tensor.shape:
        raise fatal("Host tensor has different shape")
    if host_tensor.dtype is not device_tensor.dtype:
        raise fatal("Host tensor has different dtype")
    if host_tensor.layout is not device_tensor.layout:
        raise fatal("Host tensor has different page config")


@public
def deallocate(tensor: Tensor, force: bool = True) -> None:
    """Give back the device buffer of a tensor; a host tensor is left alone. Reading it afterwards raises RuntimeError."""
    tensor.deallocate(force)


@public
def allocate_tensor_on_device(
    spec_or_shape: TensorSpec | Shape | Sequence[int],
    dtype_or_device: DataType | MeshDevice,
    layout: Layout | None = None,
    mesh_device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """A tensor of zeros on every device: `(spec, mesh_device)` or `(shape, dtype, layout, mesh_device, memory_config=None)`."""
    spec, device = _wanted(spec_or_shape, dtype_or_device, layout, mesh_device, memory_config)
    shards = Shards(_zeros(spec)[None], (0,) * len(device.local_positions))
    return Tensor.of(
        shards,
        dtype=spec.dtype,
        layout=spec.layout,
        device=device,
        topology=mesh_replicated(device),
        memory_config=spec.memory_config,
        tile=spec.tile,
    )


@public
def allocate_tensor_on_host(
    spec_or_shape: TensorSpec | Shape | Sequence[int],
    dtype_or_device: DataType | MeshDevice,
    layout: Layout | None = None,
    mesh_device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """The host counterpart of `allocate_tensor_on_device`, with room for one shard per device."""
    from tt_run.runtime.tensor.conversion.devices import from_device

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
    if isinstance(first, TensorSpec):
        return first, second if device is None else device
    if not isinstance(second, DataType) or device is None:
        raise TypeError(
            "ttnn.allocate_tensor_on_device: expected (tensor_spec, mesh_device) or "
            "(shape, dtype, layout, mesh_device, memory_config=None)"
        )
    chosen = layout or Layout.ROW_MAJOR
    check_layout(second, chosen)
    return TensorSpec(Shape(first), second, chosen, memory_config or DRAM_MEMORY_CONFIG), device


def _zeros(spec: TensorSpec) -> Any:
    return np.zeros(tuple(spec.shape), stored_dtype(spec.dtype))


def mesh_replicated(device: MeshDevice) -> TensorTopology:
    """Replication along every axis of the mesh itself."""
    return TensorTopology(device.shape, [PlacementReplicate()] * device.shape.dims(), device.coords)
