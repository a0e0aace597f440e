"""What should be the same on several devices, and is not: found where a collective uses it.

Switched on by TT_RUN_CHECK_REPLICAS=1. Before each collective, before a mesh is closed, and at the end of programs that leave it open, the ranks
exchange a hash of every shard of the tensors that are to be sent and of those that are trained (what optimizers and `sync_gradients` were given)
and have changed since; where their placements say that devices hold replicas, the hashes must agree. Ranks that draw their weights from
differently seeded generators, that load another checkpoint, or that skip a step of the optimizer, are found at the next collective. It costs one
pass over what is hashed (about 1 ms for 1 MiB) and one small all-gather between ranks per collective.
"""

from __future__ import annotations

import hashlib
import itertools
import sys
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from tt_run.rules import guard_rule
from tt_run.runtime import events, guard
from tt_run.runtime.ccl.plans import Plan
from tt_run.runtime.comm.group import Group
from tt_run.runtime.comm.world import world
from tt_run.runtime.guard.lifecycle import compares_replicas
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, TensorTopology
from tt_run.runtime.tensor.tensor import Tensor

DIFFERENT = "TTG008"
_WORD = (1 << 64) - 1


def attach() -> None:
    """Check every collective from now on, if TT_RUN_CHECK_REPLICAS says so."""
    if compares_replicas():
        weights = _Weights()
        events.hear_of_trained(weights.add)
        events.precede(lambda begun: _check(begun, weights))
        MeshDevice.closing.append(weights.check_at_close)
        guard.at_common_end(weights.check_at_end)


class _Comparison(NamedTuple):
    """What is compared: of which devices, called so in an error, with the shards of this rank."""

    key: int
    name: str
    tensor: Tensor
    groups: list[list[int]]


class _Weights:
    """The tensors that the program trains, and what the ranks of a group have told each other of them."""

    def __init__(self) -> None:
        self._keys: weakref.WeakKeyDictionary[Any, tuple[int, str]] = weakref.WeakKeyDictionary()
        self._count: defaultdict[str, int] = defaultdict(int)
        self._read: Callable[[Any], Tensor] = lambda tensor: tensor
        self._last: defaultdict[tuple[int, ...], dict[int, object]] = defaultdict(
            dict
        )  # of each group, shards as they were told
        self._known: defaultdict[tuple[int, ...], dict[tuple[int, int], int]] = defaultdict(dict)

    def add(self, parameters: Mapping[str, Any], read: Callable[[Any], Tensor]) -> None:
        """Watch these from now on. The ranks meet them in one order: the second of a name is not the first of another rank."""
        self._read = read
        for name, tensor in parameters.items():
            if tensor not in self._keys:
                text = f"{name} {self._count[name]}".encode()
                key = int.from_bytes(hashlib.blake2b(text, digest_size=7).digest(), "little")
                self._keys[tensor] = (key, name)
                self._count[name] += 1

    def changed(self, device: MeshDevice, ranks: tuple[int, ...]) -> list[_Comparison]:
        """Those on the mesh of which these ranks have been told something else, or nothing."""
        last = self._last[ranks]
        found = []
        for tensor, (key, name) in list(self._keys.items()):
            value = self._read(tensor)
            if value.device() is device and last.get(key) is not value.shards:
                last[key] = value.shards
                found.append(_Comparison(key, name, value, list(replicas(value, device))))
        return found

    def known(self, ranks: tuple[int, ...]) -> dict[tuple[int, int], int]:
        """The last hash that these ranks have told each other, by weight and device."""
        return self._known[ranks]

    def _forget(self, ranks: tuple[int, ...]) -> None:
        """Tells these ranks of everything anew: what one of them no longer has is not compared by what it was."""
        self._last.pop(ranks, None)
        self._known.pop(ranks, None)

    def check_at_close(self, device: MeshDevice) -> None:
        """The last step is followed by no collective. The ranks have agreed to close the mesh, unless one leaves with an exception."""
        if device.parent is None and device.group.is_member and sys.exc_info()[1] is None:
            where = f"before the mesh is closed at {events.call_site()}"
            _compare(device, device.group if device.group.size > 1 else None, [], self, where)

    def check_at_end(self) -> None:
        """Every rank calls it once all programs have ended. Of a mesh that not all of its ranks still have, nothing is compared."""
        everyone = world().everyone
        meshes = {
            _number(device): device
            for device in MeshDevice.roots()
            if device.group.is_member and device.group.size > 1
        }
        said = everyone.allgather_bytes(np.array(list(meshes), np.int64).tobytes())
        open_of = [set(np.frombuffer(one, np.int64).tolist()) for one in said]
        for number, device in meshes.items():
            if all(number in open_of[rank] for rank in device.group.ranks):
                device.group.waiting = None  # as in `Lifecycle._meet`, whose call this is
                self._forget(tuple(device.group.ranks))
                _compare(device, device.group, [], self, "at the end of the program")


