"""From a tensor on a mesh to the exchanges of its collective and back: the one place where collectives meet mesh, guard and events."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime import events, guard
from tt_run.runtime.ccl.gather import Piece
from tt_run.runtime.ccl.groups import DeviceGroup, Exchange, exchanges
from tt_run.runtime.ccl.rows import Source
from tt_run.runtime.ccl.wire import Alone, HalfWords, Ranks, Wire
from tt_run.runtime.comm import Group, world
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.tensor.dtypes import element_size
from tt_run.runtime.tensor.shards import Shards
from tt_run.runtime.tensor.tensor import Tensor

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

    `group` are the ranks that have to agree, None when there is nobody to agree with; `signatures` remembers what repeated calls
    would build anew.
    """

    groups: tuple[DeviceGroup, ...]
    parts: tuple[Lane, ...]
    positions: tuple[int, ...]
    locals: dict[int, int]
    group: Group | None
    signatures: dict[Any, guard.Signature] = field(default_factory=dict)

    @cached_property
    def members(self) -> int:
        """Devices per group."""
        return len(self.groups[0])


# Per mesh device: the device's arrangement (a reshape makes a new tuple) and the lanes by axis.
_known: weakref.WeakKeyDictionary[MeshDevice, tuple[tuple[int, ...], dict[int | None, Lanes]]]
_known = weakref.WeakKeyDictionary()


def lanes_of(device: MeshDevice, cluster_axis: int | None) -> Lanes:
    """The lanes of a mesh device along an axis. Raises RuntimeError for an axis that the mesh does not have."""
    known = _known.get(device)
    if known is None or known[0] is not device.positions:
        known = _known[device] = (device.positions, {})
    lanes = known[1].get(cluster_axis)
    if lanes is None:
        lanes = known[1][cluster_axis] = _find(device, device.axis_groups(cluster_axis))
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


class Call:
    """A collective as its ranks must agree on it; a `with` block around the data that it moves.

    Entering waits until every rank of the mesh makes the same call, and the guard raises when one does not. Leaving tells the listeners
    over which groups data moved: all of the axis, unless the block sets `moved`. It is a class and no generator because a generator
    would put its frames between the guard and the user's line.
    """

    __slots__ = ("_start", "cluster_axis", "detail", "device", "dim", "lanes", "moved", "name", "tensor")

    def __init__(
        self,
        name: str,
        tensor: Tensor,
        device: MeshDevice,
        cluster_axis: int | None = None,
        dim: int | None = None,
        detail: str = "",
    ) -> None:
        self.name, self.tensor, self.device, self.dim, self.detail = name, tensor, device, dim, detail
        self.cluster_axis = cluster_axis
        self.lanes = lanes_of(device, cluster_axis)
        self.moved: Sequence[DeviceGroup] = self.lanes.groups
        self._start = 0.0

    def __enter__(self) -> Call:
        if events.listening:
            self._start = events.now()
        if self.lanes.group is not None:
            guard.collective(self.lanes.group, self._signature())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if events.listening and kind is None:
            self._announce()

    def _signature(self) -> guard.Signature:
        spec = self.tensor.spec
        key = (self.name, self.tensor.shards.data.shape[1:], spec.dtype, spec.layout, self.dim, self.detail)
        signature = self.lanes.signatures.get(key)
        if signature is None:
            parts = [f"dim {self.dim}"] if self.dim is not None else []
            parts += [spec.layout.name, f"on {mesh_text(self.device)}"]
            parts += [self.detail] if self.detail else []
            signature = self.lanes.signatures[key] = guard.Signature(
                self.name, self.cluster_axis, tuple(spec.shape), spec.dtype.name, ", ".join(parts)
            )
        return signature

    def _announce(self) -> None:
        positions = self.device.positions
        spec = self.tensor.spec
        events.emit(
            events.Event(
                "collective",
                self.name,
                start=self._start,
                end=events.now(),
                site=events.call_site(),
                mesh_id=self.device.mesh_id,
                devices=tuple(positions[p] for p in self.device.local_positions),
                groups=tuple(tuple(positions[p] for p in group) for group in self.moved),
                axis=self.cluster_axis,
                bytes=spec.padded_shape.volume() * element_size(spec.dtype),
                detail=self.detail,
            )
        )


def mesh_text(device: MeshDevice) -> str:
    """A mesh device in the texts of the guard: its shape and where it lies on the system mesh."""
    return f"{'x'.join(map(str, device.shape))} at {device.positions[0]} of mesh {device.mesh_id}"


def over_lanes(call: Call, algorithm: Callable[..., Any], *details: Any) -> list[Any]:
    """Agree, run `algorithm(source, *details)` on every exchange of this rank, announce. Returns the outcomes in order."""
    with call:
        return [algorithm(source, *details) for source in sources(call.tensor, call.lanes)]


def sources(tensor: Tensor, lanes: Lanes) -> Iterator[Source]:
    """The shards of a tensor for each exchange of this rank; the ranks of an exchange ask for it together."""
    shards = tensor.shards
    for lane in lanes.parts:
        wire = lane.wire
        if not wire.same_host and tensor.dtype is DataType.BFLOAT16:
            wire = HalfWords(wire)
        yield Source(shards.data, lane.own(shards.index), lane.exchange, wire)


def merge(pieces: Sequence[Piece], lanes: Lanes, shape: tuple[int, ...], dtype: Any) -> Shards:
    """The outcomes of a rank's exchanges as the shards of its devices; `shape` is that of a rank without devices."""
    if len(pieces) == 1:
        return Shards(pieces[0].data, pieces[0].rows)
    if not pieces:
        return Shards(np.empty((0, *shape), dtype), ())
    index = [-1] * len(lanes.positions)
    total = 0
    for piece, lane in zip(pieces, lanes.parts, strict=True):
        assert lane.locals is not None
        for local, row in zip(lane.locals, piece.rows, strict=True):
            index[local] = total + row
        total += len(piece.data)
    return Shards(np.concatenate([piece.data for piece in pieces]), tuple(index))
