"""The chips that a rank can open against the block that it must own: exact where its machine is described."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from mgd.graph import Mesh
from mgd.lean import replace
from tt_run.contract import VISIBLE_DEVICES
from tt_run.errors import InputError
from tt_run.inputs.findings import Findings, counted, label, list_numbers
from tt_run.plan.checks.subject import Subject
from tt_run.plan.model import RankPlan

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from tt_run.inputs.clusters.chips import ClusterDescriptor

_CARDS_OF_TWO = {"WORMHOLE_B0": "N300", "BLACKHOLE": "P300"}
"""Cards that are opened whole: a process that sees one device of such a card opens its second chip as well."""


Machines = Mapping[str, "ClusterDescriptor | None"]
SEARCH_SECONDS = 2.0  # for the block of a rank among the chips that it sees


def check_chips(
    subject: Subject, visible: Mapping[int, tuple[int, ...]], machines: Machines, findings: Findings
) -> None:
    """TTR210, TTR211, TTR216, TTR217. `visible` holds the devices of each rank that limits them."""
    for rank in subject.ranks:
        graph = subject.source.graph_of(subject.bindings[rank.rank])
        if graph is None or not rank.devices:
            continue
        mesh = graph.mesh(rank.mesh_id)
        machine = machines.get(subject.source.bindings.mock.get(rank.rank, ""))
        devices = visible.get(rank.rank)
        if machine is not None:
            _check_described(subject, rank, mesh, machine, devices, findings)
        elif devices is not None:
            _check_assumed(subject, rank, mesh, devices, findings)


def described_machines(subject: Subject, findings: Findings) -> Machines:
    """Each cluster descriptor of the mock mapping, read once; what is wrong with one is told once."""
    paths = dict.fromkeys(subject.source.bindings.mock.values())
    if not paths:
        return {}
    from tt_run.inputs.clusters.descriptor import read_cluster

    machines: dict[str, ClusterDescriptor | None] = {}
    for path in paths:
        try:
            machines[path] = read_cluster(subject.site.cwd / path)
        except InputError as error:
            findings.judged.extend(error.diagnostics)
            machines[path] = None
    return machines


def _check_described(
    subject: Subject,
    rank: RankPlan,
    mesh: Mesh,
    machine: ClusterDescriptor,
    devices: tuple[int, ...] | None,
    findings: Findings,
) -> None:
    """Second chips follow the PCIe chip of their board, so both counts are known."""
    at = subject.set_at(rank.rank, VISIBLE_DEVICES)
    through_pcie = {chip.pcie_chip for chip in machine.chips.values()}
    unknown = sorted(set(devices or ()) - through_pcie)
    if unknown:
        findings.error(
            "TTR216",
            f"rank {rank.rank} sees device {list_numbers(unknown)}, which its machine does not have",
            *label(
                at, f"{Path(machine.file).name} has the PCIe devices {list_numbers(sorted(through_pcie))}"
            ),
            help=f"choose from {list_numbers(sorted(through_pcie))}",
        )
        return
    chips = machine.opened(devices)
    seen = "all devices" if devices is None else f"{counted(len(devices), 'visible device')}"
    if len(chips) < len(rank.devices):
        _too_few(
            subject,
            rank,
            mesh,
            f"{seen} of {Path(machine.file).name}: {counted(len(chips), 'chip')}",
            findings,
        )
    elif not _forms_block(mesh, machine, chips):
        findings.error(
            "TTR217",
            f"the chips that rank {rank.rank} sees are not linked like its block",
            *label(
                at or subject.bindings[rank.rank].position,
                f"{seen} of {Path(machine.file).name}: chips {', '.join(map(str, sorted(chips)))}",
            ),
            *label(mesh.host_position, _owned(rank, mesh)),
            help="choose other devices, or let -m with --mock-cluster-rank-binding choose them",
        )


def _forms_block(mesh: Mesh, machine: ClusterDescriptor, chips: Collection[int]) -> bool:
    """Whether the rank's block lies somewhere on these chips; in doubt it does."""
    from tt_run.plan.placement.demand import mesh_demand
    from tt_run.plan.placement.physical import build
    from tt_run.plan.placement.search import Clock, OutOfTime, best_embedding

    block = mesh.host_block(0)  # all are of one shape
    alone = replace(
        mesh,
        dims=(block.rows, block.columns),
        host_dims=(1, 1),
        dim_types=("LINE", "LINE"),
        channels=1,
        policy="RELAXED",
    )
    physical = build([machine])
    free = frozenset(node.index for node in physical.nodes if node.chip.chip_id in chips)
    demand = mesh_demand(alone, (), physical, processes=1).without_pins()
    try:
        return best_embedding(demand, physical, Clock(SEARCH_SECONDS), free=free) is not None
    except OutOfTime:
        return True


def _check_assumed(
    subject: Subject, rank: RankPlan, mesh: Mesh, devices: tuple[int, ...], findings: Findings
) -> None:
    """Without a description a device may belong to a card with two chips."""
    chips = len(devices) * _chips_of_a_card(mesh)
    if chips < len(rank.devices):
        card = _CARDS_OF_TWO.get(mesh.arch)
        reach = f"with the second chip of each {card} at most" if card else "which is"
        _too_few(
            subject,
            rank,
            mesh,
            f"{counted(len(devices), 'visible device')}, {reach} {counted(chips, 'chip')}",
            findings,
        )
    elif len(devices) > len(rank.devices):
        findings.warn(
            "TTR211",
            f"rank {rank.rank} sees more devices than it owns",
            *label(subject.set_at(rank.rank, VISIBLE_DEVICES), counted(len(devices), "visible device")),
            *label(mesh.host_position, _owned(rank, mesh)),
            help=f"leave {len(rank.devices)} devices in TT_VISIBLE_DEVICES",
        )


def _too_few(subject: Subject, rank: RankPlan, mesh: Mesh, seen: str, findings: Findings) -> None:
    need = -(-len(rank.devices) // _chips_of_a_card(mesh))
    at = subject.set_at(rank.rank, VISIBLE_DEVICES) or subject.bindings[rank.rank].position
    findings.error(
        "TTR210",
        f"rank {rank.rank} sees fewer chips than it must own",
        *label(at, seen),
        *label(mesh.host_position, _owned(rank, mesh)),
        help=f"give rank {rank.rank} at least {counted(need, 'device')} in TT_VISIBLE_DEVICES",
    )


def _chips_of_a_card(mesh: Mesh) -> int:
    return 2 if mesh.arch in _CARDS_OF_TWO else 1


def _owned(rank: RankPlan, mesh: Mesh) -> str:
    block = mesh.host_block(0)
    return f"rank {rank.rank} owns a {block.rows}x{block.columns} block: {len(rank.devices)} devices"
