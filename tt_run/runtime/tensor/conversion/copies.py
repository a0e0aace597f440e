"""Copies between host and device into tensors that exist, and giving their buffers back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime import queues
from tt_run.runtime.errors import fatal, read_to_host
from tt_run.runtime.mesh import transfer_rules
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.native.arguments import public
from tt_run.runtime.tensor.conversion.devices import counted_on, is_distributed
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards, combine


@public
def copy_host_to_device_tensor(
    host_tensor: Tensor, device_tensor: Tensor, cq_id: int | None = None, *, queue_id: int | None = None
) -> None:
    """Write a host tensor into the buffer of a device tensor. Raises RuntimeError when their specs differ."""
    device_tensor.overwrite(_for_buffer(host_tensor, device_tensor, "copy_host_to_device_tensor"))
    queues.copied(device_tensor, False, queue_id if cq_id is None else cq_id)


def copy_elements(
    host_tensor: Tensor, device_tensor: Tensor, written: npt.NDArray[np.bool_], cq_id: int | None
) -> None:
    """Write those elements of a host tensor into the buffer of a device tensor for which `written`, of its padded shape, is true.

    Raises RuntimeError as `copy_host_to_device_tensor`.
    """
    fresh = _for_buffer(host_tensor, device_tensor, "copy_host_to_device_tensor_partial")
    inside = written[tuple(map(slice, device_tensor.shape))]

    def merged(new: npt.NDArray[Any], old: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.where(inside, new, old)

    device_tensor.overwrite(combine(merged, fresh, device_tensor.shards))
    queues.copied(device_tensor, False, cq_id)


def _for_buffer(host_tensor: Tensor, device_tensor: Tensor, call: str) -> Shards:
    device = device_tensor.device()
    if host_tensor.device() is not None:
        raise fatal("Source tensor is not on host.", hint=read_to_host("source"))
    if device is None:
        raise fatal(
            "Destination tensor is not on device.",
            hint="ttnn.allocate_tensor_on_device(spec, device) makes a destination",
        )
    device.require_open(call)
    _check_same(host_tensor, device_tensor)
    return counted_on(host_tensor, device)


@public
def copy_device_to_host_tensor(
    device_tensor: Tensor, host_tensor: Tensor, blocking: bool = True, cq_id: int | None = None
) -> None:
    """Write a device tensor into a host tensor. Raises RuntimeError when their specs differ."""
    device = device_tensor.device()
    if device is None:
        raise fatal(
            "Source tensor is not on device.",
            hint="ttnn.copy_host_to_device_tensor(host_tensor, device_tensor) goes the other way",
        )
    device.require_open("copy_device_to_host_tensor")
    transfer_rules.check(device, "read")
    _check_same(host_tensor, device_tensor)
    queues.copied(device_tensor, True, cq_id, blocking)
    shards = device_tensor.shards
    if is_distributed(host_tensor) or len(shards.index) == 1:
        host_tensor.overwrite(shards)
        return
    held = [array for array in shards.each() if array is not None]
    if len({id(array) for array in held}) != 1:
        raise fatal(
            "Host tensor has one shard, device tensor has several; allocate it with allocate_tensor_on_host",
            hint="ttnn.allocate_tensor_on_host(device_tensor.spec, mesh_device)",
        )
    host_tensor.overwrite(Shards.replicated(held[0], 1))


def _check_same(host_tensor: Tensor, device_tensor: Tensor) -> None:
    if host_tensor.shape != device_tensor.shape:
        raise fatal(
            "Host tensor has different shape",
            hint=f"the host tensor is {host_tensor.shape}, the device tensor {device_tensor.shape}: ttnn.allocate_tensor_on_device(host_tensor.spec, device) makes one that fits",
        )
    if host_tensor.dtype is not device_tensor.dtype:
        raise fatal(
            "Host tensor has different dtype",
            hint=f"ttnn.to_dtype(host_tensor, ttnn.{device_tensor.dtype.name.lower()})",
        )
    if host_tensor.layout is not device_tensor.layout:
        raise fatal(
            "Host tensor has different page config",
            hint=f"ttnn.to_layout(host_tensor, ttnn.{device_tensor.layout.name}_LAYOUT)",
        )


@public
def deallocate(tensor: Tensor, force: bool = True) -> None:
    """Give back the device buffer of a tensor; a host tensor is left alone. Reading it afterwards raises RuntimeError."""
    tensor.deallocate(force)


@public
def deallocate_buffers(device: MeshDevice) -> None:
    """Give back the buffers of all tensors on a device."""
    device.require_open("DeallocateBuffers")
    for resident in list(device.residents):
        if isinstance(resident, Tensor):
            resident.deallocate(True)
