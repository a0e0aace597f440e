"""What the reference accepts and a reader should know of: warnings and notes (reference library 0.81.1).

`advise` looks at what is written, `advise_expanded` at what is instantiated; the latter runs on descriptors without errors only.
"""

from __future__ import annotations

from collections.abc import Iterable

from mgd.checks.references import Reached
from mgd.checks.report import Report
from mgd.descriptor import (
    Architecture,
    BoardRevision,
    Channels,
    Connection,
    Descriptor,
    GraphDescriptor,
    NodeRef,
    Policy,
    TorusTopologyType,
)
from mgd.expanding.resolution import Templates, dims_of, kind_and_name, local_id, reference_of
from mgd.text.problems import quoted

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

_BOARDS = {
    BoardRevision.WH: Architecture.WORMHOLE_B0,
    BoardRevision.BH_REV_AB: Architecture.BLACKHOLE,
    BoardRevision.BH_REV_C: Architecture.BLACKHOLE,
}


def advise(report: Report) -> None:
    """Rules MGD064, MGD066, MGD067, MGD069 and MGD070."""
    descriptor = report.descriptor
    for template in descriptor.templates():
        _policy(report, template.channels)
        topology = template.device_topology
        for index, kind in enumerate(topology.dim_types if topology else ()):
            if kind not in (TorusTopologyType.LINE, TorusTopologyType.RING):
                _unset(report, report.at(topology, "dim_types", index), "dim_types", kind, "LINE")
        _short_rings(report, template.name, dims_of(template), topology)
    for graph in descriptor.graph_descriptors:
        if graph.graph_topology is not None:
            _policy(report, graph.graph_topology.channels)
        for connection in graph.connections:
            if connection.channels is not None and connection.channels.policy is not None:
                _policy(report, connection.channels)
        _ignored(report, graph.instances)
        _duplicates(report, graph)
    if descriptor.top_level_instance is not None:
        _ignored(report, [descriptor.top_level_instance])
    for entry in descriptor.pinnings:
        _board(report, entry.board_revision, entry)


def advise_expanded(report: Report, templates: Templates, reached: Reached) -> None:
    """Rules MGD060 to MGD063, MGD065, MGD068, MGD071 to MGD073 and MGD076 to MGD079."""
    _unused(report, reached)
    _first_channels(report, reached)
    for graph in reached.graphs:
        for connection in graph.connections:
            _mistaken_kinds(report, templates, graph, connection)
    if not reached.graphs and not report.descriptor.pinnings:
        return
    from mgd.checks.advice_links import advise_links
    from mgd.checks.advice_pins import advise_pins
    from mgd.expanding.instances import expand_checked

    expanded = expand_checked(report.descriptor, templates)
    if not expanded.ids_unique:
        report.add(
            "MGD076", "mesh ids repeat across nested graphs; only their paths tell these meshes apart",
            report.at(report.descriptor.top_level_instance), help="number the meshes of all graphs from 0 up for the runtime",
        )  # fmt: skip
    advise_links(report, expanded)
    advise_pins(report, expanded)


def _policy(report: Report, channels: Channels | None) -> None:
    if channels is None or channels.policy is None or channels.policy in (Policy.STRICT, Policy.RELAXED):
        return
    _unset(report, report.at(channels, "policy"), "policy", channels.policy, "STRICT")


def _unset(report: Report, label: Any, name: str, value: int, meant: str) -> None:
    shown = value.name if isinstance(value, Policy | TorusTopologyType) else int(value)
    report.add("MGD064", f"{name} is {shown}, which counts as {meant}", label, help=f"write {meant}")


def _short_rings(report: Report, name: str, dims: tuple[int, ...], topology: Any) -> None:
    for index, (extent, kind) in enumerate(zip(dims, topology.dim_types if topology else (), strict=False)):
        if kind == TorusTopologyType.RING and extent in (1, 2):
            report.add(
                "MGD070", f"{quoted(name)}: a RING along {extent} device{'s' * (extent > 1)} adds no link",
                report.at(topology, "dim_types", index), report.at(topology, "dims", index, "its extent"),
                help="write LINE, or make the dimension 3 or longer",
            )  # fmt: skip


