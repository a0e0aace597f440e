"""Bindings against the descriptor: every host block of every mesh belongs to exactly one rank."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from mgd.diagnostics import Label, Position
from mgd.graph import Mesh, MeshGraph
from tt_run.inputs.bindings import Binding
from tt_run.inputs.findings import Findings, counted, label, list_numbers
from tt_run.plan.checks.subject import Subject

_Context = tuple[int | None, Path]


_MISSPELT = frozenset(f"write {key!r}" for key in ("mesh_id", "mesh_host_rank"))


def check_meshes(subject: Subject, findings: Findings) -> None:
    """TTR204 to TTR209, separately for each sub-context, since sub-contexts do not share meshes."""
    if any(each.code == "TTR106" and each.help in _MISSPELT for each in findings.judged):
        return  # what such a key would have said is missing only because it is misspelt
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
        placed, astray = _place(bindings, graph)
        # Ranks that name different descriptors within one job share its blocks in a way that no single file tells.
        is_whole = descriptors_of[subcontext] == 1
        free = _free(placed, graph) if is_whole else []
        for binding in astray:
            _tell_astray(binding, placed, graph, free, findings)
        if is_whole:
            _tell_unbound(free, bindings, graph, findings)


_Place = tuple[int, int]  # mesh_id and host rank


def _place(bindings: Iterable[Binding], graph: MeshGraph) -> tuple[dict[_Place, Binding], list[Binding]]:
    """The rank of each place that the descriptor has, and the ranks that are bound to none or to one that is taken."""
    placed: dict[_Place, Binding] = {}
    astray = []
    for binding in bindings:
        place = _place_of(binding, graph)
        if place is None or placed.setdefault(place, binding) is not binding:
            astray.append(binding)
    return placed, astray


def _place_of(binding: Binding, graph: MeshGraph) -> _Place | None:
    if binding.mesh_id not in graph.mesh_ids:
        return None
    mesh, host_rank = graph.mesh(binding.mesh_id), binding.mesh_host_rank
    if host_rank is None:
        return (binding.mesh_id, 0) if mesh.host_count == 1 else None
    return (binding.mesh_id, host_rank) if host_rank < mesh.host_count else None


def _free(placed: dict[_Place, Binding], graph: MeshGraph) -> list[_Place]:
    """The places that no rank is bound to."""
    places = (
        (mesh.mesh_id, rank) for mesh in graph.meshes if not mesh.is_switch for rank in range(mesh.host_count)
    )
    return [place for place in places if place not in placed]


def _tell_astray(
    binding: Binding, placed: dict[_Place, Binding], graph: MeshGraph, free: list[_Place], findings: Findings
) -> None:
    """What is wrong with a rank's place, with a free one of that mesh, which is then taken: it is one mistake, told once."""
    known = binding.mesh_id if binding.mesh_id in graph.mesh_ids else _nearest_mesh(binding, graph)
    wanted = (known, binding.mesh_host_rank or 0)
    offered = wanted if wanted in free else next((place for place in free if place[0] == known), None)
    if offered is not None:
        free.remove(offered)
    if binding.mesh_id not in graph.mesh_ids:
        _unknown_mesh(binding, graph, offered, findings)
        return
    mesh, host_rank = graph.mesh(binding.mesh_id), binding.mesh_host_rank
    if host_rank is None and mesh.host_count > 1:
        _missing_host_rank(binding, mesh, offered, findings)
    elif host_rank is not None and host_rank >= mesh.host_count:
        _host_rank_out_of_range(binding, mesh, host_rank, offered, findings)
    else:
        _bound_twice(binding, placed[mesh.mesh_id, host_rank or 0], mesh, host_rank or 0, offered, findings)


def _nearest_mesh(binding: Binding, graph: MeshGraph) -> int:
    return min(sorted(graph.mesh_ids), key=lambda known: abs(known - binding.mesh_id))


def _unknown_mesh(binding: Binding, graph: MeshGraph, offered: _Place | None, findings: Findings) -> None:
    ids = sorted(graph.mesh_ids)
    which = f"only mesh_id {ids[0]}" if len(ids) == 1 else f"mesh_ids {list_numbers(ids)}"
    nearest = _nearest_mesh(binding, graph)
    moved = (
        offered is not None and graph.mesh(nearest).host_count > 1 and offered[1] != binding.mesh_host_rank
    )
    host_rank = f", mesh_host_rank {offered[1]}" if offered is not None and moved else ""
    findings.error(
        "TTR204",
        "rank binding names a mesh that the descriptor does not have",
        Label(binding.mesh_id_position, f"rank {binding.rank} is bound to mesh_id {binding.mesh_id}"),
        *_at(graph.mesh(nearest).position, graph, f"the descriptor instantiates {which}"),
        help=f"bind rank {binding.rank} to mesh_id {nearest}{host_rank}",
    )


def _missing_host_rank(binding: Binding, mesh: Mesh, offered: _Place | None, findings: Findings) -> None:
    findings.error(
        "TTR209",
        f"rank {binding.rank} does not say which host of mesh {mesh.mesh_id} it is",
        Label(binding.position, f"rank {binding.rank} has no mesh_host_rank"),
        *label(mesh.host_position, f"mesh {mesh.mesh_id} is cut over {_hosts(mesh)}"),
        help=f"add mesh_host_rank: {offered[1]}"
        if offered
        else f"add mesh_host_rank: 0..{mesh.host_count - 1}",
    )


def _host_rank_out_of_range(
    binding: Binding, mesh: Mesh, host_rank: int, offered: _Place | None, findings: Findings
) -> None:
    highest = mesh.host_count - 1
    findings.error(
        "TTR205",
        f"mesh {mesh.mesh_id} has no host rank {host_rank}",
        Label(
            binding.host_rank_position or binding.position,
            f"rank {binding.rank} is bound to mesh_host_rank {host_rank}",
        ),
        *label(mesh.host_position, f"host_topology {_shape(mesh.host_dims)}: host ranks 0..{highest}"),
        help=f"write mesh_host_rank: {offered[1]}, which no rank has, or cut the mesh over more hosts"
        if offered
        else f"use a mesh_host_rank of 0..{highest}, or cut the mesh over more hosts",
    )


def _bound_twice(
    binding: Binding, first: Binding, mesh: Mesh, host_rank: int, offered: _Place | None, findings: Findings
) -> None:
    findings.error(
        "TTR206",
        f"ranks {first.rank} and {binding.rank} are both bound to host rank {host_rank} of mesh {mesh.mesh_id}",
        Label(binding.host_rank_position or binding.mesh_id_position, f"rank {binding.rank}"),
        Label(first.host_rank_position or first.mesh_id_position, f"rank {first.rank}"),
        *label(mesh.host_position, f"mesh {mesh.mesh_id} is cut over {_hosts(mesh)}"),
        help=f"give rank {binding.rank} mesh_host_rank: {offered[1]}, which no rank has"
        if offered
        else "give each rank its own mesh_id or mesh_host_rank",
    )


def _tell_unbound(free: list[_Place], bindings: list[Binding], graph: MeshGraph, findings: Findings) -> None:
    wanted = sum(mesh.host_count for mesh in graph.meshes if not mesh.is_switch)
    for mesh in graph.meshes:
        missing = [host_rank for mesh_id, host_rank in free if mesh_id == mesh.mesh_id]
        if not missing:
            continue
        what = (
            f"host rank{'s' * (len(missing) > 1)} {list_numbers(missing)} of mesh {mesh.mesh_id}"
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
