"""Group 3, second part: graphs, connections and pins as written (reference library 0.81.1)."""

from __future__ import annotations

from mgd.checks.report import Report
from mgd.descriptor import AsicPinning, LogicalFabricNodeId, PhysicalAsicPosition
from mgd.expanding.patterns import PatternError
from mgd.expanding.pins import cached_pattern, written_patterns
from mgd.text.problems import quoted


def check_graphs(report: Report) -> None:
    """Rules MGD014, MGD015, MGD031 of every graph, instantiated or not."""
    for graph in report.descriptor.graph_descriptors:
        if not graph.instances:
            report.add(
                "MGD014", f"graph {quoted(graph.name)} has no instances", report.at(graph),
                help="add instances { mesh { … } }, or remove the graph",
            )  # fmt: skip
        if not graph.type:
            report.add(
                "MGD031",
                f"graph {quoted(graph.name)} has no type",
                report.at(graph),
                help='add type: "FABRIC"',
            )
        for connection in graph.connections:
            if len(connection.nodes) < 2:
                report.add(
                    "MGD015", f"a connection of {quoted(graph.name)} has {len(connection.nodes)} of at least 2 nodes",
                    report.at(connection), help="add nodes { mesh { … } }",
                )  # fmt: skip


def check_pins(report: Report) -> None:
    """Rules MGD016, MGD032 and MGD033 of every pinning."""
    for entry in report.descriptor.pinnings:
        if not entry.logical_fabric_node_id:
            report.add(
                "MGD016",
                "a pinning names no device",
                report.at(entry),
                help="add logical_fabric_node_id { … }",
            )
        if not entry.physical_asic_position:
            report.add(
                "MGD016", "a pinning names no slot", report.at(entry), help="add physical_asic_position { … }"
            )
        _forms(report, entry)
        for message, name, text in written_patterns(entry):
            try:
                cached_pattern(text)
            except PatternError as error:
                report.add(
                    "MGD033", f"{name} {quoted(text)}: {error}", report.at(message, name),
                    help='write numbers and ranges ("0,2,4-7") or an expression ("[0-3]")',
                )  # fmt: skip


def _forms(report: Report, entry: AsicPinning) -> None:
    """A number and a pattern for the same thing, or numbers beside patterns."""
    for members, pairs in (
        (entry.logical_fabric_node_id, (("mesh_id", "mesh_id_regex"), ("chip_id", "chip_id_regex"))),
        (
            entry.physical_asic_position,
            (("tray_id", "tray_id_regex"), ("asic_location", "asic_location_regex")),
        ),
    ):
        first: LogicalFabricNodeId | PhysicalAsicPosition | None = None
        for member in members:
            for literal, pattern in pairs:
                if getattr(member, literal) is not None and getattr(member, pattern):
                    report.add(
                        "MGD032", f"{literal} and {pattern} are both given", report.at(member, pattern),
                        report.at(member, literal, text=f"{literal} is given here"), help=f"keep {literal} or {pattern}",
                    )  # fmt: skip
            regex = any(getattr(member, pattern) for _, pattern in pairs)
            if first is None:
                first, first_regex = member, regex
            elif regex != first_regex:
                told = "patterns" if regex else "numbers"
                report.add(
                    "MGD032", f"this one is written with {told}, the first of the entry is not", report.at(member),
                    report.at(first, text="the first one"), help="write all of an entry as numbers, or all with a pattern",
                )  # fmt: skip
