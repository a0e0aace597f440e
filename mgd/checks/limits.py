"""How large a descriptor may become when it is expanded: what would exhaust the reference's memory is refused here.

All counts are computed per template, before anything is expanded (rule MGD090).
"""

from __future__ import annotations

from mgd.checks.references import Reached
from mgd.checks.report import Report
from mgd.descriptor import GraphDescriptor, GraphTopologyType, MeshDescriptor, NodeRef
from mgd.expanding.express import chord_count
from mgd.expanding.patterns import Pattern
from mgd.expanding.pins import SLOTS, cached_pattern, written_patterns
from mgd.expanding.resolution import BEYOND, Templates, device_count, dims_of
from mgd.lean import dataclass
from mgd.text.problems import quoted

MOST_DEVICES = 1 << 20
MOST_INSTANCES = 1 << 16
MOST_RECORDS = 1 << 20
MOST_LEVELS = 64
MOST_PORTS = 1 << 26
MOST_CHORDS = 1 << 20
MOST_PIN_STEPS = 1 << 22


@dataclass(frozen=True, slots=True)
class Totals:
    """What the top-level instance amounts to. `grids` counts meshes and switches, `records` directed connections."""

    grids: int = 0
    meshes: int = 0
    instances: int = 0
    devices: int = 0
    records: int = 0
    levels: int = 0


def check_templates(report: Report) -> bool:
    """Rule MGD090 of single meshes; False when one is too large to go on with."""
    fine = True
    for template in report.descriptor.templates():
        name, devices = quoted(template.name), device_count(template)
        if devices > MOST_DEVICES:
            fine = False
            report.add(
                "MGD090", f"{name} has {_many(devices)} devices; at most {MOST_DEVICES} are expanded",
                report.at(template.device_topology, "dims"), help="write smaller dims",
            )  # fmt: skip
            continue
        count = template.channels.count if template.channels else 0
        if count * devices > MOST_PORTS:
            fine = False
            report.add(
                "MGD090", f"{name} has {count} channels on each of {devices} devices; at most {MOST_PORTS} ports are made",
                report.at(template.channels, "count"), help="write a smaller count",
            )  # fmt: skip
        if isinstance(template, MeshDescriptor):
            fine &= _chords(report, template)
    return fine


def _chords(report: Report, template: MeshDescriptor) -> bool:
    dims = dims_of(template)
    if len(dims) != 2 or not template.express_links:
        return True
    chords = sum(chord_count((dims[0], dims[1]), link) for link in template.express_links)
    if chords <= MOST_CHORDS:
        return True
    report.add(
        "MGD090", f"{quoted(template.name)} has {chords} express links; at most {MOST_CHORDS} are made",
        report.at(template.express_links[0]), help="remove express_links",
    )  # fmt: skip
    return False


def totals(templates: Templates, top: NodeRef, reached: Reached) -> Totals:
    """What the top-level instance amounts to, children before parents, each graph template once."""
    known: dict[int, Totals] = {}

    def of(node: NodeRef) -> Totals:
        template = templates.template(node)
        if isinstance(template, GraphDescriptor):
            return known[id(template)]
        assert template is not None, "what is reached is sound"
        return Totals(1, int(isinstance(template, MeshDescriptor)), 1, device_count(template))

    for graph in reversed(reached.graphs):
        parts = [of(node) for node in graph.instances]
        known[id(graph)] = Totals(
            sum(each.grids for each in parts),
            sum(each.meshes for each in parts),
            1 + sum(each.instances for each in parts),
            sum(each.devices for each in parts),
            own_records(graph) + sum(each.records for each in parts),
            1 + max((each.levels for each in parts), default=0),
        )
    return of(top)


def own_records(graph: GraphDescriptor) -> int:
    """The size of the directed connections of one graph instance: a record of n nodes counts n/2."""
    explicit = sum(max(len(each.nodes) ** 2 // 2, len(each.nodes)) for each in graph.connections)
    if graph.graph_topology is None:
        return explicit
    children = len(graph.instances)
    if graph.graph_topology.layout_type == GraphTopologyType.ALL_TO_ALL:
        return explicit + children * (children - 1)
    return explicit + 2 * children


def check_totals(report: Report, found: Totals) -> bool:
    """Rule MGD090 of the whole; False when it is too large to be expanded."""
    top = report.descriptor.top_level_instance
    fine = True
    for count, most, what in (
        (found.instances, MOST_INSTANCES, "instances"),
        (found.devices, MOST_DEVICES, "devices"),
        (found.records, MOST_RECORDS, "directed connections"),
        (found.levels, MOST_LEVELS, "levels of graphs"),
    ):
        if count > most:
            fine = False
            report.add(
                "MGD090", f"the top-level instance amounts to {_many(count)} {what}; at most {most} are expanded", report.at(top),
                help="instantiate less",
            )  # fmt: skip
    return fine


def _many(count: int) -> str:
    """A number, which may be one that nobody would write out."""
    return str(count) if count < BEYOND else "far too many"


def check_pin_work(report: Report, meshes: int, largest: int) -> bool:
    """Rule MGD090 of the pins: a bound on the steps to match all patterns and to list what they choose."""
    steps, seen = 0, set[tuple[str, str]]()
    for entry in report.descriptor.pinnings:
        for _, name, text in written_patterns(entry):
            domain = {"mesh_id_regex": meshes, "chip_id_regex": largest}.get(name, len(SLOTS))
            if (name, text) not in seen:
                seen.add((name, text))
                steps += _pattern(text).cost(domain)
        slots = sum(
            _wide(p.tray_id_regex) * _wide(p.asic_location_regex) for p in entry.physical_asic_position
        )
        chips = sum(
            (meshes if n.mesh_id_regex else 1) * (largest if n.chip_id_regex else 1)
            for n in entry.logical_fabric_node_id
        )
        steps += slots + chips
        if steps > MOST_PIN_STEPS:
            report.add(
                "MGD090", f"the pinnings take more than {MOST_PIN_STEPS} steps to expand", report.at(entry),
                help="write fewer patterns, or patterns that choose less",
            )  # fmt: skip
            return False
    return True


def _wide(pattern: str) -> int:
    return len(SLOTS) if pattern else 1


def _pattern(text: str) -> Pattern:
    return cached_pattern(text)
