"""What FABRIC graphs ask of the links between meshes (reference library 0.81.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mgd.expanding.connections import InterConnection, InterLink, Requested

FABRIC = "FABRIC"


def fabric_connections(connections: Iterable[InterConnection]) -> Iterable[InterConnection]:
    """Those that reach the mesh graph: owned by a graph of type FABRIC, between meshes, switches or their devices."""
    for each in connections:
        if each.graph_type == FABRIC and not any(node.is_graph for node in each.nodes):
            yield each


def policy_between(connections: Sequence[InterConnection], top_topology: str | None) -> tuple[str, bool]:
    """The policy between meshes and whether the descriptor gave one: of the first FABRIC record, else of the top graph's shorthand."""
    for each in connections:
        if each.graph_type == FABRIC:
            return ("RELAXED" if each.policy == "RELAXED" else "STRICT"), True
    if top_topology is not None:
        return ("RELAXED" if top_topology == "RELAXED" else "STRICT"), True
    return "STRICT", False


def requested(connections: Iterable[InterConnection]) -> tuple[Requested, ...]:
    """Directed wishes: between meshes the last count of a pair, in order of ids; between devices each record, by ids, then in written order."""
    between: dict[tuple[int, int], int] = {}
    devices: list[tuple[int, int, int, int, int]] = []
    z_pairs: set[tuple[int, int]] = set()
    for each in fabric_connections(connections):
        for record in each.directed():
            a, b = record[0], record[1]
            pair = (a.mesh_id, b.mesh_id)
            if each.z_direction:
                z_pairs.update((pair, pair[::-1]))
            if a.device is None or b.device is None:
                between[pair] = each.channels
            else:
                devices.append((*pair, a.device, b.device, each.channels))
    found = [Requested(a, b, count, (a, b) in z_pairs) for (a, b), count in sorted(between.items())]
    found += [
        Requested(a, b, count, (a, b) in z_pairs, s, t)
        for a, b, s, t, count in sorted(devices, key=lambda each: each[:2])
    ]
    return tuple(found)


def mesh_links(connections: Iterable[InterConnection]) -> tuple[InterLink, ...]:
    """Each wish once, undirected: of several between the same two meshes the last counts, in the Z direction if any of them asks for
    it; self-links are left out."""
    between: dict[tuple[int, int], InterLink] = {}
    devices: list[InterLink] = []
    for each in fabric_connections(connections):
        first = each.nodes[0]
        for other in each.nodes[1:]:
            if first == other:
                continue
            between_meshes = first.device is None or other.device is None
            pair = (min(first.mesh_id, other.mesh_id), max(first.mesh_id, other.mesh_id))
            earlier = between.get(pair) if between_meshes else None
            link = InterLink(
                first.mesh_id, other.mesh_id, each.channels, each.policy, first.device, other.device,
                each.z_direction or (earlier is not None and earlier.z_direction), each.position,
            )  # fmt: skip
            if between_meshes:
                between[pair] = link
            else:
                devices.append(link)
    return (*between.values(), *devices)
