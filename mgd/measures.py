"""What a mesh graph amounts to: distances, and how many channels hold its halves together."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from itertools import combinations

from mgd.graph import Mesh, MeshGraph
from mgd.lean import dataclass

MOST_DEVICES = 4096  # of a mesh with express links, whose diameter needs a search from every device
MOST_MESHES = 14  # whose halves are all tried
MOST_STEPS = 20_000_000  # meshes times links: the work of a search from every mesh


@dataclass(frozen=True, slots=True)
class MeshMeasures:
    """One mesh. `bisection` is in channels, 0 for a single device; `diameter` in hops, None when it is too large to search."""

    links: int
    wraps: int
    bisection: int
    diameter: int | None


@dataclass(frozen=True, slots=True)
class GraphMeasures:
    """The meshes among each other, a mesh counting as one node.

    `islands` are the groups of meshes that links hold together; `diameter` is in links between meshes, None when there
    is more than one island, or too many meshes to search; `bisection` in channels, None for more than 14 meshes.
    """

    islands: int
    diameter: int | None
    bisection: int | None


def measure_mesh(mesh: Mesh) -> MeshMeasures:
    """Links, bisection and diameter of one mesh.

    The bisection is the narrowest straight cut into halves that are equal, or as equal as an odd extent allows; a closed
    dimension is cut twice. Express links shorten the diameter and are not counted in the bisection.
    """
    rows, columns = mesh.dims
    grid = sum(_links_along(mesh, dim) for dim in (0, 1))
    closing = sum(mesh.dims[1 - dim] for dim in (0, 1) if mesh.wraps(dim))
    cuts = [
        (n % 2, mesh.dims[1 - dim] * (2 if mesh.wraps(dim) else 1))
        for dim, n in enumerate(mesh.dims)
        if n > 1
    ]
    bisection = min(cuts)[1] * mesh.channels if cuts else 0
    if not mesh.express:
        diameter: int | None = sum(n // 2 if mesh.wraps(dim) else n - 1 for dim, n in enumerate(mesh.dims))
    elif mesh.device_count <= MOST_DEVICES:
        pairs = [(link.a, link.b) for link in (*mesh.grid_links(), *mesh.express)]
        diameter = _diameter(range(rows * columns), pairs)
    else:
        diameter = None
    return MeshMeasures(grid + len(mesh.express), closing, bisection, diameter)


def measure_graph(graph: MeshGraph) -> GraphMeasures | None:
    """How the meshes hang together; None for one mesh, and for nested graphs, whose links do not say which meshes they join."""
    if len(graph.meshes) == 1 or not graph.ids_unique:
        return None
    nodes = range(len(graph.meshes))
    index = {mesh.mesh_id: position for position, mesh in enumerate(graph.meshes)}
    pairs = [(index[link.a], index[link.b]) for link in graph.links if link.a != link.b]
    islands = _islands(nodes, pairs)
    weights: dict[tuple[int, int], int] = {}
    for link in graph.links:
        a, b = sorted((index[link.a], index[link.b]))
        if a != b:
            weights[a, b] = weights.get((a, b), 0) + link.channels
    bisection = _bisection(len(graph.meshes), weights) if len(graph.meshes) <= MOST_MESHES else None
    searched = islands == 1 and len(nodes) * len(pairs) <= MOST_STEPS
    return GraphMeasures(islands, _diameter(nodes, pairs) if searched else None, bisection)


def _links_along(mesh: Mesh, dim: int) -> int:
    steps = mesh.dims[dim] if mesh.wraps(dim) else mesh.dims[dim] - 1
    return steps * mesh.dims[1 - dim]


def _near(nodes: Iterable[int], pairs: Iterable[tuple[int, int]]) -> dict[int, set[int]]:
    near: dict[int, set[int]] = {node: set() for node in nodes}
    for a, b in pairs:
        near[a].add(b)
        near[b].add(a)
    return near


def _distances(near: Mapping[int, set[int]], start: int) -> dict[int, int]:
    found = {start: 0}
    pending = deque([start])
    while pending:
        here = pending.popleft()
        for node in near[here]:
            if node not in found:
                found[node] = found[here] + 1
                pending.append(node)
    return found


def _diameter(nodes: Iterable[int], pairs: Iterable[tuple[int, int]]) -> int:
    near = _near(nodes, pairs)
    return max((max(_distances(near, node).values()) for node in near), default=0)


def _islands(nodes: Iterable[int], pairs: Iterable[tuple[int, int]]) -> int:
    near = _near(nodes, pairs)
    count, seen = 0, set[int]()
    for node in near:
        if node not in seen:
            count += 1
            seen.update(_distances(near, node))
    return count


def _bisection(count: int, weights: Mapping[tuple[int, int], int]) -> int:
    """The fewest channels between two halves of the meshes, over all halves."""
    best = None
    for half in combinations(range(count), count // 2):
        side = {*half}
        cut = sum(channels for (a, b), channels in weights.items() if (a in side) != (b in side))
        best = cut if best is None else min(best, cut)
    return best or 0
