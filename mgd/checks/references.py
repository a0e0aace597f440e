"""Instantiation: what the top-level instance reaches, reference by reference (reference library 0.81.1)."""

from __future__ import annotations

from itertools import count, islice

from mgd.checks.report import Report
from mgd.descriptor import (
    Connection,
    GraphDescriptor,
    GraphTopologyType,
    MeshDescriptor,
    NodeRef,
    SwitchDescriptor,
)
from mgd.expanding.resolution import (
    Target,
    Template,
    Templates,
    Unresolved,
    dims_of,
    kind_and_name,
    local_id,
    reference_of,
)
from mgd.text.problems import nearest, quoted

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
if TYPE_CHECKING:
    from typing import Any

MOST_STEPS = 1 << 20


class Reached:
    """What the top-level instance is made of: each graph template once, parents first, and the mesh and switch templates.

    `is_sound` is False when a reference leads nowhere or a graph contains itself: then the whole cannot be counted.
    """

    def __init__(self) -> None:
        self.graphs: list[GraphDescriptor] = []
        self.grids: list[MeshDescriptor | SwitchDescriptor] = []
        self.is_sound = True
        self.is_cyclic = False


def check_references(report: Report, templates: Templates) -> Reached:
    """Rules MGD017 to MGD024 and MGD034 to MGD036 of everything that is instantiated, each template once."""
    reached, before = Reached(), len(report.findings)
    top = report.descriptor.top_level_instance
    if top is None:
        return reached
    template = _template(report, templates, top, "top_level_instance")
    if isinstance(template, GraphDescriptor):
        _depth_first(report, templates, template, reached)
    elif template is not None:
        reached.grids.append(template)
    reached.is_sound = len(report.findings) == before
    for grid in reached.grids:
        _two_dimensions(report, grid)
    if not reached.is_cyclic:
        _types_above(report, templates, reached.graphs)
    for graph in reached.graphs:
        _instances(report, templates, graph)
        _layout(report, graph)
        for connection in graph.connections:
            _connection(report, templates, graph, connection)
    return reached


def _template(report: Report, templates: Templates, node: NodeRef, where: str) -> Template | None:
    """The template of a reference, its absence reported."""
    reference = reference_of(node)
    if reference is None:
        report.add(
            "MGD034",
            f"{where} names nothing",
            report.at(node),
            help="write mesh { … }, switch { … } or graph { … }",
        )
        return None
    kind, name = kind_and_name(reference)
    template = templates.by_kind[kind].get(name)
    if template is None and not report.is_full("MGD017"):
        known = templates.by_kind[kind]
        near = nearest(name, known)
        listed = ", ".join(quoted(each) for each in islice(known, 8)) or "none"
        report.add(
            "MGD017", f"no {kind} descriptor is named {quoted(name)}", report.at(reference, f"{kind}_descriptor"),
            help=f"did you mean {quoted(near)}?" if near else f"the {kind} descriptors are {listed}",
        )  # fmt: skip
    return template


def _depth_first(report: Report, templates: Templates, top: GraphDescriptor, reached: Reached) -> None:
    """Collect what is reached; a graph met again while it is open contains itself."""
    open_graphs: dict[int, int] = {}
    finished: list[GraphDescriptor] = []
    seen: set[int] = set()
    pending: list[tuple[GraphDescriptor, bool]] = [(top, False)]
    while pending:
        graph, leaving = pending.pop()
        if leaving:
            del open_graphs[id(graph)]
            finished.append(graph)
            continue
        if id(graph) in seen:
            continue
        seen.add(id(graph))
        open_graphs[id(graph)] = len(open_graphs)
        pending.append((graph, True))
        for node in graph.instances:
            child = _template(report, templates, node, "an instance")
            if isinstance(child, GraphDescriptor):
                if id(child) in open_graphs:
                    reached.is_cyclic = True
                    _cycle(report, node, graph, child)
                else:
                    pending.append((child, False))
            elif child is not None and id(child) not in seen:
                seen.add(id(child))
                reached.grids.append(child)
    reached.graphs = finished[::-1]


def _cycle(report: Report, node: NodeRef, graph: GraphDescriptor, child: GraphDescriptor) -> None:
    told = f"graph {quoted(child.name)} contains itself"
    if child is not graph:
        told += f" through {quoted(graph.name)}"
    report.add(
        "MGD035", told, report.at(node.graph, "graph_descriptor"), report.at(child, "name", text="this graph"),
        help="remove the instance",
    )  # fmt: skip


def _two_dimensions(report: Report, grid: MeshDescriptor | SwitchDescriptor) -> None:
    dims = dims_of(grid)
    if len(dims) != 2 and not report.is_flagged(grid):
        report.flag(grid)
        place: Any = grid.device_topology or grid
        report.add(
            "MGD021", f"{quoted(grid.name)} is instantiated with {len(dims)} device dims; it must have 2",
            report.at(place, "dims" if grid.device_topology else "", 2), help="write device_topology { dims: [ rows, columns ] }",
        )  # fmt: skip


