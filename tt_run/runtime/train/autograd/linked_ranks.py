"""Whether ranks that want to talk have meshes that are linked: asked before the first message, not found out by a wait."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tt_run import contract
from tt_run.runtime.train.autograd.operation import naming_faults

if TYPE_CHECKING:
    from mgd.graph import MeshGraph
    from tt_run.runtime.train.autograd.multihost import DistributedContext

Pair = tuple[int, int]


@naming_faults
def check_links(context: DistributedContext, pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs of ranks whose meshes are linked over other meshes only. Every rank of the job must call it.

    Raises RuntimeError naming every pair of ranks that no chain of links of the descriptor connects. Without a descriptor there is nothing to check.
    """
    from tt_run.runtime.mesh import system_mesh
    from tt_run.runtime.mesh.distributed import distributed_context_allgather_int

    ids = distributed_context_allgather_int(system_mesh().mesh_id)
    path = os.environ.get(contract.MESH_GRAPH_DESC_PATH)
    if not path:
        return []
    from mgd import expand, load

    graph = expand(load(path))
    wanted = [(a, b) for a, b in pairs if ids[a] != ids[b]]
    apart = [pair for pair in wanted if ids[pair[1]] not in _reachable(graph, ids[pair[0]])]
    if apart:
        named = "; ".join(f"ranks {a} and {b} (meshes {ids[a]} and {ids[b]})" for a, b in apart)
        raise RuntimeError(
            f"{path}: no links connect {named}. help: add them to the graph's connections, or bind the ranks to other meshes"
        )
    return [pair for pair in wanted if ids[pair[1]] not in _neighbours(graph, ids[pair[0]])]


def _neighbours(graph: MeshGraph, mesh_id: int) -> set[int]:
    ends = {(link.a, link.b) for link in graph.links}
    return {b for a, b in ends if a == mesh_id} | {a for a, b in ends if b == mesh_id}


def _reachable(graph: MeshGraph, start: int) -> set[int]:
    seen, pending = {start}, [start]
    while pending:
        fresh = _neighbours(graph, pending.pop()) - seen
        seen |= fresh
        pending.extend(fresh)
    return seen
