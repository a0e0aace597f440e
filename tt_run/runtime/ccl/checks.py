"""What the collectives refuse, in the reference's words. Source: reference library 0.81.1."""

from __future__ import annotations

import math
import operator
from typing import Any, NoReturn

from tt_run.runtime.ccl.exchange import fabric
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import as_type, fatal, in_range, put_on_device, throw
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate, coordinate_hint
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, no_tensor
from tt_run.runtime.tensor.tensor import Tensor

_SUMMED = (DataType.BFLOAT16, DataType.BFLOAT8_B, DataType.FLOAT32)


def device_of(tensor: Tensor, name: str) -> MeshDevice:
    """The mesh of a device tensor. Raises RuntimeError for a host tensor and for a mesh that was closed."""
    if not isinstance(tensor, Tensor):
        raise no_tensor("input_tensor", tensor)
    device = tensor.device()
    if device is None:
        raise fatal(
            "Input tensor must be on device, got storage type: StorageType::HOST",
            f"storage_type() == StorageType::DEVICE (move it with ttnn.to_device before {name})",
            hint=put_on_device("tensor"),
        )
    device.require_open(name)
    return device


def members_of(
    tensor: Tensor, device: MeshDevice, cluster_axis: int | None, *, any_ring: bool = False
) -> int:
    """Devices per group, after the fabric's word. Raises RuntimeError for an axis that the mesh does not have.

    `any_ring`: without an axis the devices of a mesh of two dimensions are one ring, also for a fabric of one.
    """
    extents = device.shape
    if any_ring and isinstance(cluster_axis, int) and cluster_axis >= extents.dims():
        raise fatal(
            f"Invalid cluster axis {cluster_axis}. Must be 0 or 1",
            hint="cluster_axis=0 goes along columns, from row to row; cluster_axis=1 along rows",
        )
    size = extents.mesh_size() if cluster_axis is None else extents[_whole(cluster_axis, "cluster_axis")]
    held = holders(tensor, device)
    if held is not None:
        extents = MeshShape([len({device.coords[p][axis] for p in held}) for axis in range(extents.dims())])
        size = extents.mesh_size() if cluster_axis is None else extents[cluster_axis]
    fabric.check_collective([extents.mesh_size()] if any_ring else extents, cluster_axis)
    return size


def holders(tensor: Tensor, device: MeshDevice) -> frozenset[int] | None:
    """The positions that hold a tensor when they are a smaller block of the mesh; None when it is on all of it.

    A computed tensor is labelled with all of the mesh wherever its operands were; where one process has the mesh, what it holds counts.

    What lies on any other set of devices (five rows cut over a 2x4 mesh) is no block in which a collective could run.
    """
    coords = tensor.device_coords()
    if len(coords) >= device.shape.mesh_size():
        return None
    positions = frozenset(p for coord in coords if (p := device.index_of(coord)) is not None)
    block = math.prod(len({device.coords[p][axis] for p in positions}) for axis in range(device.shape.dims()))
    return positions if positions and block == len(positions) else None


def gather_dim(tensor: Tensor, dim: int) -> int:
    """The dimension of an all-gather, counted from the front."""
    rank, dim = tensor.shape.rank, _whole(dim, "dim")
    if not -rank <= dim < rank:
        raise fatal(
            f"Invalid gather dim {dim} for {rank}D input tensor",
            "gather_dim >= 0 && gather_dim < rank",
            hint=in_range("dim", rank),
        )
    return dim % rank


