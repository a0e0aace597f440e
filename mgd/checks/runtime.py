"""What the runtime refuses beyond the format (reference library 0.81.1), over all templates, used or not."""

from __future__ import annotations

from mgd.checks.report import Report
from mgd.checks.structure import type_advice
from mgd.descriptor import Connection, GraphDescriptor
from mgd.expanding.links import FABRIC
from mgd.expanding.resolution import dims_of
from mgd.names import policy_name
from mgd.text.problems import quoted


def check_runtime(report: Report) -> None:
    """Rules MGD050 to MGD056: errors in the runtime profile, warnings in the full one."""
    descriptor = report.descriptor
    for mesh in descriptor.mesh_descriptors:
        hosts = mesh.host_topology.dims if mesh.host_topology else ()
        if (len(dims_of(mesh)) != 2 or len(hosts) != 2) and not report.is_flagged(mesh):
            report.add(
                "MGD050", f"{quoted(mesh.name)} has {len(dims_of(mesh))} device dims and {len(hosts)} host dims; the runtime wants 2 and 2",
                report.at(mesh.device_topology or mesh, "dims" if mesh.device_topology else ""), help="write two dims",
            )  # fmt: skip
    for mesh in descriptor.mesh_descriptors:  # those of switches are let through, and dropped
        if mesh.express_connections:
            report.add(
                "MGD051", f"{quoted(mesh.name)} has express_connections, which the runtime refuses",
                report.at(mesh.express_connections[0]), help="write express_links",
            )  # fmt: skip
    for graph in descriptor.graph_descriptors[1:]:
        report.add(
            "MGD052", f"{quoted(graph.name)} is a second graph; the runtime takes one", report.at(graph),
            report.at(descriptor.graph_descriptors[0], text="the first one"), help="describe all meshes in one FABRIC graph",
        )  # fmt: skip
    for graph in descriptor.graph_descriptors:
        _graph(report, graph)
    _suffix(report)


def _graph(report: Report, graph: GraphDescriptor) -> None:
    if graph.type != FABRIC and graph.type:
        report.add(
            "MGD053", f"{quoted(graph.name)} has the type {quoted(graph.type)}; the runtime sees FABRIC only",
            report.at(graph, "type"), help=type_advice(graph),
        )  # fmt: skip
    first: Connection | None = None
    for connection in graph.connections:
        if len(connection.nodes) > 2:
            report.add(
                "MGD054", f"a connection of {quoted(graph.name)} has {len(connection.nodes)} nodes; the runtime takes 2",
                report.at(connection), help="write one connection per pair of nodes",
            )  # fmt: skip
        policy = policy_name(connection.channels, "STRICT")
        if first is None:
            first = connection
        elif policy != (expected := policy_name(first.channels, "STRICT")):
            report.add(
                "MGD055", f"a connection of {quoted(graph.name)} is {policy}, the first one {expected}",
                report.at(connection.channels, "policy"), report.at(first.channels, "policy", text="the first one"),
                help=f"write policy: {expected if expected == 'RELAXED' else 'STRICT'} in all of them",
            )  # fmt: skip


def _suffix(report: Report) -> None:
    name = report.descriptor.file
    if name and not name.endswith(".textproto") and not name.startswith("<"):
        old = name.endswith((".yaml", ".yml"))
        report.add(
            "MGD056", "the runtime opens only files that end in .textproto", report.at(),
            help=f"mgd convert {name} > {name.rsplit('.', 1)[0]}.textproto" if old else "rename the file",
        )  # fmt: skip
