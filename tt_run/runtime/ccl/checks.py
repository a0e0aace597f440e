"""What the collectives refuse, in the reference's words. Source: reference library 0.81.1."""

from __future__ import annotations

import operator
from typing import Any

from tt_run.runtime.ccl import fabric
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.coordinate import MeshCoordinate
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.ops.dispatch import ArgumentMismatch
from tt_run.runtime.tensor.tensor import Tensor

_SUMMED = (DataType.BFLOAT16, DataType.BFLOAT8_B, DataType.FLOAT32)


def device_of(tensor: Tensor, name: str) -> MeshDevice:
    """The mesh of a device tensor. Raises RuntimeError for a host tensor and for a mesh that was closed."""
    if not isinstance(tensor, Tensor):
        raise ArgumentMismatch(f"input_tensor must be a ttnn.Tensor, not {type(tensor).__name__}")
    device = tensor.device()
    if device is None:
        raise fatal(
            "Input tensor must be on device, got storage type: StorageType::HOST",
            f"storage_type() == StorageType::DEVICE (move it with ttnn.to_device before {name})",
        )
    device.require_open(name)
    return device


def members_of(device: MeshDevice, cluster_axis: int | None) -> int:
    """Devices per group, after the fabric's word. Raises RuntimeError for an axis that the mesh does not have."""
    if cluster_axis is not None:
        size = device.shape[_whole(cluster_axis, "cluster_axis")]
        fabric.check_collective(device.shape, cluster_axis)
        return size
    fabric.check_collective(device.shape, None)
    return device.shape.mesh_size()


def gather_dim(tensor: Tensor, dim: int) -> int:
    """The dimension of an all-gather, counted from the front."""
    rank, dim = tensor.shape.rank, _whole(dim, "dim")
    if not -rank <= dim < rank:
        raise fatal(
            f"Invalid gather dim {dim} for {rank}D input tensor", "gather_dim >= 0 && gather_dim < rank"
        )
    return dim % rank


def scatter_dim(tensor: Tensor, dim: int, members: int) -> int:
    """The dimension of a reduce-scatter, counted from the front; it must divide."""
    rank, dim = tensor.shape.rank, _whole(dim, "dim")
    if rank < 2:
        raise fatal("reduce_scatter currently supports rank 2 tensors at minimum", "rank > 1")
    if not -rank <= dim < rank:
        raise fatal(f"Invalid scatter dim {dim} for rank {rank} tensor", "scatter_dim < rank")
    if tensor.dtype not in _SUMMED:
        raise fatal(f"reduce_scatter supports {', '.join(d.name for d in _SUMMED)}, got {tensor.dtype}")
    dim %= rank
    if tensor.shape[dim] % members:
        if tensor.layout is Layout.TILE and dim >= rank - 2:
            raise fatal(
                f"Number of tiles at dimension {dim} must be divisible by ring_size", "tiles % ring_size == 0"
            )
        raise fatal(f"Dimension {dim} must be divisible by ring_size", "input_shape[dim] % ring_size == 0")
    return dim


def partition_dim(tensor: Tensor, dim: int, members: int) -> int:
    """The dimension of a mesh partition, counted from the front; it must divide."""
    rank, dim = tensor.shape.rank, _whole(dim, "dim")
    if not -rank <= dim < rank:
        raise fatal(f"Invalid partition dim {dim} for {rank}D input tensor", "dim < rank")
    dim %= rank
    if tensor.shape[dim] % members:
        raise fatal(f"input shape {tensor.shape} must be divisible by cluster axis size {members}")
    return dim


def position_of(device: MeshDevice, coord: MeshCoordinate, role: str) -> int:
    """Where the device with this role sits. Raises RuntimeError when it is outside of the mesh."""
    if not isinstance(coord, MeshCoordinate):
        raise ArgumentMismatch(f"{role}_coord must be a ttnn.MeshCoordinate, not {type(coord).__name__}")
    index = device.index_of(coord)
    if index is None:
        raise fatal(
            f"Mesh device must contain {role} coordinate device", f"{coord} is inside of {device.shape}"
        )
    return index


def _whole(value: Any, name: str) -> int:
    if type(value) is int:
        return value
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise ArgumentMismatch(f"{name} must be an int, not {type(value).__name__}") from None
