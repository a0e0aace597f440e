"""From a tensor on a mesh to the exchanges of its collective and back: the one place where collectives meet mesh, guard and events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tt_run.runtime import events, guard
from tt_run.runtime.ccl import fabric
from tt_run.runtime.ccl.gather import Piece
from tt_run.runtime.ccl.groups import DeviceGroup, Exchange, exchanges
from tt_run.runtime.ccl.shard_locations import Outline, Source, outline_of
from tt_run.runtime.ccl.wire import Alone, HalfWords, Ranks, Wire
from tt_run.runtime.comm.world import Group, world
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec, spec_of
from tt_run.runtime.tensor.spec.topology import TensorTopology
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import element_size
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Lane:
    """An exchange that this rank takes part in, its wire, and the local numbers of the rank's devices in it (None: all)."""

    exchange: Exchange
    wire: Wire
    locals: tuple[int, ...] | None

    def own(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """The part of a tensor's shard index that takes part."""
        return index if self.locals is None else tuple(index[i] for i in self.locals)


@dataclass(frozen=True, eq=False)
class Lanes:
    """What this rank needs to know about the collectives of one mesh along one axis.

    `group` are the ranks that have to agree, None when there is nobody to agree with.
    """

    groups: tuple[DeviceGroup, ...]
    parts: tuple[Lane, ...]
    positions: tuple[int, ...]
    locals: dict[int, int]
    group: Group | None

    @cached_property
    def members(self) -> int:
        """Devices per group."""
        return len(self.groups[0])


def lanes_of(device: MeshDevice, cluster_axis: int | None) -> Lanes:
    """The lanes of a mesh device along an axis. Raises RuntimeError for an axis that the mesh does not have."""
    key = (Lanes, cluster_axis)
    lanes: Lanes | None = device.known.get(key)
    if lanes is None:
        lanes = device.known[key] = _find(device, device.axis_groups(cluster_axis))
    return lanes


def _find(device: MeshDevice, groups: tuple[DeviceGroup, ...]) -> Lanes:
    here = world()
    positions = tuple(device.local_positions)
    numbers = {p: i for i, p in enumerate(positions)}
    parts = []
    for exchange in exchanges(groups, device.owner_ranks):
        if here.rank in exchange.ranks:
            wire = Alone() if exchange.local else Ranks(here.group(exchange.ranks))
            held = exchange.held[wire.rank]
            parts.append(Lane(exchange, wire, None if held == positions else tuple(numbers[p] for p in held)))
    group = device.group if device.group.size > 1 and device.group.is_member else None
    return Lanes(groups, tuple(parts), positions, numbers, group)


class Plan(NamedTuple):
    """What is known of a collective before its data: who takes part, what they must agree on, and what the result is like.

    `lane` is this rank's only one, else None; `outlines` remembers its exchanges by the shard index of the tensor.
    """

    device: MeshDevice
    lanes: Lanes
    lane: Lane | None
    signature: guard.Signature
    dim: int | None
    detail: str
    spec: TensorSpec
    topology: TensorTopology
    outlines: dict[tuple[int, ...], Outline]


def plan_of(
    name: str,
    tensor: Tensor,
    device: MeshDevice,
    cluster_axis: int | None = None,
    dim: int | None = None,
    detail: str = "",
    shape: tuple[int, ...] | None = None,
    topology: TensorTopology | None = None,
) -> Plan:
    """The plan of a call whose arguments were checked; what is not named is in the result as in the tensor."""
    spec = tensor.spec
    parts = [f"dim {dim}"] if dim is not None else []
    parts += [spec.layout.name, f"on {mesh_text(device)}"]
    parts += [detail] if detail else []
    signature = guard.Signature(name, cluster_axis, tuple(spec.shape), spec.dtype.name, ", ".join(parts))
    if shape is not None:
        spec = spec_of(shape, spec.dtype, spec.layout, spec.memory_config, spec.tile)
    lanes = lanes_of(device, cluster_axis)
    lane = lanes.parts[0] if len(lanes.parts) == 1 else None
    if lane is not None and (lane.locals is not None or _in_halves(tensor, lane)):
        lane = None
    topology = topology or tensor.tensor_topology()
    return Plan(device, lanes, lane, signature, dim, detail, spec, topology, {})


# Plans that a mesh remembers.
_REMEMBERED = 1024
Planning = Callable[[Tensor, int | None, Any], Plan]


def planned(planning: Planning, tensor: Tensor, cluster_axis: int | None = None, dim: Any = None) -> Plan:
    """What `planning` makes of the other arguments, remembered: it checks them, and programs repeat their calls.

    A plan depends on the spec and the topology of the tensor, which alike tensors share, on the mesh and on the fabric.
    """
    device = tensor.device() if isinstance(tensor, Tensor) else None
    if device is None or not device.is_open:
        return planning(tensor, cluster_axis, dim)
    spec, topology = tensor.spec, tensor.tensor_topology()
    # With the types, since True and 1.0 are not 1 here.
    key = (planning, cluster_axis, dim, type(cluster_axis), type(dim), id(spec), id(topology))
    plan: Plan
    found = device.known.get(key)
    if found is not None and found[0] is fabric.current():
        plan = found[1]
        return plan
    plan = planning(tensor, cluster_axis, dim)
    if len(device.known) >= _REMEMBERED:
        device.known.clear()
    device.known[key] = fabric.current(), plan, spec, topology
    return plan


def run(plan: Plan, tensor: Tensor, algorithm: Callable[..., Piece], *details: Any) -> Shards:
    """Agree, run `algorithm(source, *details)` on every exchange of this rank, announce. Returns what its devices hold then."""
    lane, shards = plan.lane, tensor.shards
    if lane is None or events.listening:
        call = Call(plan, tensor)
        return merge(over_lanes(call, algorithm, *details), call)
    outline = plan.outlines.get(shards.index)
    wire = lane.wire
    if outline is None or (outline.slots is None and wire.window is not None):
        outline = outline_of(shards.index, shards.shape, shards.data.dtype, lane.exchange, wire)
        plan.outlines[shards.index] = outline
    group = plan.lanes.group
    if outline.standing is not None and wire.window is not None:
        source, data = outline.standing[wire.window.next_slot()], shards.data
        source.data[...] = data if len(data) == 1 else data[outline.used[0]]
        if group is None or not guard.collective(group, plan.signature, 3):
            wire.window.meet()
    else:
        source = Source(shards.data, shards.index, lane.exchange, wire, outline)
        source.join(group is not None and guard.collective(group, plan.signature, 3))
    return Shards.known(*algorithm(source, *details))


class Call:
    """A collective as its ranks must agree on it; a `with` block around the data that it moves.

    Entering waits until every rank of the mesh makes the same call, and the guard raises when one does not. Leaving tells the listeners
    over which groups data moved: all of the axis, unless the block sets `moved`. It is a class and no generator because a generator
    would put its frames between the guard and the user's line.
    """

    __slots__ = ("_start", "device", "lanes", "met", "moved", "plan", "tensor")

    def __init__(self, plan: Plan, tensor: Tensor) -> None:
        self.plan, self.tensor, self.device = plan, tensor, plan.device
        self.lanes = plan.lanes
        self.moved: Sequence[DeviceGroup] = self.lanes.groups
        # Whether the guard has brought all ranks together.
        self.met = False
        self._start = 0.0

    def __enter__(self) -> Call:
        if events.listening:
            self._start = events.now()
        if self.lanes.group is not None:
            self.met = guard.collective(self.lanes.group, self.plan.signature)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if events.listening and kind is None:
            self._announce()

    def _announce(self) -> None:
        positions = self.device.positions
        spec = self.tensor.spec
        events.emit(
            events.Event(
                "collective",
                self.plan.signature.operation,
                start=self._start,
                end=events.now(),
                site=events.call_site(),
                mesh_id=self.device.mesh_id,
                devices=tuple(positions[p] for p in self.device.local_positions),
                groups=tuple(tuple(positions[p] for p in group) for group in self.moved),
                axis=self.plan.signature.axis,
                bytes=spec.padded_shape.volume() * element_size(spec.dtype),
                detail=self.plan.detail,
            )
        )


def mesh_text(device: MeshDevice) -> str:
    """A mesh device in the texts of the guard: its shape and where it lies on the system mesh."""
    return f"{'x'.join(map(str, device.shape))} at {device.positions[0]} of mesh {device.mesh_id}"


def over_lanes(call: Call, algorithm: Callable[..., Any], *details: Any) -> list[Any]:
    """Like `run`, with the outcomes in the order of the exchanges."""
    found = [_source(call.tensor, lane) for lane in call.lanes.parts]
    with call:
        return [algorithm(source.join(call.met), *details) for source in found]


def sources(tensor: Tensor, lanes: Lanes) -> Iterator[Source]:
    """The shards of a tensor for each exchange of this rank, after agreement; the ranks of an exchange ask for it together."""
    for lane in lanes.parts:
        yield _source(tensor, lane).join()


def _source(tensor: Tensor, lane: Lane) -> Source:
    shards, wire = tensor.shards, lane.wire
    if _in_halves(tensor, lane):
        wire = HalfWords(wire)
    return Source(shards.data, lane.own(shards.index), lane.exchange, wire)


def _in_halves(tensor: Tensor, lane: Lane) -> bool:
    return not lane.wire.same_host and tensor.dtype is DataType.BFLOAT16


def merge(pieces: Sequence[Piece], call: Call) -> Shards:
    """The outcomes of a rank's exchanges as the shards of its devices, of which it may have none."""
    lanes = call.lanes
    if len(pieces) == 1:
        return Shards.known(*pieces[0])
    if not pieces:
        return Shards(np.empty((0, *call.plan.spec.shape), call.tensor.shards.data.dtype), ())
    index = [-1] * len(lanes.positions)
    total = 0
    for piece, lane in zip(pieces, lanes.parts, strict=True):
        assert lane.locals is not None
        for local, row in zip(lane.locals, piece.rows, strict=True):
            index[local] = total + row
        total += len(piece.data)
    return Shards(np.concatenate([piece.data for piece in pieces]), tuple(index))
