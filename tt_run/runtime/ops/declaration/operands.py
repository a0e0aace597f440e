"""What all operations check of their arguments and do with their results."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tt_run.runtime.enums import DataType, Layout, cpp
from tt_run.runtime.errors import fatal, in_range, put_on_device
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, no_tensor
from tt_run.runtime.ops.declaration.result_topology import cut_axes, result_topology
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.spec.tensor_spec import DEFAULT_TILE, Tile
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import BLOCK_FLOATS, is_float
from tt_run.runtime.values.shards import Shards
from tt_run.runtime.values.storage import Buffer, Seen

if TYPE_CHECKING:
    from tt_run.runtime.mesh import MeshDevice

_LETTERS = "ABCDEFGH"
_DIMENSIONS = 1 << 31


def on_device(*tensors: Tensor, kind: str = "eltwise binary") -> MeshDevice:
    """The one mesh device of all operands.

    Raises RuntimeError for a host tensor and for tensors of different meshes, and what leads to the list of signatures for anything
    that is no tensor.
    """
    first: MeshDevice | None = None
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise no_tensor(f"tensor {position + 1} of the call", tensor)
        device = tensor.device()
        if device is None:
            raise fatal(
                _host_text(kind, position, tensor),
                hint=put_on_device("tensor"),
            )
        if first is None:
            first = device
        elif device is not first:
            raise fatal(
                f"Operands to {kind} need to be on the same device!",
                hint="open one mesh for all of them, or read one and distribute it anew: ttnn.to_torch, ttnn.from_torch(…, device=device)",
            )
    if first is None:
        raise ArgumentMismatch("no ttnn.Tensor among the arguments")
    if not first.is_open:
        first.require_open(kind)
    return first


# What the reference says of a host tensor by the kind of operation, where it is not the sentence of most.
_HOST_TEXTS = {
    "matmul": "Operand to matmul must be on device",
    "softmax": "input_tensor.device() == nullptr, No device found, move input_tensor to device",
    "reduction": "Expected input tensor to be on device",
    "topk": "Input tensor must be on device",
    "permute": "Tensor must already be on device",
    "repeat": "View requires the tensor be stored on device, use reshape instead",
    **dict.fromkeys(
        ("data movement", "embedding", "sort"), "Device Operations expect device tensors as inputs"
    ),
}


def _host_text(kind: str, position: int, tensor: Tensor) -> str:
    if kind in _HOST_TEXTS:
        return _HOST_TEXTS[kind]
    if kind == "unary":
        return f"Unary operation requires input to be on Device. Input storage type: {tensor.storage_type().value}"
    return f"Input tensor {_LETTERS[position % 8]} must be on device, got storage type: {cpp(tensor.storage_type())}"


def floating(name: str, *tensors: Tensor) -> None:
    """Raises RuntimeError for tensors of integers, whose results would all be cut to 0."""
    for tensor in tensors:
        if not is_float(tensor.dtype):
            raise fatal(
                f"{name} works on floating-point tensors, got {tensor.dtype}",
                hint="ttnn.typecast(tensor, ttnn.bfloat16)",
            )


def settle(
    operands: Sequence[Tensor],
    shards: Shards,
    dtype: DataType,
    *,
    memory_config: MemoryConfig | None = None,
    output_tensor: Tensor | None = None,
    layout: Layout | None = None,
    tile: Tile | None = None,
    view: Seen | None = None,
) -> Tensor:
    """The result tensor: on the devices of the first operand, or written into `output_tensor` when there is one.

    With a `view`, which makes the shards of the first operand's, it lies where that does and takes no room of its own.

    `shards` hold values of `dtype` already. Raises RuntimeError when `output_tensor` has another shape, dtype or device.
    """
    first = operands[0]
    if output_tensor is not None:
        written = write_into(output_tensor, shards, dtype, first)
        topology = result_topology((*operands, written))
        if topology is not written.tensor_topology():
            written.update_tensor_topology(topology)
        return written
    topology = result_topology(operands)
    small = first.spec.tile is not DEFAULT_TILE
    if (
        not small
        and topology is first.tensor_topology()
        and dtype is first.dtype
        and layout is None
        and tile is None
        and view is None
        and memory_config is None
        and first.spec.shape.dims == shards.shape
    ):
        # The most frequent case by far: nothing but the values is new.
        return first.on(Buffer(shards))
    if small and view is None and first.device() is not None:
        tile = tile or DEFAULT_TILE
    if dtype in BLOCK_FLOATS and layout is None and first.layout is not Layout.TILE:
        layout = Layout.TILE
    return first.derive(
        shards,
        dtype=dtype,
        layout=layout,
        memory_config=memory_config,
        topology=topology,
        tile=tile,
        view=view,
    )


def room_type(dtype: DataType, output: Tensor | None) -> DataType:
    """The type of a result: that of the tensor made for it where both are floating, else its own `dtype`."""
    if not isinstance(output, Tensor) or not (is_float(dtype) and is_float(output.dtype)):
        return dtype
    return output.dtype


def in_rank_of(output: Tensor | None, shards: Shards) -> Shards:
    """Shards with as many dimensions of length 1 in front as the tensor made for them, where that is all they differ in."""
    if not isinstance(output, Tensor):
        return shards
    dims, made = tuple(output.shape), shards.shape
    if dims == made or _without_ones(dims) != _without_ones(made):
        return shards
    return shards.map(lambda stack: stack.reshape(len(stack), *dims))


def in_places_of(output: Tensor | None, shards: Shards) -> Shards:
    """Shards in the shape of the tensor made for them, where its tiles, or its rows, are as many and as large."""
    if not isinstance(output, Tensor):
        return shards
    dims, made = tuple(output.shape), shards.shape
    if dims == made or volume(dims) != volume(made):
        return shards
    kept = 2 if output.layout is Layout.TILE else 1
    if (1, 1, *dims)[-kept:] != (1, 1, *made)[-kept:]:
        return shards
    return shards.map(lambda stack: stack.reshape(len(stack), *dims))


def _without_ones(dims: Sequence[int]) -> tuple[int, ...]:
    first = next((place for place, length in enumerate(dims) if length != 1), len(dims))
    return tuple(dims[first:])


def write_into(output: Tensor, shards: Shards, dtype: DataType, like: Tensor) -> Tensor:
    """Put a result into an existing tensor and return that."""
    if not isinstance(output, Tensor):
        raise no_tensor("output_tensor", output)
    if output.device() is not like.device():
        raise fatal(
            "The output tensor needs to be on the same device as the operands!",
            hint="ttnn.empty(shape, dtype, layout, device) on the device of the operands, or leave output_tensor out",
        )
    if output.shape != shards.shape:
        raise fatal(
            f"Shape of Output Tensor {output.shape} should match the computed shape Shape({list(shards.shape)})!",
            hint="ttnn.empty of that shape, or leave output_tensor out",
        )
    if output.dtype is not dtype:
        raise fatal(
            f"If both output dtype and output tensor are provided, their data types should match: {dtype} and {output.dtype}",
            hint="leave dtype out: the output tensor has one",
        )
    output.overwrite(shards)
    return output


def keep_label(written: Tensor, operands: Sequence[Tensor]) -> Tensor:
    """A tensor of the caller's into a part of which operands were written; returns it.

    It lies as its topology says, unless an operand differs along an axis of the mesh where that promises copies.
    """
    device = written.device()
    held = written.tensor_topology()
    if device is not None:
        known = cut_axes(held, device.shape)
        if any(not cut_axes(operand.tensor_topology(), device.shape) <= known for operand in operands):
            written.update_tensor_topology(result_topology((written, *operands)))
    return written


def replaced(written: Tensor, source: Tensor) -> Tensor:
    """A tensor of the caller's whose whole content is now the source's: it lies as that does.

    A source on some devices of the mesh alone leaves the tensor as it is; what is returned then is those devices' part of it.
    """
    topology = source.tensor_topology()
    if set(topology.mesh_coords()) != set(written.tensor_topology().mesh_coords()):
        written = written.alias()
    written.update_tensor_topology(topology)
    return written


def axis_of(dim: int, rank: int, refusal: str | None = None) -> int:
    """A tensor dimension counted from the front. Raises RuntimeError, with `refusal` if one is given, when there is none such."""
    if isinstance(dim, bool) or not isinstance(dim, int):
        raise ArgumentMismatch(f"a dimension is an int, not {type(dim).__name__}")
    if not -rank <= dim < max(rank, 1):
        raise fatal(
            refusal or f"ShapeBase[] index out of range. {dim} not in [-{max(rank, 4)}, {rank})",
            hint=in_range("dim", rank) if rank else None,
        )
    return dim % max(rank, 1)


def place_of(dim: int, rank: int) -> int:
    """As `axis_of`, in the words of operations that join, cut and exchange."""
    beyond = f"Index is out of bounds for the rank, should be between 0 and {rank - 1} however is {dim}"
    if not rank and isinstance(dim, int):
        raise fatal(beyond, hint="a number has no dimension: ttnn.reshape(tensor, (1, 1)) gives it some")
    return axis_of(dim, rank, beyond)


def axes_of(dims: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Dimensions of a reduction, each once, in order; None means all of them. Raises RuntimeError for one there is none of."""
    if dims is None:
        return tuple(range(rank))
    if type(dims) is int and -rank <= dims < rank:
        return (dims % rank,)  # by far the most frequent
    listed = [dims] if isinstance(dims, int) else list(dims)
    if rank == 0 and all(dim in (-1, 0) for dim in listed):
        # A number has no dimension; its one place counts as one.
        return ()
    for place, dim in enumerate(listed):
        if isinstance(dim, int) and not -_DIMENSIONS <= dim < _DIMENSIONS:
            raise fatal(
                f"Dimension must be in the range [{-_DIMENSIONS}, {_DIMENSIONS - 1}]",
                hint=in_range("dim", rank) if rank else None,
            )
        if isinstance(dim, int) and not -rank <= dim < max(rank, 1):
            raise fatal(
                f"Unsupported dim {dim + rank if dim < 0 else dim} at index {place}. After possible adjustment, needs to be at "
                f"least 0 and less than rank {rank}, or exactly 0 for a rank 0 tensor.",
                hint=in_range("dim", rank) if rank else None,
            )
    found = sorted(axis_of(dim, rank) for dim in listed)
    for place, (one, other) in enumerate(pairwise(found)):
        if one == other:
            raise fatal(
                f"reduce dim list contains a duplicate axis after sorting (indices {place} and {place + 1}, value {one})",
                "dim[i] != dim[i - 1]",
                hint="name each dimension once",
            )
    return tuple(found or range(rank))


def volume(shape: Sequence[int]) -> int:
    """Number of elements of a shape."""
    return math.prod(shape)


def ints(values: Any) -> tuple[int, ...]:
    """A shape or list of dimensions as given by a program. Raises what lists the signatures for anything else."""
    try:
        return tuple(operator.index(v) for v in values)
    except (TypeError, ValueError):
        raise ArgumentMismatch(f"expected a sequence of ints, got {values!r}") from None
