"""What should be the same on several devices, and is not: found where a collective uses it.

Switched on by TT_RUN_CHECK_REPLICAS=1. Before each collective the ranks exchange a hash of every shard of the tensor that is to be sent;
where its placements say that devices hold replicas, the hashes must agree. Ranks that draw their weights from differently seeded
generators, or that skip a step of the optimizer, are found at the next collective that touches the tensor. It costs one pass
over the tensor (about 1 ms for 1 MiB) and one small all-gather between ranks per collective.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from tt_run import contract
from tt_run.rules import guard_rule
from tt_run.runtime import events, guard
from tt_run.runtime.ccl.plans import Plan
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, TensorTopology
from tt_run.runtime.tensor.tensor import Tensor

DIFFERENT = "TTG008"


def attach() -> None:
    """Check every collective from now on, if TT_RUN_CHECK_REPLICAS says so."""
    if os.environ.get(contract.CHECK_REPLICAS, "").strip().lower() not in ("", "0", "off", "no", "false"):
        events.precede(_check)


def _check(begun: events.Begun) -> None:
    if begun.kind != "collective":
        return
    plan: Plan = begun.subject
    for tensor in begun.args:
        groups = list(replicas(tensor, plan))
        if groups:
            _compare(plan, tensor, groups)


def replicas(tensor: Tensor, plan: Plan) -> Iterator[list[int]]:
    """The positions of the devices that should hold the same, for each set of more than one."""
    topology: TensorTopology = tensor.tensor_topology()
    placements = topology.placements()
    ranges = [range(extent) for extent in topology.distribution_shape()]
    same: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for place, coord in zip(itertools.product(*ranges), topology.mesh_coords(), strict=False):
        pairs = zip(place, placements, strict=True)
        key = tuple(0 if isinstance(p, PlacementReplicate) else i for i, p in pairs)
        position = plan.device.index_of(coord)
        if position is not None:
            same[key].append(position)
    return (positions for positions in same.values() if len(positions) > 1)


def _compare(plan: Plan, tensor: Tensor, groups: list[list[int]]) -> None:
    """Raise GuardError on every rank when devices of one set hold different values."""
    found = _everyones_hashes(plan, tensor)
    owners = plan.device.owner_ranks
    for positions in groups:
        held = {p: found[p] for p in positions if p in found}
        counts: defaultdict[int, list[int]] = defaultdict(list)
        for position, digest in held.items():
            counts[digest].append(position)
        if len(counts) < 2:
            continue
        sets = sorted(counts.values(), key=lambda each: (-len(each), each))
        tie = len(sets[0]) == len(sets[1])
        suspects = positions if tie else [p for p in positions if p not in sets[0]]
        lines = [
            f"  {_devices(plan, each)} (rank {', '.join(map(str, sorted({owners[p] for p in each})))}): "
            f"hash {found[each[0]]:016x}"
            for each in sets
        ]
        raise guard.GuardError(
            "\n".join(
                (
                    f"error[{DIFFERENT}]: {len(sets)} different values where {_devices(plan, positions)} should hold replicas",
                    f"  in {plan.signature} at {events.call_site()}; the tensor's placements are {tensor.tensor_topology().placements()}",
                    *lines,
                    f"  help: {guard_rule(DIFFERENT).help}",
                )
            ),
            DIFFERENT,
            tuple(sorted({owners[p] for p in suspects})),
        )


def _everyones_hashes(plan: Plan, tensor: Tensor) -> dict[int, int]:
    """The hash of each device's shard, by position, of all ranks that take part."""
    shards, positions = tensor.shards, plan.device.local_positions
    digests = [_digest(row) for row in shards.data]
    own = [(p, digests[row]) for p, row in zip(positions, shards.index, strict=True) if row >= 0]
    if plan.group is None:
        return dict(own)
    # The ranks must be in the same call before they may exchange anything.
    guard.collective(plan.group, plan.signature)
    told = plan.group.allgather_bytes(np.array(own, np.uint64).tobytes())
    pairs = np.frombuffer(b"".join(told), np.uint64).reshape(-1, 2)
    return {int(position): int(digest) for position, digest in pairs}


def _digest(row: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> int:
    data = np.ascontiguousarray(row)
    return int.from_bytes(hashlib.blake2b(data.tobytes(), digest_size=8).digest(), "little")


def _devices(plan: Plan, positions: list[int]) -> str:
    coords = plan.device.coords
    names = [f"({', '.join(map(str, coords[p]))})" for p in positions]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"device {shown}" if len(names) == 1 else f"devices {shown}"
