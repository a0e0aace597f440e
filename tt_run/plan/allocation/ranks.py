"""Ranks for the host blocks of a mesh graph, on named hosts or on described machines.

The reference needs a C++ generator on hardware; here the answer is derived, so it is never stale and costs milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mgd.diagnostics import Diagnostic, Label, Position, Severity
from mgd.graph import Mesh, MeshGraph
from mgd.lean import dataclass, field
from tt_run.errors import RefusedError
from tt_run.inputs.findings import counted
from tt_run.inputs.hosts.pinnings import RankPin
from tt_run.plan.model import HostSlots
from tt_run.plan.placement.solve import Placed


@dataclass(frozen=True, slots=True)
class AllocatedRank:
    """One rank and why it went where it is; `slot` counts per host from 0."""

    rank: int
    mesh_id: int
    mesh_host_rank: int
    host: str
    slot: int
    why: str
    visible_devices: str | None = None
    cluster_descriptor: str | None = None
    chips: tuple[int, ...] = ()  # of its devices, row by row of its block
    env: Mapping[str, str] = field(default_factory=dict)  # what a pin of the rank sets, as written


@dataclass(frozen=True, slots=True)
class Allocation:
    """Ranks in order; `findings` are warnings (several ranks on a host without a description of its chips, unused hosts)."""

    ranks: tuple[AllocatedRank, ...]
    findings: tuple[Diagnostic, ...] = ()
    placed: Placed | None = None


def blocks_of(graph: MeshGraph) -> list[tuple[int, int]]:
    """(mesh id, host rank) of each rank of an allocation, in the order of the ranks. A switch runs no program, so it has none."""
    return [
        (mesh.mesh_id, rank)
        for mesh in _in_order(graph)
        if not mesh.is_switch
        for rank in range(mesh.host_count)
    ]


def allocate_on_hosts(
    graph: MeshGraph,
    hosts: Sequence[HostSlots],
    *,
    source: str = "--hosts",
    pinned: Mapping[int, RankPin] | None = None,
) -> Allocation:
    """One rank per host block in (mesh id, host rank) order, hosts in the order given, each filled to its slots.

    Pinned ranks take slots of their hosts first. Raises RefusedError when there are more blocks than slots (TTR180), or more
    ranks pinned to a host than it has slots (TTR183).
    """
    blocks = blocks_of(graph)
    slots = [(host.name, slot, host.slots) for host in hosts for slot in range(host.slots)]
    if len(blocks) > len(slots):
        listed = ", ".join(f"{host.name}:{host.slots}" for host in hosts) or "none"
        raise RefusedError(
            Diagnostic(
                "TTR180",
                f"the descriptor has {counted(len(blocks), 'host block')}, {source} gives {counted(len(slots), 'slot')} ({listed})",
                (Label(Position(graph.file)),) if graph.file else (),
                f"name {counted(len(blocks), 'host')}, or give slots: --hosts {hosts[0].name if hosts else 'host'}:{len(blocks)}",
            )
        )
    kept = _pinned_slots(slots, pinned or {}, source)
    rest = iter([slot for slot in slots if slot not in kept.values()])
    ranks = tuple(
        _seated(
            number, block, kept[number] if number in kept else next(rest), (pinned or {}).get(number), source
        )
        for number, block in enumerate(blocks)
    )
    return Allocation(ranks, tuple(_warnings(graph, ranks, hosts, source)))


_Slot = tuple[str, int, int]  # host, slot, how many it has


def _pinned_slots(slots: Sequence[_Slot], pinned: Mapping[int, RankPin], source: str) -> dict[int, _Slot]:
    """The slot of each pinned rank: the first of its host that no other pinned rank has."""
    kept: dict[int, _Slot] = {}
    for rank, pin in sorted(pinned.items()):
        own = [slot for slot in slots if slot[0] == pin.host]
        free = [slot for slot in own if slot not in kept.values()]
        if not free:
            others = [number for number, slot in kept.items() if slot[0] == pin.host]
            raise RefusedError(
                Diagnostic(
                    "TTR183",
                    f"{counted(len(others) + 1, 'rank')} are pinned to {pin.host}, {source} gives it {counted(len(own), 'slot')}",
                    (
                        Label(pin.position, f"rank {rank} here"),
                        *(Label(pinned[number].position, f"rank {number} there") for number in others[:4]),
                    ),
                    f"give it more: --hosts {pin.host}:{len(others) + 1}",
                )
            )
        kept[rank] = free[0]
    return kept


def _seated(
    number: int, block: tuple[int, int], slot: _Slot, pin: RankPin | None, source: str
) -> AllocatedRank:
    (mesh_id, host_rank), (host, index, of) = block, slot
    why = f"host block {host_rank} of mesh {mesh_id} takes slot {index + 1} of {of} on {host} ({source})"
    if pin is None:
        return AllocatedRank(number, mesh_id, host_rank, host, index, why)
    why = f"host block {host_rank} of mesh {mesh_id} is pinned to {host} ({pin.position})"
    return AllocatedRank(number, mesh_id, host_rank, host, index, why, env=pin.values())


def allocate_on_machines(
    placed: Placed,
    descriptors: Mapping[str, str],
    *,
    local_host: str | None = None,
    pinned: Mapping[int, RankPin] | None = None,
) -> Allocation:
    """Ranks of a placement in (mesh id, host rank) order; `descriptors` names each host's cluster descriptor file.

    The placement has kept to the hosts of `pinned` already. `local_host` replaces every host name: a mock run puts all ranks on this machine.
    """
    ranks: list[AllocatedRank] = []
    used: dict[str, int] = {}
    for mesh in placed.meshes:
        if mesh.demand.mesh.is_switch:
            continue
        for host_rank in range(mesh.demand.mesh.host_count):
            physical = mesh.host_of(host_rank)
            host = local_host or physical
            nodes = mesh.rank_nodes(host_rank)
            slot = used.get(host, 0)
            used[host] = slot + 1
            pin = (pinned or {}).get(len(ranks))
            where = (
                f"it is pinned to {physical} ({pin.position})"
                if pin
                else f"its {len(nodes)} devices fit the chips of {physical}"
            )
            ranks.append(
                AllocatedRank(
                    len(ranks),
                    mesh.mesh_id,
                    host_rank,
                    host,
                    slot,
                    f"{where} beginning at tray {nodes[0].chip.tray}, location {nodes[0].chip.location}",
                    mesh.visible_devices(host_rank),
                    descriptors.get(physical),
                    tuple(node.chip.chip_id for node in nodes),
                    pin.values() if pin else {},
                )
            )
    return Allocation(tuple(ranks), (), placed)


def _in_order(graph: MeshGraph) -> list[Mesh]:
    return sorted(graph.meshes, key=lambda mesh: mesh.mesh_id)


def _warnings(
    graph: MeshGraph, ranks: Sequence[AllocatedRank], hosts: Sequence[HostSlots], source: str
) -> list[Diagnostic]:
    where = (Label(Position(graph.file)),) if graph.file else ()
    taken = {rank.host for rank in ranks}
    found = []
    idle = [host.name for host in hosts if host.name not in taken]
    if idle:
        found.append(
            Diagnostic(
                "TTR181",
                f"{source}: {counted(len(idle), 'host')} without a rank: {', '.join(idle[:8])}{' …' if len(idle) > 8 else ''}",
                where,
                "name as many hosts as the descriptor has host blocks",
                Severity.WARNING,
            )
        )
    shared = sorted({rank.host for rank in ranks if rank.slot > 0})
    if shared:
        found.append(
            Diagnostic(
                "TTR182",
                f"several ranks share {', '.join(shared)} and each sees all of its devices",
                where,
                "describe the machine with --mock-cluster-rank-binding FILE to have TT_VISIBLE_DEVICES derived, or use --emulate",
                Severity.NOTE,
            )
        )
    return found