def _number(device: MeshDevice) -> int:
    """The same on all ranks that have opened the mesh, and that of no other."""
    text = f"{device.id()} {tuple(device.shape)} {tuple(device.group.ranks)}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest(), "little")


def _check(begun: events.Begun, weights: _Weights) -> None:
    if begun.kind != "collective":
        return
    plan: Plan = begun.subject
    sent = () if plan.collective.from_one else begun.args
    told = [_Comparison(-1 - i, "", each, list(replicas(each, plan.device))) for i, each in enumerate(sent)]
    if plan.group is not None:
        # The ranks must be in the same call before they may exchange anything.
        guard.collective(plan.group, plan.signature)
    _compare(plan.device, plan.group, told, weights, f"in {plan.signature} at {events.call_site()}")


def replicas(tensor: Tensor, device: MeshDevice) -> Iterator[list[int]]:
    """The positions of the devices that should hold the same, for each set of more than one."""
    topology: TensorTopology = tensor.tensor_topology()
    placements = topology.placements()
    ranges = [range(extent) for extent in topology.distribution_shape()]
    same: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for place, coord in zip(itertools.product(*ranges), topology.mesh_coords(), strict=False):
        pairs = zip(place, placements, strict=True)
        key = tuple(0 if isinstance(p, PlacementReplicate) else i for i, p in pairs)
        position = device.index_of(coord)
        if position is not None:
            same[key].append(position)
    return (positions for positions in same.values() if len(positions) > 1)


def _compare(
    device: MeshDevice, group: Group | None, sent: list[_Comparison], weights: _Weights, where: str
) -> None:
    """Raise GuardError on every rank when devices of one set hold different values."""
    ranks = () if group is None else tuple(group.ranks)
    told = [*sent, *weights.changed(device, ranks)]
    found = _everyones_hashes(device, group, told)
    known = weights.known(ranks)
    known.update({at: digest for at, digest in found.items() if at[0] >= 0})
    found = {**known, **found}
    for each in told:
        for positions in each.groups:
            _raise_where_different(device, each, positions, found, where)


def _raise_where_different(
    device: MeshDevice,
    told: _Comparison,
    positions: list[int],
    found: Mapping[tuple[int, int], int],
    where: str,
) -> None:
    owners = device.owner_ranks
    held = {p: found[told.key, p] for p in positions if (told.key, p) in found}
    counts: defaultdict[int, list[int]] = defaultdict(list)
    for position, digest in held.items():
        counts[digest].append(position)
    if len(counts) < 2:
        return
    sets = sorted(counts.values(), key=lambda each: (-len(each), each))
    tie = len(sets[0]) == len(sets[1])
    suspects = positions if tie else [p for p in positions if p not in sets[0]]
    lines = [
        f"  {_devices(device, each)} (rank {', '.join(map(str, sorted({owners[p] for p in each})))}): hash {held[each[0]] & _WORD:016x}"
        for each in sets
    ]
    what = f"the weight {told.name!r}, compared {where}" if told.name else where
    raise guard.GuardError(
        "\n".join(
            (
                f"error[{DIFFERENT}]: {len(sets)} different values where {_devices(device, positions)} should hold replicas",
                f"  {what}; the tensor's placements are {told.tensor.tensor_topology().placements()}",
                *lines,
                f"  help: {guard_rule(DIFFERENT).help}",
            )
        ),
        DIFFERENT,
        tuple(sorted({owners[p] for p in suspects})),
    )


def _everyones_hashes(
    device: MeshDevice, group: Group | None, told: list[_Comparison]
) -> dict[tuple[int, int], int]:
    """The hash of each device's shard, by key and position, of all ranks that take part."""
    own = []
    for each in told:
        if each.groups:
            shards = each.tensor.shards
            digests = [_digest(row) for row in shards.data]
            places = zip(device.local_positions, shards.index, strict=True)
            own += [(each.key, position, digests[row]) for position, row in places if row >= 0]
    if group is None:
        return {(key, position): digest for key, position, digest in own}
    said = group.allgather_bytes(np.array(own, np.int64).tobytes())
    rows = np.frombuffer(b"".join(said), np.int64).reshape(-1, 3)
    return {(key, position): digest for key, position, digest in rows.tolist()}


def _digest(row: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> int:
    data = np.ascontiguousarray(row)
    return int.from_bytes(hashlib.blake2b(data.tobytes(), digest_size=8).digest(), "little", signed=True)


def _devices(device: MeshDevice, positions: list[int]) -> str:
    coords = device.coords
    names = [f"({', '.join(map(str, coords[p]))})" for p in positions]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"device {shown}" if len(names) == 1 else f"devices {shown}"