def scatter_dim(tensor: Tensor, dim: int, members: int) -> int:
    """The dimension of a reduce-scatter, counted from the front; it must divide."""
    rank, dim = tensor.shape.rank, _whole(dim, "dim")
    if rank < 2:
        raise fatal(
            "reduce_scatter currently supports rank 2 tensors at minimum",
            "rank > 1",
            hint=f"ttnn.reshape(tensor, (1, {tensor.shape[0] if rank else 1}))",
        )
    if not -rank <= dim < rank:
        raise fatal(
            f"Invalid scatter dim {dim} for rank {rank} tensor",
            "scatter_dim < rank",
            hint=in_range("dim", rank),
        )
    if tensor.dtype not in _SUMMED:
        raise fatal(
            f"reduce_scatter supports {', '.join(d.name for d in _SUMMED)}, got {tensor.dtype}",
            hint=as_type("tensor", "bfloat16", "float32"),
        )
    dim %= rank
    if tensor.shape[dim] % members:
        if tensor.layout is Layout.TILE and dim >= rank - 2:
            raise fatal(
                f"Number of tiles at dimension {dim} must be divisible by ring_size",
                "tiles % ring_size == 0",
                hint=_divisible(tensor, dim, members),
            )
        raise fatal(
            f"Dimension {dim} must be divisible by ring_size",
            "input_shape[dim] % ring_size == 0",
            hint=_divisible(tensor, dim, members),
        )
    return dim


def _divisible(tensor: Tensor, dim: int, members: int) -> str:
    size = tensor.shape[dim]
    return f"{size} elements over {members} devices; {-(-size // members) * members} would do (ttnn.pad adds them)"


def partition_dim(tensor: Tensor, dim: int, members: int) -> int:
    """The dimension of a mesh partition, counted from the front; it must divide."""
    rank, dim = tensor.shape.rank, _whole(dim, "dim")
    if not -rank <= dim < rank:
        _refuse_partition_dim(dim + rank if dim < 0 else dim, rank)
    dim %= rank
    if tensor.shape[dim] % members:
        raise fatal(
            f"input shape {tensor.shape} must be divisible by cluster axis size {members}",
            hint=_divisible(tensor, dim, members),
        )
    return dim


def _refuse_partition_dim(dim: int, rank: int) -> NoReturn:
    """`dim`: counted from the front, negative where it is before the first. The reference looks at its length first, in a shape of four at least."""
    help_text = in_range("dim", rank) if rank else "ttnn.reshape(tensor, [1]) has a dimension to cut"
    room = max(rank, 4)
    if -room <= dim < 0:
        raise fatal("dim must be less than the rank of the input tensor", "dim < rank", hint=help_text)
    raise throw(f"ShapeBase[] index out of range. {dim} not in [{-room}, {rank})", hint=help_text)


def tile_borders(tensor: Tensor, dim: int, members: int) -> None:
    """Raises RuntimeError for parts of tiles that do not begin at the border of one: the reference counts them with their padding.

    A row that is no matrix has one line there, which no tile has. A tensor that is padded to as many tiles as there are parts gets through there, and its parts are wrong; here they are the golden function's.
    """
    from_the_end = dim - tensor.shape.rank
    length = tensor.padded_shape[from_the_end] // members
    if tensor.layout is not Layout.TILE or from_the_end < -2 or members == 1 or not length:
        return
    row = tensor.shape.rank == 1
    if row or length % tensor.tile.edges[from_the_end]:
        word = "width" if from_the_end == -1 and not row else "height"
        raise fatal(
            f"Can only slice tilized tensor with {word} begin index aligned to tiles",
            f"{members} parts of {length} along dimension {dim}",
            hint="ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT) before, or parts of whole tiles",
        )


def position_of(device: MeshDevice, coord: MeshCoordinate, role: str) -> int:
    """Where the device with this role sits. Raises RuntimeError when it is outside of the mesh."""
    if not isinstance(coord, MeshCoordinate):
        raise ArgumentMismatch(f"{role}_coord must be a ttnn.MeshCoordinate, not {type(coord).__name__}")
    index = device.index_of(coord)
    if index is None:
        raise fatal(
            f"Mesh device must contain {role} coordinate device",
            f"{coord} is inside of {device.shape}",
            hint=coordinate_hint(device.shape),
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
