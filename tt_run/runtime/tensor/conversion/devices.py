"""Moving tensors between the host and the devices of a mesh. Values are shared, never copied: every write makes new shards."""

from __future__ import annotations

from typing import Any

from tt_run.runtime import queues
from tt_run.runtime.errors import ArgumentMismatch, fatal, type_name
from tt_run.runtime.mesh import transfer_rules
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.native.arguments import public
from tt_run.runtime.tensor.conversion import framing
from tt_run.runtime.tensor.spec import sharding
from tt_run.runtime.tensor.spec.memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from tt_run.runtime.tensor.spec.site import HostSite
from tt_run.runtime.tensor.spec.topology import replicated_topology
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards
from tt_run.runtime.values.storage import Buffer


@public
def to_device(
    tensor: Tensor,
    device: MeshDevice,
    memory_config: MemoryConfig | None = None,
    *,
    queue_id: int | None = None,
    cq_id: int | None = None,
) -> Tensor:
    """The tensor on a mesh, in DRAM unless `memory_config` says otherwise, wherever it was meant to lie.

    A distributed one keeps its topology, an un-distributed one is replicated to every device. Raises RuntimeError when the tensor is on
    another mesh or was distributed for one of another shape, or the device is closed, TypeError for what is no device.
    """
    return moved_to(tensor, device, memory_config or DRAM_MEMORY_CONFIG, queue_id=queue_id, cq_id=cq_id)


def moved_to(
    tensor: Tensor,
    device: MeshDevice,
    memory_config: MemoryConfig | None = None,
    *,
    queue_id: int | None = None,
    cq_id: int | None = None,
) -> Tensor:
    """The same, but where the tensor says that it lies unless `memory_config` says otherwise."""
    if not hasattr(device, "local_positions"):
        raise ArgumentMismatch(f"ttnn.to_device: expected a MeshDevice, got {type_name(device)}")
    if tensor.device() is not None:
        if tensor.device() is not device:
            raise fatal(
                "to_device: the tensor is on another mesh already",
                hint=f"it is on {tensor.device()}: bring it to the host with ttnn.from_device first",
            )
        return tensor.alias()
    device.require_open("to_device")
    queues.queue_number(device, queue_id if cq_id is None else cq_id)
    transfer_rules.check(device, "write")
    memory = memory_config or tensor.memory_config()
    if memory.is_sharded():
        memory = sharding.on_cores(memory, tensor.padded_shape.dims, tensor.layout, tensor.tile.edges)
    shards = counted_on(tensor, device)
    if not is_distributed(tensor):
        alone = len(device.coords) == 1
        topology = tensor.tensor_topology() if alone else replicated_topology(device, on_device=True)
    else:
        topology = tensor.tensor_topology()
    placed = Tensor.of(
        Buffer(shards, lasting=True),
        dtype=tensor.dtype,
        layout=tensor.layout,
        device=device,
        topology=topology,
        memory_config=memory,
        tile=tensor.tile,
    )
    return framing.filled_as(placed, tensor)


@public
def to_one_device(
    host_tensor: Tensor,
    mesh_device: MeshDevice,
    coord: MeshCoordinate,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """A host tensor on one device of a mesh, which is a submesh of its own. Raises RuntimeError outside of the mesh."""
    return moved_to(host_tensor, mesh_device.create_submesh(MeshShape(1, 1), coord), memory_config)


@public
def from_device(
    tensor: Tensor, blocking: bool = True, *, queue_id: int | None = None, cq_id: int | None = None
) -> Tensor:
    """The tensor in host memory, with its topology. Raises RuntimeError when its device is closed."""
    device = tensor.device()
    if device is None:
        return tensor.alias()
    device.require_open("from_device")
    queues.queue_number(device, queue_id if cq_id is None else cq_id)
    transfer_rules.check(device, "read")
    queues.copied(tensor, True, queue_id if cq_id is None else cq_id, blocking)
    on_host = Tensor.of(
        tensor.shards,
        dtype=tensor.dtype,
        layout=tensor.layout,
        topology=tensor.tensor_topology(),
        memory_config=tensor.memory_config(),
        tile=tensor.tile,
        site=HostSite.of(device),
    )
    return framing.filled_as(on_host, tensor)


def is_distributed(tensor: Tensor) -> bool:
    """Whether a host tensor was cut or replicated for a mesh; a 1x1 mesh counts as not distributed."""
    return len(tensor.site.coords) > 1


def counted_on(tensor: Tensor, device: MeshDevice) -> Shards:
    """The shards of a host tensor counted on a device's local positions; an un-distributed one is on each of them.

    Raises RuntimeError when the tensor was distributed for a mesh of another shape.
    """
    if not is_distributed(tensor):
        return tensor.shards.placed((0,) * len(device.local_positions))
    site: Any = tensor.site
    if tuple(site.shape) != tuple(device.shape):
        raise fatal(
            f"Tensor distributed over mesh shape {site.shape} does not fit on a device of shape {device.shape}",
            hint=f"distribute it over this mesh: ttnn.distribute_tensor(tensor, mapper), with a mapper made of a mesh of {device.shape}",
        )
    if tuple(site.local_positions) == tuple(device.local_positions):
        return tensor.shards
    held = dict(zip(site.local_positions, tensor.shards.index, strict=True))
    return tensor.shards.placed(tuple(held.get(p, -1) for p in device.local_positions)).compact()
