"""`mgd describe`: the numbers of a descriptor."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

import click

from mgd.cli.inputs import load_input
from mgd.cli.output import say, table, wants_colour
from mgd.cli.words import DescriptorWord
from mgd.drawing.canvas import paint
from mgd.expansion import expand
from mgd.graph import Mesh, MeshGraph
from mgd.measures import GraphMeasures, measure_graph, measure_mesh


@click.command()
@click.argument("file", type=DescriptorWord(), metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(file: str, as_json: bool) -> None:
    """Count devices, hosts and links; tell bisection and diameter.

    The bisection is the number of channels across the narrowest straight cut into halves; the diameter the most hops
    between two devices of a mesh, or between two meshes.
    """
    descriptor = load_input(file)
    graph = expand(descriptor)
    measures = measure_graph(graph)
    if as_json:
        say(json.dumps(_facts(descriptor.file, graph, measures), indent=2))
    else:
        say("\n".join(_page(descriptor.file, graph, measures)))


def _kinds(graph: MeshGraph) -> list[tuple[Mesh, int]]:
    """One mesh of each kind and how many there are, in order of appearance."""
    keys = [(m.descriptor, m.is_switch) for m in graph.meshes]
    counts = Counter(keys)
    first = dict(reversed(list(zip(keys, graph.meshes, strict=True))))
    return [(first[key], counts[key]) for key in counts]


def _totals(graph: MeshGraph) -> dict[str, Any]:
    plain = [mesh for mesh in graph.meshes if not mesh.is_switch]
    return {
        "arch": graph.arch,
        "meshes": len(plain),
        "switches": len(graph.meshes) - len(plain),
        "devices": graph.device_count,
        "hosts": sum(mesh.host_count for mesh in plain),
        "links_in_meshes": sum(mesh.grid_link_count + len(mesh.express) for mesh in graph.meshes),
        "links_between_meshes": len(graph.connections),
        "pinned_groups": len(graph.pins),
    }


def _facts(file: str, graph: MeshGraph, measures: GraphMeasures | None) -> dict[str, Any]:
    kinds = []
    for mesh, number in _kinds(graph):
        own = measure_mesh(mesh)
        kinds.append(
            {
                "descriptor": mesh.descriptor,
                "switch": mesh.is_switch,
                "count": number,
                "device_dims": list(mesh.dims),
                "host_dims": list(mesh.host_dims),
                "dim_types": list(mesh.dim_types),
                "channels": mesh.channels,
                "policy": mesh.policy,
                "links": own.links,
                "wraps": own.wraps,
                "bisection_channels": own.bisection,
                "diameter": own.diameter,
            }
        )
    among = measures and {
        "islands": measures.islands,
        "diameter": measures.diameter,
        "bisection_channels": measures.bisection,
    }
    return {"file": file, **_totals(graph), "kinds": kinds, "between_meshes": among}


def _page(file: str, graph: MeshGraph, measures: GraphMeasures | None) -> list[str]:
    totals = _totals(graph)
    lines = [paint(file, "title", wants_colour(sys.stdout))]
    lines += [
        f"  {key.replace('_', ' '):<22}{value}" for key, value in totals.items() if value or key != "switches"
    ]
    rows = []
    for mesh, number in _kinds(graph):
        own = measure_mesh(mesh)
        torus = ("X" if mesh.wraps(1) else "") + ("Y" if mesh.wraps(0) else "")
        rows.append(
            (
                ("switch " if mesh.is_switch else "") + mesh.descriptor,
                str(number),
                "x".join(map(str, mesh.dims)) + (f" torus {torus}" if torus else ""),
                "x".join(map(str, mesh.host_dims)),
                f"{mesh.channels} {mesh.policy}",
                str(own.links),
                f"{own.bisection} channels",
                "too large to search" if own.diameter is None else f"{own.diameter} hops",
            )
        )
    head = ("MESH", "COUNT", "SHAPE", "HOSTS", "CHANNELS", "LINKS", "BISECTION", "DIAMETER")
    lines += ["", *(f"  {line}" for line in table(head, rows))]
    if measures is not None:
        lines += ["", *(f"  {line}" for line in _among(measures))]
    return lines


def _among(measures: GraphMeasures) -> list[str]:
    if measures.islands > 1:
        lines = [f"the meshes form {measures.islands} islands without a link between them"]
    elif measures.diameter is None:
        lines = ["all meshes hang together; too many to search for the longest way"]
    else:
        plural = "" if measures.diameter == 1 else "s"
        lines = [f"between two meshes at most {measures.diameter} link{plural}"]
    if measures.bisection is not None:
        lines.append(f"{measures.bisection} channels between any two halves of the meshes, at least")
    return lines
