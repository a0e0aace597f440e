"""Bindings against the descriptor: every host block of every mesh belongs to exactly one rank."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from mgd.diagnostics import Label, Position
from mgd.graph import Mesh, MeshGraph
from tt_run.inputs.bindings import Binding
from tt_run.inputs.findings import Findings, counted, label, listed
from tt_run.plan.checks.subject import Subject

_Context = tuple[int | None, Path]


def check_meshes(subject: Subject, findings: Findings) -> None:
    """TTR204 to TTR209, separately for each sub-context, since sub-contexts do not share meshes."""
    contexts: dict[_Context, list[Binding]] = defaultdict(list)
    for binding in subject.bindings:
        contexts[binding.subcontext_id, subject.source.bindings.descriptor_of(binding)].append(binding)
    descriptors_of: dict[int | None, int] = defaultdict(int)
    for subcontext, _ in contexts:
        descriptors_of[subcontext] += 1
    for (subcontext, path), bindings in contexts.items():
        graph = subject.source.graphs.get(path)
        if graph is None:
            continue
        placed = _place(bindings, graph, findings)
        # Ranks that name different descriptors within one job share its blocks in a way that no single file tells.
        if descriptors_of[subcontext] == 1:
            _check_complete(placed, bindings, graph, findings)


def _place(
    bindings: Iterable[Binding], graph: MeshGraph, findings: Findings
) -> dict[tuple[int, int], Binding]:
    """The rank of each (mesh_id, host rank) that the descriptor has; everything else is a finding."""
    placed: dict[tuple[int, int], Binding] = {}
    for binding in bindings:
        if binding.mesh_id not in graph.mesh_ids:
            _unknown_mesh(binding, graph, findings)
            continue
        mesh = graph.mesh(binding.mesh_id)
        host_rank = binding.mesh_host_rank
        if host_rank is None:
            if mesh.host_count > 1:
                _missing_host_rank(binding, mesh, findings)
                continue
            host_rank = 0
        if host_rank >= mesh.host_count:
            _host_rank_out_of_range(binding, mesh, host_rank, findings)
            continue
        first = placed.setdefault((binding.mesh_id, host_rank), binding)
        if first is not binding:
            _bound_twice(binding, first, mesh, host_rank, findings)
    return placed


def _unknown_mesh(binding: Binding, graph: MeshGraph, findings: Findings) -> None:
    ids = sorted(graph.mesh_ids)
    which = f"only mesh_id {ids[0]}" if len(ids) == 1 else f"mesh_ids {listed(ids)}"
    nearest = min(ids, key=lambda known: abs(known - binding.mesh_id))
    findings.error(
        "TTR204",
        "rank binding names a mesh that the descriptor does not have",
        Label(binding.mesh_id_position, f"rank {binding.rank} is bound to mesh_id {binding.mesh_id}"),
        *_at(graph.mesh(nearest).position, graph, f"the descriptor instantiates {which}"),
        help=f"bind rank {binding.rank} to mesh_id {nearest}",
    )


def _missing_host_rank(binding: Binding, mesh: Mesh, findings: Findings) -> None:
    findings.error(
        "TTR209",
        f"rank {binding.rank} does not say which host of mesh {mesh.mesh_id} it is",
        Label(binding.position, f"rank {binding.rank} has no mesh_host_rank"),
        *label(mesh.host_position, f"mesh {mesh.mesh_id} is cut over {_hosts(mesh)}"),
        help=f"add mesh_host_rank: 0..{mesh.host_count - 1}",
    )


def _host_rank_out_of_range(binding: Binding, mesh: Mesh, host_rank: int, findings: Findings) -> None:
    highest = mesh.host_count - 1
    findings.error(
        "TTR205",
        f"mesh {mesh.mesh_id} has no host rank {host_rank}",
        Label(
            binding.host_rank_position or binding.position,
            f"rank {binding.rank} is bound to mesh_host_rank {host_rank}",
        ),
        *label(mesh.host_position, f"host_topology {_shape(mesh.host_dims)}: host ranks 0..{highest}"),
        help=f"use a mesh_host_rank of 0..{highest}, or cut the mesh over more hosts",
    )


def _bound_twice(binding: Binding, first: Binding, mesh: Mesh, host_rank: int, findings: Findings) -> None:
    findings.error(
        "TTR206",
        f"ranks {first.rank} and {binding.rank} are both bound to host rank {host_rank} of mesh {mesh.mesh_id}",
        Label(binding.host_rank_position or binding.mesh_id_position, f"rank {binding.rank}"),
        Label(first.host_rank_position or first.mesh_id_position, f"rank {first.rank}"),
        *label(mesh.host_position, f"mesh {mesh.mesh_id} is cut over {_hosts(mesh)}"),
        help="give each rank its own mesh_id or mesh_host_rank",
    )


def _check_complete(
    placed: dict[tuple[int, int], Binding],
    bindings: list[Binding],
    graph: MeshGraph,
    findings: Findings,
) -> None:
    wanted = sum(mesh.host_count for mesh in graph.meshes if not mesh.is_switch)
    for mesh in graph.meshes:
        missing = [rank for rank in range(mesh.host_count) if (mesh.mesh_id, rank) not in placed]
        if mesh.is_switch or not missing:
            continue
        what = (
            f"host rank {listed(missing)} of mesh {mesh.mesh_id}"
            if mesh.host_count > 1
            else f"mesh {mesh.mesh_id}"
        )
        place = f"mesh_id: {mesh.mesh_id}, mesh_host_rank: {missing[0]}"
        too_few = len(bindings) < wanted
        count = f": the descriptor needs {counted(wanted, 'rank')}, bound: {len(bindings)}" if too_few else ""
        where = mesh.host_position or mesh.position
        findings.error(
            "TTR207",
            f"no rank is bound to {what}{count}",
            *_at(where, graph, f"mesh {mesh.mesh_id} is cut over {_hosts(mesh)}"),
            Label(bindings[-1].position, f"the last of {counted(len(bindings), 'rank')}"),
            help=f"add - {{rank: {len(bindings)}, {place}}}" if too_few else f"give one of the ranks {place}",
        )


def _at(position: Position | None, graph: MeshGraph, text: str) -> tuple[Label, ...]:
    return (Label(position or Position(graph.file), text),)


def _hosts(mesh: Mesh) -> str:
    return f"{mesh.host_count} hosts ({_shape(mesh.host_dims)})" if mesh.host_count > 1 else "one host"


def _shape(dims: tuple[int, int]) -> str:
    return f"{dims[0]}x{dims[1]}"
