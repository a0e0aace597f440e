"""Shards as tensors of their own, and one tensor of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tt_run.runtime.enums import StorageType
from tt_run.runtime.errors import fatal, put_on_device, read_to_host
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.native.arguments import public
from tt_run.runtime.tensor.conversion.devices import is_distributed
from tt_run.runtime.tensor.distribution.gathering import every_shard
from tt_run.runtime.tensor.spec.site import coords_of, local_site
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.tensor.spec.topology import (
    PlacementShard,
    TensorTopology,
    of_one_shard,
    only_shard,
)
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards
from tt_run.runtime.values.storage import BufferPart, Storage

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
    if only_shard(tensor.tensor_topology()) is not None:
        return [_host(array, tensor.spec) for array in shards if array is not None]
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
    topology = tensor.tensor_topology()
    alone = only_shard(topology)
    parts = []
    for coord in topology.mesh_coords() if alone is None else (alone,):
        here = local.get(coord)
        if here is None or index[here] >= 0:
            parts.append(tensor.on(BufferPart(tensor.storage, here, coord), of_one_shard(topology, coord)))
    tensor.share(*parts)
    return parts


@public
def from_host_shards(tensors: Sequence[Tensor], mesh_shape: MeshShape) -> Tensor:
    """One host tensor of a mesh shape from one host tensor per device, row-major.

    Raises RuntimeError when the number differs from the mesh size or the specs differ.
    """
    if len(tensors) != mesh_shape.mesh_size():
        raise fatal(
            "Number of tensor shards must match mesh size",
            hint=f"{mesh_shape} needs {mesh_shape.mesh_size()} tensors, not {len(tensors)}",
        )
    first = tensors[0]
    for tensor in tensors:
        if tensor.storage_type() is not StorageType.HOST:
            raise fatal("All tensor shards must be on host", hint=read_to_host("shard"))
        if tensor.spec != first.spec:
            raise fatal(
                "All tensor shards must have the same tensor spec",
                hint=f"make shape, element type and layout of each those of the first: {first.shape}, {first.dtype}, {first.layout}",
            )
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
        raise fatal(
            "At least one tensor shard must be provided",
            hint="give a tensor for each device, as ttnn.get_device_tensors returns them",
        )
    first = tensors[0]
    device = first.device()
    arrays: list[Any] = []
    for tensor in tensors:
        if device is None or tensor.device() is None:
            raise fatal("All tensor shards must be on device", hint=put_on_device("shard"))
        if tensor.device() is not device:
            raise fatal(
                "All tensor shards must be on the same mesh device",
                hint="combine those of each mesh by themselves",
            )
        if tensor.spec != first.spec:
            raise fatal(
                "All tensor shards must have the same tensor spec",
                hint=f"make shape, element type and layout of each those of the first: {first.shape}, {first.dtype}, {first.layout}",
            )
        shards = tensor.shards.each()
        arrays = (
            shards
            if not arrays
            else [new if new is not None else old for new, old in zip(shards, arrays, strict=True)]
        )
    coords = [MeshCoordinate(0, i) for i in range(len(tensors))]
    topology = TensorTopology(MeshShape([len(tensors)]), [PlacementShard(0)], coords)
    whole = _whole(tensors, device)
    if whole is not None:
        joined = first.on(whole, topology)
        first.share(joined)
        return joined
    return first.derive(Shards.from_each(arrays, like=first.shards.data), topology=topology)


def _whole(parts: Sequence[Tensor], device: MeshDevice | None) -> Storage | None:
    """The buffer that they are the parts of, where they are those of all devices."""
    storages = [part.storage for part in parts]
    found = {id(one.whole): one.whole for one in storages if isinstance(one, BufferPart)}
    coords = {one.coord for one in storages if isinstance(one, BufferPart)}
    if len(found) != 1 or device is None or not len(coords) == len(parts) == device.get_num_devices():
        return None
    return next(iter(found.values()))
