"""The rank bindings that fit a mesh graph: one rank for every host block of every mesh, in the order of the runtime."""

from __future__ import annotations

import json
from collections.abc import Iterator

from mgd.graph import MeshGraph


def bindings_text(graph: MeshGraph, descriptor: str) -> str:
    """A rank-bindings file (YAML) for a graph; `descriptor` is its path as seen from the file's folder.

    Ranks go mesh by mesh, host rank by host rank (reference library 0.81.1). Switches run no rank of a program.
    """
    lines = ["# One rank for each host block of each mesh.", "rank_bindings:", *_ranks(graph)]
    return "\n".join([*lines, f"mesh_graph_desc_path: {json.dumps(descriptor, ensure_ascii=False)}", ""])


def _ranks(graph: MeshGraph) -> Iterator[str]:
    rank = 0
    for mesh in graph.meshes:
        if mesh.is_switch:
            continue
        for host_rank in range(mesh.host_count):
            block = mesh.host_block(host_rank)
            (row, column), (last_row, last_column) = (block.row, block.column), block.last
            yield f"  - rank: {rank}  # rows {row} to {last_row}, columns {column} to {last_column} of mesh {mesh.mesh_id}"
            yield f"    mesh_id: {mesh.mesh_id}"
            yield f"    mesh_host_rank: {host_rank}"
            rank += 1
