"""From a tensor on a mesh to the exchanges of its collective and back: the one place where collectives meet mesh, guard and events."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime import events, guard
from tt_run.runtime.ccl.gather import Piece
from tt_run.runtime.ccl.groups import DeviceGroup, Exchange, exchanges
from tt_run.runtime.ccl.rows import Source
from tt_run.runtime.ccl.wire import Alone, HalfWords, Ranks, Wire
from tt_run.runtime.comm import world
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

    `signatures` remembers what repeated calls would build anew.
    """

    groups: tuple[DeviceGroup, ...]
    parts: tuple[Lane, ...]
    positions: tuple[int, ...]
    locals: dict[int, int]
    signatures: dict[Any, guard.Signature] = field(default_factory=dict)

    @property
    def members(self) -> int:
        """Devices per group."""
        return len(self.groups[0])


# Per mesh device: the device's arrangement (a reshape makes a new tuple) and the lanes by axis.
_known: weakref.WeakKeyDictionary[MeshDevice, tuple[tuple[int, ...], dict[int | None, Lanes]]]
_known = weakref.WeakKeyDictionary()


def lanes_of(device: MeshDevice, cluster_axis: int | None) -> Lanes:
    """The lanes of a mesh device along an axis. Raises RuntimeError for an axis that the mesh does not have."""
    arranged, by_axis = _known.get(device, ((), {}))
    if arranged is not device.positions:
        by_axis = {}
        _known[device] = (device.positions, by_axis)
    if cluster_axis not in by_axis:
        by_axis[cluster_axis] = _find(device, device.axis_groups(cluster_axis))
    return by_axis[cluster_axis]


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
    return Lanes(groups, tuple(parts), positions, numbers)


@dataclass(frozen=True)
class Call:
    """A collective as its ranks must agree on it."""

    name: str
    tensor: Tensor
    device: MeshDevice
    cluster_axis: int | None = None
    dim: int | None = None
    detail: str = ""

    def agree(self) -> None:
        """Wait until every rank of the mesh makes the same call; the guard raises when one does not."""
        group = self.device.group
        if group.size > 1 and group.is_member:
            known = lanes_of(self.device, self.cluster_axis).signatures
            spec = self.tensor.spec
            key = (self.name, tuple(spec.shape), spec.dtype, spec.layout, self.dim, self.detail)
            signature = known.get(key)
            if signature is None:
                signature = known[key] = self._signature()
            guard.collective(group, signature)

    def _signature(self) -> guard.Signature:
        spec = self.tensor.spec
        parts = [f"dim {self.dim}"] if self.dim is not None else []
        parts += [spec.layout.name, f"on {mesh_text(self.device)}"]
        parts += [self.detail] if self.detail else []
        return guard.Signature(
            self.name, self.cluster_axis, tuple(spec.shape), spec.dtype.name, ", ".join(parts)
        )

    def announced(self) -> Announcement:
        """Agree, let a `with` block move the data, then tell the listeners over which groups: those the block put into the list."""
        return Announcement(self)

    def emit(self, start: float, groups: Sequence[DeviceGroup]) -> None:
        positions = self.device.positions
        spec = self.tensor.spec
        events.emit(
            events.Event(
                "collective",
                self.name,
                start=start,
                end=events.now(),
                site=events.call_site(),
                mesh_id=self.device.mesh_id,
                devices=tuple(positions[p] for p in self.device.local_positions),
                groups=tuple(tuple(positions[p] for p in group) for group in groups),
                axis=self.cluster_axis,
                bytes=spec.padded_shape.volume() * element_size(spec.dtype),
                detail=self.detail,
            )
        )


class Announcement:
    """The `with` block of one call. A class of its own: generators would put their frames between guard and the user's line."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._start = 0.0
        self._moved: list[DeviceGroup] = []

    def __enter__(self) -> list[DeviceGroup]:
        self._start = events.now() if events.listening else 0.0
        self._call.agree()
        return self._moved

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if events.listening and kind is None:
            self._call.emit(self._start, self._moved)


def mesh_text(device: MeshDevice) -> str:
    """A mesh device in the texts of the guard: its shape and where it lies on the system mesh."""
    return f"{'x'.join(map(str, device.shape))} at {device.positions[0]} of mesh {device.mesh_id}"


def over_lanes(call: Call, algorithm: Callable[[Source], Any]) -> list[Any]:
    """Agree, run the algorithm on every exchange of this rank, announce. Returns the outcomes in order."""
    lanes = lanes_of(call.device, call.cluster_axis)
    with call.announced() as moved:
        moved.extend(lanes.groups)
        return [algorithm(source) for source in sources(call.tensor, lanes)]


def sources(tensor: Tensor, lanes: Lanes) -> Iterator[Source]:
    """The shards of a tensor for each exchange of this rank; the ranks of an exchange ask for it together."""
    shards = tensor.shards
    for lane in lanes.parts:
        wire = lane.wire
        if not wire.same_host and tensor.dtype is DataType.BFLOAT16:
            wire = HalfWords(wire)
        yield Source(shards.data, lane.own(shards.index), lane.exchange, wire)


def merge(pieces: Sequence[Piece], positions: Sequence[int], shape: tuple[int, ...], dtype: Any) -> Shards:
    """The outcomes of a rank's exchanges as the shards of its devices; `shape` is that of a rank without devices."""
    if len(pieces) == 1:
        rows = pieces[0].rows
        return Shards(pieces[0].data, tuple(rows[p] for p in positions))
    if not pieces:
        return Shards(np.empty((0, *shape), dtype), ())
    first: dict[int, int] = {}
    total = 0
    for piece in pieces:
        first.update({p: total + row for p, row in piece.rows.items()})
        total += len(piece.data)
    return Shards(np.concatenate([piece.data for piece in pieces]), tuple(first[p] for p in positions))
