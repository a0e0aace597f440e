"""The links between meshes in words: a ring, a chain, a star or every pair when they are one, else one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mgd.drawing.marks import Ends, end_name
from mgd.expanding.connections import ConnectionEnd
from mgd.graph import MeshGraph
from mgd.lean import dataclass

MOST_EDGES = 5000  # links of one kind that are searched for a pattern


@dataclass(frozen=True, slots=True)
class Relation:
    """Links alike in policy and direction, with the pattern they make, if they make one; without one alike in channels too.

    `counts` are the channels of each link; `ends` names the nodes of each link: `0`, `3:D7` for a device, a path for what is inside a nested graph. `path` is the
    order in which a ring or a chain runs, or the centre of a star and then its ends.
    """

    counts: tuple[int, ...]
    policy: str
    z_direction: bool
    ends: tuple[Ends, ...]
    pattern: str = ""  # "every pair", "ring", "chain", "star", or "" for none of these
    path: tuple[str, ...] = ()

    @property
    def terms(self) -> str:
        """`4 channels RELAXED, Z ports`."""
        counts = sorted(set(self.counts))
        plural = "" if counts == [1] else "s"
        return f"{' or '.join(map(str, counts))} channel{plural} {self.policy}" + (
            ", Z ports" if self.z_direction else ""
        )

    def channels_between(self) -> dict[frozenset[str], int]:
        """The channels of each link by its ends."""
        return {frozenset(ends): count for ends, count in zip(self.ends, self.counts, strict=True)}

    @property
    def nodes(self) -> int:
        return len({node for ends in self.ends for node in ends})


def relations(graph: MeshGraph) -> tuple[Relation, ...]:
    """The links between the graph's instances, grouped by their terms in order of appearance.

    The same two meshes linked twice on the same terms count once, as they do for the runtime.
    """
    groups: dict[tuple[str, str, bool], dict[tuple[Ends, int], Ends]] = {}
    for owner, ends, channels, policy, z_direction in _declared(graph):
        links = groups.setdefault((owner, policy, z_direction), {})
        links.setdefault((tuple(sorted(ends)), channels), ends)
    return tuple(
        relation
        for (_, policy, z_direction), links in groups.items()
        for relation in _related([(ends, key[1]) for key, ends in links.items()], policy, z_direction)
    )


def _related(links: list[tuple[Ends, int]], policy: str, z_direction: bool) -> Iterator[Relation]:
    """One relation when the links make a pattern together, else one for each number of channels."""
    pattern, path = pattern_of([ends for ends, _ in links])
    parts = [links] if pattern in ("ring", "chain") else []
    if not parts:
        parts = [[link for link in links if link[1] == n] for n in dict.fromkeys(n for _, n in links)]
    for part in parts:
        ends = tuple(ends for ends, _ in part)
        if len(part) != len(links):
            pattern, path = pattern_of(ends)
        yield Relation(tuple(n for _, n in part), policy, z_direction, ends, pattern, path)


def _declared(graph: MeshGraph) -> Iterator[tuple[str, Ends, int, str, bool]]:
    """(owning graph, names of the ends, terms) of each link; of the plain links for a graph made without declarations."""
    if not graph.connections:
        for link in graph.links:
            pairs = ((link.a, link.a_device), (link.b, link.b_device))
            ends = tuple(end_name(mesh, device) for mesh, device in pairs)
            yield "", ends, link.channels, link.policy, link.z_direction
    for each in graph.connections:
        ends = tuple(_name(node, graph.ids_unique) for node in each.nodes)
        owner = "/".join(f"{name}({number})" for name, number in each.graph[1:])
        yield owner, ends, each.channels, each.policy, each.z_direction


def _name(node: ConnectionEnd, by_id: bool) -> str:
    steps = [f"{name}({number})" for name, number in node.path[1:]]
    if not node.is_graph:
        steps = [str(node.mesh_id)] if by_id else [*steps[:-1], str(node.mesh_id)]
    return end_name("/".join(steps), node.device)


def pattern_of(links: Sequence[Ends]) -> tuple[str, tuple[str, ...]]:
    """The name of the figure that the links make and the path along it; ("", ()) when they make none.

    Every link has two different ends and is there once; three nodes at least; all hang together.
    """
    if len(links) > MOST_EDGES or any(
        len(ends) != 2 or ends[0] == ends[1] or ":D" in ends[0] for ends in links
    ):
        return "", ()
    near: dict[str, list[str]] = {}
    for a, b in links:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    count, degrees = len(near), sorted(map(len, near.values()))
    if count < 3:
        return "", ()
    if count > 3 and len(links) == count * (count - 1) // 2 and degrees[0] == count - 1:
        return "every pair", tuple(near)
    if degrees[-1] <= 2:
        path = _walk(near)
        if len(path) == count:
            return ("ring" if degrees[0] == 2 else "chain"), path
    if count > 3 and degrees == [1] * (count - 1) + [count - 1]:
        centre = max(near, key=lambda node: len(near[node]))
        return "star", (centre, *near[centre])
    return "", ()


def _walk(near: dict[str, list[str]]) -> tuple[str, ...]:
    """Along a ring or a chain, from its first end or the first node."""
    here = next((node for node, others in near.items() if len(others) == 1), next(iter(near)))
    path = {here: None}
    while True:
        onward = next((node for node in near[here] if node not in path), None)
        if onward is None:
            return tuple(path)
        here = onward
        path[here] = None
