"""`ttnn.reduce_to_root`: partial softmax-attention results of a line of four devices folded into one. Source: reference library 0.81.1.

Each device holds, per core, a numerator l, a sum s and a maximum m of its part of the keys. The ends of the line send theirs inwards, then
the two inner devices meet at the root, which divides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime.ccl import checks
from tt_run.runtime.ccl.collectives import result
from tt_run.runtime.ccl.single_shards import carry
from tt_run.runtime.ccl.whole_calls import whole_call
from tt_run.runtime.enums import BufferType, DataType, Topology
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import operation
from tt_run.runtime.ops.goldens import mesh_goldens
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.bfloat16 import round_bfloat16
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]
State = list[Array]
"""l, s and m of one device."""

LENGTH = 4


@operation("ttnn.reduce_to_root", family=families.COLLECTIVE, golden=mesh_goldens.reduce_to_root)
@whole_call
def reduce_to_root(
    input_tensor_l: Tensor,
    input_tensor_s: Tensor,
    input_tensor_m: Tensor,
    root_coord: MeshCoordinate,
    *,
    scale_fp32: float = 1.0,
    topology: Any = Topology.Linear,
    output_tensor_l: Tensor | None = None,
    output_tensor_s: Tensor | None = None,
    output_tensor_m: Tensor | None = None,
    intermediate_tensor: Tensor | None = None,
    input_mux_cores: Sequence[Any] | None = None,
) -> list[Tensor]:
    """The attention output l/s, the sum s and the maximum m over the keys of all four devices, as [l, s, m] on the root.

    The other devices keep what the output tensors hold, zeros without them. Exponents are `scale_fp32 * (m - maximum)`; column 0 of a core's
    s and m stands for the core's columns of l. Raises RuntimeError for a mesh that is no line of four devices, a root at its end,
    and inputs that are not bfloat16 sharded over the same number of cores in L1.
    """
    inputs = [input_tensor_l, input_tensor_s, input_tensor_m]
    device = checks.device_of(input_tensor_l, "reduce_to_root")
    for tensor in inputs[1:]:
        if checks.device_of(tensor, "reduce_to_root") is not device:
            raise fatal(
                "Operands to reduce_to_root need to be on the same device!",
                hint="distribute all of them over one mesh",
            )
    root = checks.position_of(device, root_coord, "root")
    _check_line(device, root)
    cores = _cores(inputs)
    if input_mux_cores is not None and len(input_mux_cores) != LENGTH:
        raise fatal(
            f"Input mux cores size must be {LENGTH}, got {len(input_mux_cores)}",
            hint=f"input_mux_cores=[ttnn.CoreCoord(0, 0), …] of {LENGTH}, or leave it out",
        )

    meets = LENGTH - 1 - root
    state = inputs
    for sender, receiver in (
        (root - 1 if root < meets else root + 1, root),
        (meets + 1 if root < meets else meets - 1, meets),
        (meets, root),
    ):
        state = _fold(device, state, sender, receiver, cores, scale_fp32)
    outputs = [output_tensor_l, output_tensor_s, output_tensor_m]
    return [
        result(tensor, _at_root(device, root, row, given, tensor), tensor.tensor_topology(), None, given)
        for tensor, row, given in zip(inputs, _divided(device, root, state, cores), outputs, strict=True)
    ]


def _check_line(device: MeshDevice, root: int) -> None:
    if device.shape.mesh_size() != LENGTH or 1 not in device.shape:
        raise fatal(
            f"reduce_to_root works on a line of {LENGTH} devices, got {device.shape}",
            hint=f"cut one with mesh_device.create_submesh(ttnn.MeshShape({LENGTH}, 1))",
        )
    if root in (0, LENGTH - 1):
        raise fatal(
            "Root device must have both forward and backward neighbors in reduce_to_root op",
            hint="root_coord=ttnn.MeshCoordinate(1, 0)",
        )


def _cores(inputs: list[Tensor]) -> int:
    """Over how many cores every input is cut along its last dimension."""
    found = set()
    for name, tensor in zip("lsm", inputs, strict=True):
        memory = tensor.memory_config()
        if (
            tensor.dtype is not DataType.BFLOAT16
            or memory.buffer_type is not BufferType.L1
            or not memory.shard_spec
        ):
            raise fatal(
                f"reduce_to_root: input {name} must be bfloat16 and sharded in L1, got {tensor.dtype} in {memory}",
                hint="pass memory_config=ttnn.create_sharded_memory_config(shape, core_grid, ttnn.ShardStrategy.WIDTH)",
            )
        cores = memory.shard_spec.num_cores()
        if tensor.shape[-1] % cores:
            raise fatal(
                f"reduce_to_root: the {tensor.shape[-1]} columns of input {name} do not divide over {cores} cores",
                hint=f"a shard_spec over a number of cores that divides {tensor.shape[-1]} columns",
            )
        found.add((cores, *tensor.shape[:-1]))
    if len(found) > 1 or inputs[1].shape != inputs[2].shape:
        shapes = ", ".join(str(tensor.shape) for tensor in inputs)
        raise fatal(
            f"reduce_to_root: l, s and m must have the same rows and cores, s and m one shape, got {shapes}",
            hint="make l, s and m with one grid of cores; s and m with one shape",
        )
    return int(found.pop()[0])


def _fold(
    device: MeshDevice, state: list[Tensor], sender: int, receiver: int, cores: int, scale: float
) -> list[Tensor]:
    """Send three shards from one device to its neighbour, where both are merged."""
    ends = device.coords[sender], device.coords[receiver]
    arrived: list[Tensor] = [carry(tensor, ends) for tensor in state]
    if receiver not in device.local_positions:
        return state
    place = device.local_positions.index(receiver)
    merged = _merged(_rows(state, place), _rows(arrived, place), cores, scale)
    return [tensor.derive(_put(tensor.shards, place, row)) for tensor, row in zip(state, merged, strict=True)]


def _merged(own: State, other: State, cores: int, scale: float) -> State:
    """Two partial results as one: both are rescaled to the larger maximum."""
    top = np.maximum(own[2], other[2])
    mine, theirs = (np.exp(np.float32(scale) * (part[2] - top)) for part in (own, other))
    width = own[0].shape[-1] // cores
    numerator = own[0] * _per_core(mine, cores, width) + other[0] * _per_core(theirs, cores, width)
    return [round_bfloat16(numerator), round_bfloat16(own[1] * mine + other[1] * theirs), top]


def _per_core(values: Array, cores: int, width: int) -> Array:
    """Column 0 of each core's block, repeated over `width` columns."""
    return np.repeat(values[..., :: values.shape[-1] // cores], width, axis=-1)


def _divided(device: MeshDevice, root: int, state: list[Tensor], cores: int) -> list[Array | None]:
    """What the root gives out; None on ranks that do not host it."""
    if root not in device.local_positions:
        return [None] * len(state)
    numerator, total, top = _rows(state, device.local_positions.index(root))
    width = numerator.shape[-1] // cores
    with np.errstate(
        divide="ignore", invalid="ignore"
    ):  # a device divides by a sum of 0 in silence; so are those of a run in shapes
        output: Array = numerator / _per_core(total, cores, width)
    return [round_bfloat16(output), total, top]


def _rows(tensors: list[Tensor], place: int) -> State:
    rows = [tensor.shards.of(place) for tensor in tensors]
    if any(row is None for row in rows):
        raise fatal(
            "reduce_to_root: every device of the line must hold a shard of l, s and m",
            hint="mesh_mapper=ttnn.ShardTensorToMesh(device, dim=0) where l, s and m are made",
        )
    return [row for row in rows if row is not None]


def _put(shards: Shards, place: int, row: Array) -> Shards:
    """The shards with another row at one local device."""
    arrays = shards.each()
    arrays[place] = row
    return Shards.from_each(arrays)


def _at_root(device: MeshDevice, root: int, row: Array | None, given: Tensor | None, like: Tensor) -> Shards:
    base = like.shards.map(np.zeros_like) if given is None else given.shards
    return base if row is None else _put(base, device.local_positions.index(root), row)
