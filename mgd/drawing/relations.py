"""The links between meshes in words: a ring, a chain, a star or every pair when they are one, else one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mgd.graph import InterLink, MeshGraph

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Relation:
    """Links alike in channels, policy and direction, with the pattern they make, if they make one."""

    channels: int
    policy: str
    z_direction: bool
    pairs: tuple[Pair, ...]
    pattern: str  # "every pair", "ring", "chain", "star", or "" for none of these
    devices: tuple[
        tuple[int, int], ...
    ] = ()  # (device of a, device of b) of each pair, for device-level links

    @property
    def terms(self) -> str:
        """`4 channels RELAXED, Z ports`."""
        plural = "" if self.channels == 1 else "s"
        return f"{self.channels} channel{plural} {self.policy}" + (", Z ports" if self.z_direction else "")

    @property
    def path(self) -> tuple[int, ...]:
        """The meshes in the order in which a ring or a chain runs, or the centre of a star and then its ends."""
        if self.pattern == "star":
            centre = _centre(self.pairs)
            return (centre, *sorted({mesh for pair in self.pairs for mesh in pair} - {centre}))
        return _walk(self.pairs) if self.pattern in ("ring", "chain") else ()


def relations(graph: MeshGraph) -> tuple[Relation, ...]:
    """The graph's links between meshes, grouped; mesh-level ones first, each group in written order."""
    groups: dict[tuple[bool, int, str, bool], list[InterLink]] = {}
    for link in graph.links:
        key = (link.a_device is not None, link.channels, link.policy, link.z_direction)
        groups.setdefault(key, []).append(link)
    return tuple(_relation(key, links) for key, links in sorted(groups.items(), key=lambda item: item[0][0]))


def _relation(key: tuple[bool, int, str, bool], links: Sequence[InterLink]) -> Relation:
    at_devices, channels, policy, z_direction = key
    pairs = tuple((link.a, link.b) for link in links)
    devices = tuple((link.a_device or 0, link.b_device or 0) for link in links) if at_devices else ()
    return Relation(channels, policy, z_direction, pairs, "" if at_devices else pattern_of(pairs), devices)


def pattern_of(pairs: Sequence[Pair]) -> str:
    """The name of the graph these undirected pairs make; "" unless every pair is there once and the meshes hang together."""
    edges = {(min(pair), max(pair)) for pair in pairs}
    nodes = {mesh for pair in edges for mesh in pair}
    if len(edges) != len(pairs) or any(a == b for a, b in edges) or len(nodes) < 3:
        return ""
    degrees = sorted(sum(mesh in pair for pair in edges) for mesh in nodes)
    count = len(nodes)
    if count > 3 and len(edges) == count * (count - 1) // 2:
        return "every pair"
    if degrees == [2] * count and len(_walk(tuple(edges))) == count:
        return "ring"
    if degrees == [1, 1] + [2] * (count - 2) and len(_walk(tuple(edges))) == count:
        return "chain"
    if count > 3 and degrees == [1] * (count - 1) + [count - 1]:
        return "star"
    return ""


def _neighbours(pairs: Sequence[Pair]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for a, b in pairs:
        found.setdefault(a, []).append(b)
        found.setdefault(b, []).append(a)
    return {mesh: sorted(near) for mesh, near in found.items()}


def _walk(pairs: Sequence[Pair]) -> tuple[int, ...]:
    """Along a ring or a chain, from its end or its lowest mesh."""
    near = _neighbours(pairs)
    ends = [mesh for mesh in sorted(near) if len(near[mesh]) == 1]
    here = ends[0] if ends else min(near)
    path = [here]
    seen = {here}
    while True:
        onward = [mesh for mesh in near[here] if mesh not in seen]
        if not onward:
            return tuple(path)
        here = onward[0]
        path.append(here)
        seen.add(here)


def _centre(pairs: Sequence[Pair]) -> int:
    near = _neighbours(pairs)
    return max(near, key=lambda mesh: len(near[mesh]))
