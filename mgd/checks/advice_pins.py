"""Pins that cannot do what they say (reference library 0.81.1)."""

from __future__ import annotations

from mgd.checks.report import Report
from mgd.descriptor import AsicPinning, LogicalFabricNodeId
from mgd.expanding.pins import entry_groups, node_devices
from mgd.graph import MeshGraph


def advise_pins(report: Report, graph: MeshGraph) -> None:
    """Rules MGD060 to MGD063."""
    devices = {mesh.mesh_id: mesh.device_count for mesh in graph.meshes if not mesh.is_switch}
    known = ", ".join(map(str, sorted(devices)[:8])) or "none"
    seen: dict[object, AsicPinning] = {}
    for entry in report.descriptor.pinnings:
        for node in entry.logical_fabric_node_id:
            _targets(report, node, devices, known)
        _repeated_nodes(report, entry)
        first = seen.setdefault(entry, entry)
        if first is not entry:
            report.add(
                "MGD062", "this pinning is there already", report.at(entry), report.at(first, text="the first one"),
                help="remove one",
            )  # fmt: skip
        for group in entry_groups(entry, devices):
            if len(set(group.devices)) > len(group.slots):
                report.add(
                    "MGD061", f"{len(set(group.devices))} devices of mesh {group.mesh_id} are pinned to {len(group.slots)} slots",
                    report.at(entry), help="list as many slots as devices",
                )  # fmt: skip


def _targets(report: Report, node: LogicalFabricNodeId, devices: dict[int, int], known: str) -> None:
    found = list(node_devices(node, devices))
    if node.mesh_id_regex and not found:
        report.add(
            "MGD063",
            "the pattern matches no mesh",
            report.at(node, "mesh_id_regex"),
            help=f"the mesh ids are {known}",
        )
    for mesh_id, chips in found:
        if mesh_id not in devices:
            report.add(
                "MGD060", f"a pinning names mesh {mesh_id}, which is not instantiated", report.at(node, "mesh_id"),
                help=f"the mesh ids are {known}",
            )  # fmt: skip
        elif not chips:
            report.add(
                "MGD063", f"the pattern matches no device of mesh {mesh_id}", report.at(node, "chip_id_regex"),
                help=f"its devices are 0 to {devices[mesh_id] - 1}",
            )  # fmt: skip
        elif not node.chip_id_regex and chips[0] >= devices[mesh_id]:
            report.add(
                "MGD060", f"a pinning names device {chips[0]} of mesh {mesh_id}, which has {devices[mesh_id]}",
                report.at(node, "chip_id"), help=f"write a chip_id from 0 to {devices[mesh_id] - 1}",
            )  # fmt: skip


def _repeated_nodes(report: Report, entry: AsicPinning) -> None:
    first: dict[LogicalFabricNodeId, LogicalFabricNodeId] = {}
    for node in entry.logical_fabric_node_id:
        known = first.setdefault(node, node)
        if known is not node:
            report.add(
                "MGD062", "this device is in the entry already", report.at(node), report.at(known, text="the first one"),
                help="remove one",
            )  # fmt: skip
