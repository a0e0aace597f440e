"""Collectives that move single shards, and the partition that moves none. Source: reference library 0.81.1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime import traffic
from tt_run.runtime.ccl import checks, memory_checks, result_topology
from tt_run.runtime.ccl.calls import CallContext
from tt_run.runtime.ccl.collectives import result
from tt_run.runtime.ccl.exchange import fabric
from tt_run.runtime.ccl.exchange.lanes import lanes_of
from tt_run.runtime.ccl.exchange.wire import HalfWords, Ranks, Wire
from tt_run.runtime.ccl.plans import on_subdevice, planned, written_into
from tt_run.runtime.ccl.record import Collective, Intent
from tt_run.runtime.comm.world import world
from tt_run.runtime.enums import DataType, Topology
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import Operation, operation
from tt_run.runtime.ops.goldens import mesh_goldens
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values import recycled_arrays, shapes
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]


@operation("ttnn.broadcast", family=families.COLLECTIVE, golden=mesh_goldens.broadcast)
def broadcast(
    input_tensor: Tensor,
    sender_coord: MeshCoordinate,
    *,
    num_links: int | None = None,
    memory_config: MemoryConfig | None = None,
    topology: Any = Topology.Linear,
    cluster_axis: int | None = None,
    subdevice_id: Any = None,
) -> Tensor:
    """Give the sender's shard to every device of its group; devices of other groups keep their own.

    Raises RuntimeError for a sender outside of the mesh.
    """
    tuning = topology, num_links, memory_config, on_subdevice(subdevice_id)
    plan = planned(BROADCAST, input_tensor, cluster_axis, sender_coord, tuning)
    (sender,) = plan.arguments
    device = plan.device
    with CallContext(plan, input_tensor) as call:
        (group,) = [group for group in plan.lanes.groups if sender in group]
        row = plan.collective.algorithm(call, sender, sorted({device.owner_ranks[p] for p in group}))
        shards = input_tensor.shards
        if row is not None:
            members = set(group)
            shards = _replaced(shards, [i for i, p in enumerate(device.local_positions) if p in members], row)
    return result(input_tensor, shards, plan.topology, memory_config)


def _check_broadcast(tensor: Tensor, device: MeshDevice, cluster_axis: int | None, sender: Any) -> Intent:
    position = checks.position_of(device, sender, "sender")
    held = checks.holders(tensor, device)
    if held is not None and position not in held:
        raise fatal(
            f"the sender {sender} holds no shard of the tensor",
            "sender holds a shard",
            hint="distribute the tensor over the sender too, or name a device that holds a shard",
        )
    spread = tensor.tensor_topology().distribution_shape()
    if cluster_axis is None and sum(extent > 1 for extent in spread) > 1:
        raise fatal(
            "broadcast op is only supported for a linear tensor topology shape",
            f"tensor topology shape {spread} is a line",
            hint="name cluster_axis: the devices of the sender's row or column take its shard",
        )
    checks.members_of(tensor, device, cluster_axis)
    return Intent(arguments=(position,), detail=f"sender {_place(sender)}")


@operation("ttnn.point_to_point", family=families.COLLECTIVE, golden=mesh_goldens.point_to_point)
def point_to_point(
    input_tensor: Tensor,
    sender_coord: MeshCoordinate,
    receiver_coord: MeshCoordinate,
    *,
    output_tensor: Tensor | None = None,
    intermediate_tensor: Tensor | None = None,
    topology: Any = Topology.Linear,
) -> Tensor:
    """Copy one device's shard to another device. The other shards are those of `output_tensor`, zeros without one.

    Raises RuntimeError for coordinates outside of the mesh, on a 1-D fabric for devices that share neither row nor column, and for pages
    that do not go into packets: block floats, shards on cores, rows that are not whole multiples of 16 bytes.
    """
    return carry(input_tensor, (sender_coord, receiver_coord), output_tensor, topology, in_packets=True)


def carry(
    tensor: Tensor,
    ends: tuple[MeshCoordinate, MeshCoordinate],
    output_tensor: Tensor | None = None,
    topology: Any = Topology.Linear,
    *,
    in_packets: bool = False,
) -> Tensor:
    """Copy one device's shard to another; `in_packets`: as `ttnn.point_to_point` does, which does not take every tensor."""
    plan = planned(POINT_TO_POINT, tensor, None, ends, written_into((topology, None, None), output_tensor))
    sender, receiver = plan.arguments
    if in_packets:
        memory_checks.check_transfer(tensor)
    if output_tensor is not None and output_tensor.spec != tensor.spec:
        raise fatal(
            f"Output tensor must have the spec of the input: {output_tensor.spec.text()} != {tensor.spec.text()}",
            hint="leave output_tensor out",
        )
    device, owners = plan.device, plan.device.owner_ranks
    with CallContext(plan, tensor) as call:
        row = plan.collective.algorithm(call, sender, sorted({owners[sender], owners[receiver]}))
        shards = _zeros(tensor) if output_tensor is None else output_tensor.shards
        if row is not None and receiver in device.local_positions:
            shards = _replaced(shards, [device.local_positions.index(receiver)], row)
    return result(tensor, shards, plan.topology, None, output_tensor)


