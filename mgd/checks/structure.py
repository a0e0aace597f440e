"""Groups 1 and 2: what must be there, names, channels, architectures (reference library 0.81.1)."""

from __future__ import annotations

from collections.abc import Sequence

from mgd.checks.report import Report
from mgd.descriptor import Architecture, Channels, GraphDescriptor, MeshDescriptor, SwitchDescriptor
from mgd.expanding.resolution import dims_of
from mgd.names import type_name
from mgd.text.problems import nearest, quoted

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

RESERVED_TYPES = ("DEVICE", "MESH", "SWITCH")
MOST_DIMENSIONS = {Architecture.WORMHOLE_B0: 2, Architecture.BLACKHOLE: 3, Architecture.QUASAR: 3}


def check_structure(report: Report) -> None:
    """Rules MGD001 to MGD008 and MGD030."""
    descriptor = report.descriptor
    if not descriptor.mesh_descriptors and not descriptor.switch_descriptors:
        report.add(
            "MGD001", "the file describes no mesh", report.at(descriptor),
            help='add mesh_descriptors { name: "M0" … }, or let `mgd new` write a file',
        )  # fmt: skip
    is_empty = not (
        descriptor.mesh_descriptors or descriptor.switch_descriptors or descriptor.graph_descriptors
    )
    if descriptor.top_level_instance is None and not is_empty:
        name = descriptor.mesh_descriptors[0].name if descriptor.mesh_descriptors else "M0"
        report.add(
            "MGD002", "nothing is instantiated: top_level_instance is missing", report.at(descriptor),
            help=f'add top_level_instance {{ mesh {{ mesh_descriptor: {quoted(name)} mesh_id: 0 }} }}',
        )  # fmt: skip
    for kind, templates in (
        ("mesh", descriptor.mesh_descriptors),
        ("graph", descriptor.graph_descriptors),
        ("switch", descriptor.switch_descriptors),
    ):
        _names(report, kind, templates)
    for graph in descriptor.graph_descriptors:
        if graph.type in RESERVED_TYPES:
            report.add(
                "MGD004", f"graph {quoted(graph.name)} has the reserved type {graph.type}", report.at(graph, "type"),
                help='write type: "FABRIC"',
            )  # fmt: skip
    _channels(report)
    _architectures(report)


def _names(report: Report, kind: str, templates: Sequence[Any]) -> None:
    first: dict[str, Any] = {}
    for number, template in enumerate(templates, 1):
        if not template.name:
            report.add(
                "MGD003", f"the {_ordinal(number)} {kind} descriptor has no name", report.at(template),
                help=f'add name: "{kind[0].upper()}{number - 1}"',
            )  # fmt: skip
        elif template.name in first:
            report.add(
                "MGD030", f"two {kind} descriptors are named {quoted(template.name)}", report.at(template, "name"),
                report.at(first[template.name], "name", text="the first one"),
                help=f"rename one; a {kind} is found by its name",
            )  # fmt: skip
        else:
            first[template.name] = template


def _ordinal(number: int) -> str:
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def _channels(report: Report) -> None:
    descriptor = report.descriptor
    for template in descriptor.templates():
        kind = "mesh" if isinstance(template, MeshDescriptor) else "switch"
        _count(report, template, template.channels, f"{kind} {quoted(template.name)}")
    for graph in descriptor.graph_descriptors:
        if graph.graph_topology is not None:
            _count(
                report,
                graph.graph_topology,
                graph.graph_topology.channels,
                f"the topology of {quoted(graph.name)}",
            )
        for connection in graph.connections:
            channels = connection.channels
            if channels is None or channels.count <= 0:
                _count(report, connection, channels, f"a connection of {quoted(graph.name)}")


def _count(report: Report, owner: Any, channels: Channels | None, what: str) -> None:
    if channels is None:
        report.add("MGD005", f"{what} has no channels", report.at(owner), help="add channels { count: 1 }")
    elif channels.count <= 0:
        report.add(
            "MGD005",
            f"{what} has {channels.count} channels",
            report.at(channels, "count"),
            help="write a count of 1 or more",
        )


def _architectures(report: Report) -> None:
    known = [each for each in Architecture if each]
    templates = list(report.descriptor.templates())
    for template in templates:
        if template.arch not in known:
            listed = ", ".join(each.name for each in known)
            found = f"the unknown architecture {int(template.arch)}" if template.arch else "no architecture"
            report.add(
                "MGD007",
                f"{quoted(template.name)} has {found}",
                report.at(template, "arch"),
                help=f"write arch: one of {listed}",
            )
        elif isinstance(template, MeshDescriptor):
            _dimensions(report, template)
    valid = [each for each in templates if each.arch in known]
    for template in valid[1:]:
        if template.arch != valid[0].arch:
            _mixed(report, template, valid[0])


def _mixed(
    report: Report, template: MeshDescriptor | SwitchDescriptor, first: MeshDescriptor | SwitchDescriptor
) -> None:
    own, other = (type_name(Architecture, each.arch) for each in (template, first))
    report.add(
        "MGD006", f"{quoted(template.name)} is {own}, {quoted(first.name)} is {other}", report.at(template, "arch"),
        report.at(first, "arch", text="the architecture of the file"), help=f"write arch: {other}",
    )  # fmt: skip


def _dimensions(report: Report, template: MeshDescriptor) -> None:
    dims, most = dims_of(template), MOST_DIMENSIONS[Architecture(template.arch)]
    if len(dims) > most:
        report.flag(template)
        report.add(
            "MGD008", f"{quoted(template.name)} has {len(dims)} dimensions; {type_name(Architecture, template.arch)} has at most {most}",
            report.at(template.device_topology, "dims", most), help="write two dims",
        )  # fmt: skip


def type_advice(graph: GraphDescriptor) -> str:
    """What to write for a type that is almost FABRIC."""
    return (
        'write type: "FABRIC"'
        if nearest(graph.type, ["FABRIC"])
        else 'write type: "FABRIC" for what the runtime shall see'
    )
