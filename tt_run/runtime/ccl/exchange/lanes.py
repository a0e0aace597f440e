"""The exchanges that a rank takes part in for the collectives of a mesh along an axis, each with its wire."""

from __future__ import annotations

from functools import cached_property

from mgd.lean import dataclass
from tt_run.runtime.ccl.exchange.groups import DeviceGroup, Exchange, exchanges
from tt_run.runtime.ccl.exchange.wire import Alone, HalfWords, Ranks, Wire
from tt_run.runtime.comm.world import Group, world
from tt_run.runtime.mesh.device import MeshDevice


@dataclass(frozen=True)
class Lane:
    """An exchange that this rank takes part in, its wire, and the local numbers of the rank's devices in it (None: all)."""

    exchange: Exchange
    wire: Wire
    locals: tuple[int, ...] | None

    def own(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """The part of a tensor's shard index that takes part."""
        return index if self.locals is None else tuple(index[i] for i in self.locals)

    def in_halves(self) -> Lane:
        """The same exchange for values that fit 16 bits: inside a host the conversion costs more than the bytes it saves."""
        return self if self.wire.same_host else Lane(self.exchange, HalfWords(self.wire), self.locals)


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


def lanes_of(device: MeshDevice, cluster_axis: int | None, holders: frozenset[int] | None = None) -> Lanes:
    """The lanes of a mesh device along an axis; `holders` are the positions that take part, None for all.

    Raises RuntimeError for an axis that the mesh does not have.
    """
    key = (Lanes, cluster_axis, holders)
    lanes: Lanes | None = device.known.get(key)
    if lanes is None:
        groups = device.axis_groups(cluster_axis)
        if holders is not None:
            cut = (tuple(p for p in group if p in holders) for group in groups)
            groups = tuple(group for group in cut if group)
        lanes = device.known[key] = _find(device, groups)
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