def _check_point_to_point(
    _: Tensor, device: MeshDevice, __: int | None, ends: tuple[MeshCoordinate, MeshCoordinate]
) -> Intent:
    sender = checks.position_of(device, ends[0], "sender")
    receiver = checks.position_of(device, ends[1], "receiver")
    fabric.check_route(*ends)
    return Intent(arguments=(sender, receiver), detail=f"from {_place(ends[0])} to {_place(ends[1])}")


@operation("ttnn.mesh_partition", family=families.MOVEMENT, golden=mesh_goldens.mesh_partition)
def mesh_partition(
    input_tensor: Tensor,
    dim: int,
    cluster_axis: int | None = None,
    *,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """Device i of each group keeps slice i of `dim`: the inverse of an all-gather, without communication.

    Raises RuntimeError when `dim` does not divide by the size of the group.
    """
    cut = _cut(input_tensor, dim, cluster_axis)
    if cut.parts > 1:
        memory_checks.check_named(memory_config, input_tensor.layout)
    checks.tile_borders(input_tensor, cut.dim, cut.parts)
    if cut.parts == 1 and memory_config in (None, input_tensor.memory_config()):
        return input_tensor.alias()
    return _part_of_each(input_tensor, cut, memory_config)


def _partition_of_any_size(input_tensor: Tensor, dim: int, cluster_axis: int | None = None) -> Tensor:
    return _part_of_each(input_tensor, _cut(input_tensor, dim, cluster_axis), None)


partition_of_any_size = Operation(
    mesh_partition.name, _partition_of_any_size, family=mesh_partition.family, golden=mesh_partition.golden
)
"""The same operation for `ttml`, whose parameters and activations are of any size: its parts may begin within a tile."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """Dimension `dim`, counted from the front, in equal parts over the devices of each group along an axis of the mesh."""

    device: MeshDevice
    cluster_axis: int | None
    dim: int
    parts: int


def _cut(tensor: Tensor, dim: int, cluster_axis: int | None) -> _Cut:
    device = checks.device_of(tensor, "mesh_partition")
    if isinstance(cluster_axis, int) and cluster_axis > 1:
        raise fatal(
            "Only support cluster axis of None, 0 or 1",
            "cluster_axis <= 1",
            hint="cluster_axis=0 goes along columns, from row to row; cluster_axis=1 along rows",
        )
    parts = checks.members_of(tensor, device, cluster_axis, any_ring=True)
    return _Cut(device, cluster_axis, checks.partition_dim(tensor, dim, parts), parts)


def _part_of_each(tensor: Tensor, cut: _Cut, memory_config: MemoryConfig | None) -> Tensor:
    device, dim = cut.device, cut.dim
    groups = lanes_of(device, cut.cluster_axis, checks.holders(tensor, device)).groups
    place = {position: number for group in groups for number, position in enumerate(group)}
    shards, length = tensor.shards, tensor.shape[dim] // cut.parts
    rows: dict[tuple[int, int], int] = {}
    index = []
    for position, row in zip(device.local_positions, shards.index, strict=True):
        index.append(-1 if row < 0 else rows.setdefault((row, place[position]), len(rows)))
    shape = list(shards.shape)
    shape[dim] = length
    if shapes.active():
        rows.clear()
    data = recycled_arrays.empty((len(rows), *shape), shards.data.dtype)
    for (row, part), number in rows.items():
        data[number] = shards.data[row][(slice(None),) * dim + (slice(part * length, (part + 1) * length),)]
    topology = result_topology.partitioned(tensor, device, cut.cluster_axis, dim)
    if memory_config is None and tensor.is_sharded():
        memory_config = tensor.memory_config()  # which the part has to fit
    return result(tensor, Shards(data, tuple(index)), topology, memory_config)


def _place(coord: MeshCoordinate) -> str:
    """A coordinate as one item of a signature."""
    return f"({','.join(map(str, coord))})"


def _carried(call: CallContext, sender: int, ranks: list[int]) -> Array | None:
    """The sender's shard on the ranks that take part, None on others."""
    device, here = call.plan.device, world()
    if here.rank not in ranks:
        return None
    root = device.owner_ranks[sender]
    shards = call.tensor.shards
    if shapes.active() and root != here.rank:
        return shards.row(0)
    if root == here.rank:
        row = shards.of(device.local_positions.index(sender))
        if row is None:
            raise fatal(
                f"the sender at position {sender} holds no shard of the tensor",
                hint="distribute the tensor over the sender too, or name a device that holds a shard",
            )
        if shapes.active():
            return row
        row = np.asarray(row, order="C")
    else:
        row = recycled_arrays.empty(tuple(call.tensor.shape), shards.data.dtype)
    if len(ranks) == 1:
        return row
    wire: Wire = Ranks(here.group(ranks))
    if not wire.same_host and call.tensor.dtype is DataType.BFLOAT16:
        wire = HalfWords(wire)
    number = ranks.index(root)
    peers = [peer for peer in range(len(ranks)) if peer != number]
    if root == here.rank:
        wire.swap([(peer, row) for peer in peers], [])
    else:
        wire.swap([], [(number, row)])
    return row


def _from_sender(groups: Sequence[Sequence[int]], arguments: Sequence[Any]) -> list[tuple[int, ...]]:
    """The group of the sender, which comes first in it."""
    (sender,) = arguments
    return [(sender, *(p for p in group if p != sender)) for group in groups if sender in group]


BROADCAST = Collective(
    "broadcast",
    _check_broadcast,
    _carried,
    traffic.CHAIN,
    result_topology.replicated,
    fitting=memory_checks.check_broadcast,
    from_one=True,
    moving=_from_sender,
)
POINT_TO_POINT = Collective(
    "point_to_point",
    _check_point_to_point,
    _carried,
    traffic.DIRECT,
    result_topology.unchanged,
    from_one=True,
    moving=lambda _, ends: [(ends[0], ends[1])],
)


def _replaced(shards: Shards, places: list[int], row: Array) -> Shards:
    """The shards with one row put at some local devices, stored once."""
    if shapes.active():
        return Shards(shards.data, tuple(0 if i in places else old for i, old in enumerate(shards.index)))
    index = [-2 if i in places else old for i, old in enumerate(shards.index)]
    kept = sorted({old for old in index if old >= 0})
    if not kept:
        return Shards(row[None], tuple(0 if i == -2 else i for i in index))
    data = np.concatenate([shards.data[kept], row[None]])
    return Shards(data, tuple(len(kept) if i == -2 else kept.index(i) if i >= 0 else -1 for i in index))


def _zeros(tensor: Tensor) -> Shards:
    shards = tensor.shards
    return Shards.replicated(np.zeros(shards.shape, shards.data.dtype), len(shards.index))