def _types_above(report: Report, templates: Templates, graphs: list[GraphDescriptor]) -> None:
    """A graph's type may not be the type of a graph above it on any path; children of one graph agree."""
    above: dict[int, set[str]] = {id(graph): set() for graph in graphs}
    steps = 0
    for graph in graphs:  # parents first: all that is above a graph is known when its turn comes
        own = above.pop(id(graph)) | {graph.type}
        first: tuple[NodeRef, GraphDescriptor] | None = None
        for node in graph.instances:
            child = templates.template(node)
            if not isinstance(child, GraphDescriptor):
                continue
            steps += len(own)
            if steps > MOST_STEPS:
                message = "the graphs are nested too intricately to be expanded"
                report.add("MGD090", message, report.at(graph), help="nest less")
                return
            above[id(child)] |= own
            if child.type in own and child.type:
                report.add(
                    "MGD020", f"graph {quoted(child.name)} has the type {quoted(child.type)} of a graph above it",
                    report.at(node.graph, "graph_descriptor"), report.at(child, "type", text="its type"),
                    help="give each level its own type, such as POD in CLUSTER",
                )  # fmt: skip
            if first is None:
                first = (node, child)
            elif child.type != first[1].type:
                report.add(
                    "MGD019", f"child graphs of {quoted(graph.name)} have the types {quoted(first[1].type)} and {quoted(child.type)}",
                    report.at(node.graph, "graph_descriptor"), report.at(first[0].graph, text=f"a {first[1].type}"),
                    help="give all child graphs of a graph one type",
                )  # fmt: skip


def _instances(report: Report, templates: Templates, graph: GraphDescriptor) -> None:
    first: dict[int, Any] = {}
    for node in graph.instances:
        reference = reference_of(node)
        if reference is None:
            continue
        number, kind = local_id(reference), kind_and_name(reference)[0]
        if number in first and report.is_full("MGD018"):
            break
        if number in first:
            report.add(
                "MGD018", f"two instances of {quoted(graph.name)} have the id {number}; meshes, switches and graphs share one numbering",
                report.at(reference, f"{kind}_id"), report.at(first[number], text="the first one"),
                help=f"write {kind}_id: {_free(graph)}",
            )  # fmt: skip
        else:
            first[number] = reference


def _free(graph: GraphDescriptor) -> int:
    taken = {local_id(reference) for node in graph.instances if (reference := reference_of(node))}
    return next(number for number in count() if number not in taken)


def _layout(report: Report, graph: GraphDescriptor) -> None:
    topology = graph.graph_topology
    if topology is None or topology.layout_type in (GraphTopologyType.ALL_TO_ALL, GraphTopologyType.RING):
        return
    found = (
        "no layout_type"
        if not topology.layout_type
        else f"the unknown layout_type {int(topology.layout_type)}"
    )
    report.add(
        "MGD024", f"the topology of {quoted(graph.name)} has {found}", report.at(topology, "layout_type"),
        help="write layout_type: ALL_TO_ALL or layout_type: RING",
    )  # fmt: skip


def _connection(report: Report, templates: Templates, graph: GraphDescriptor, connection: Connection) -> None:
    if connection.directional:
        report.add(
            "MGD023", f"a connection of {quoted(graph.name)} is directional", report.at(connection, "directional"),
            help="remove directional; links go both ways",
        )  # fmt: skip
    if report.is_full("MGD022"):
        return  # each further one would cost a search through all instances for its hint
    label, first = "", None
    for node in connection.nodes:
        target = templates.resolve(graph, node)
        if isinstance(target, Unresolved):
            if _follows(templates, graph, target):
                continue
            code = "MGD022" if target.name or not isinstance(target.reference, NodeRef) else "MGD034"
            report.add(code, target.message, report.at(target.reference, target.name), help=target.help)
            continue
        found = target.label
        if first is None:
            label, first = found, node
        elif found != label:
            _kinds(report, node, target, first, label)


def _follows(templates: Templates, graph: GraphDescriptor, found: Unresolved) -> bool:
    """True when the end is missing because its instance names no descriptor, which is reported there."""
    if isinstance(found.reference, NodeRef):
        return False
    number = local_id(found.reference)
    return any(
        (instance := reference_of(node)) is not None
        and local_id(instance) == number
        and templates.template(node) is None
        for node in graph.instances
    )


def _kinds(report: Report, node: NodeRef, target: Target, first: NodeRef, label: str) -> None:
    help = "name nodes of one kind; sub_ref reaches into a graph"
    if {label, target.label} == {"DEVICE", "MESH"}:
        help = "give device_id at all nodes or at none"
    report.add(
        "MGD036", f"a connection joins a {label} and a {target.label}", report.at(node),
        report.at(first, text=f"a {label}"), help=help,
    )  # fmt: skip