def _ignored(report: Report, nodes: Iterable[NodeRef]) -> None:
    for node in nodes:
        reference: Any = reference_of(node)
        for name in ("device_id", "sub_ref"):
            if getattr(reference, name, None) is not None:
                report.add(
                    "MGD067", f"{name} means nothing on an instance and is ignored", report.at(reference, name),
                    help=f"remove {name}",
                )  # fmt: skip


def _duplicates(report: Report, graph: GraphDescriptor) -> None:
    """Connections of the same nodes: between meshes the last count is kept, between devices both are."""
    first: dict[frozenset[NodeRef], Connection] = {}
    for connection in graph.connections:
        nodes = frozenset(connection.nodes)
        if len(nodes) < 2:
            continue
        known = first.setdefault(nodes, connection)
        if known is not connection:
            device = any(getattr(reference_of(node), "device_id", None) is not None for node in nodes)
            effect = "both count" if device else "only the last one counts"
            report.add(
                "MGD066", f"this connection of {quoted(graph.name)} is there already; {effect}", report.at(connection),
                report.at(known, text="the first one"), help="remove one",
            )  # fmt: skip


def _board(report: Report, revision: int | None, entry: Any) -> None:
    arch = report.descriptor.arch
    if not revision or arch == _BOARDS.get(revision):  # type: ignore[call-overload]
        return
    if revision in _BOARDS:
        shown = f"{BoardRevision(revision).name} is not a board of {Architecture(arch).name if arch in list(Architecture) else arch}"
    else:
        shown = f"board_revision {int(revision)} is unknown"
    report.add(
        "MGD069",
        f"{shown}; the entry never applies",
        report.at(entry, "board_revision"),
        help="remove board_revision",
    )


def _unused(report: Report, reached: Reached) -> None:
    used = {id(each) for each in (*reached.graphs, *reached.grids)}
    descriptor: Descriptor = report.descriptor
    for kind, templates in (
        ("mesh", descriptor.mesh_descriptors),
        ("switch", descriptor.switch_descriptors),
        ("graph", descriptor.graph_descriptors),
    ):
        for template in templates:
            if id(template) not in used:
                report.add(
                    "MGD077", f"the {kind} descriptor {quoted(template.name)} is never instantiated",
                    report.at(template, "name"), help="remove it, or instantiate it",
                )  # fmt: skip


def _first_channels(report: Report, reached: Reached) -> None:
    channels = report.descriptor.mesh_descriptors[0].channels
    for grid in reached.grids:
        assert channels is not None and grid.channels is not None, "without them there are errors"
        if grid.channels.count != channels.count:
            report.add(
                "MGD079", f"{quoted(grid.name)} has {grid.channels.count} channels; the runtime takes those of the first mesh, "
                f"{channels.count}, for all",
                report.at(grid.channels, "count"), report.at(channels, "count", text="the first mesh"),
                help="write the same count in all meshes",
            )  # fmt: skip


def _mistaken_kinds(
    report: Report, templates: Templates, graph: GraphDescriptor, connection: Connection
) -> None:
    """A switch reference that finds a mesh of that id and name, or the other way round."""
    children = templates.children(graph)
    for reference in [found for node in connection.nodes if (found := reference_of(node)) is not None]:
        kind, name = kind_and_name(reference)
        child = children.get(local_id(reference))
        if child is not None and child.kind != kind and child.name == name:
            report.add(
                "MGD068", f"{quoted(name)} is a {child.kind} here, referred to as a {kind}", report.at(reference),
                help=f"write {child.kind} {{ {child.kind}_descriptor: {quoted(name)} … }}",
            )  # fmt: skip
