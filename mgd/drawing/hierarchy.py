"""What a picture shows, before it has places: graphs in graphs down to meshes, and their links bundled by the boxes that they join."""

from __future__ import annotations

from collections.abc import Iterator

from mgd.drawing.marks import end_name
from mgd.expanding.connections import ConnectionEnd, Path
from mgd.graph import GraphInstance, Mesh, MeshGraph
from mgd.lean import dataclass, field


@dataclass(slots=True)
class Item:
    """A box: a mesh or switch, or a graph with the items in it. `first_rank` is the rank of a mesh's first host."""

    path: Path
    name: str
    mesh: Mesh | None = None
    instance: GraphInstance | None = None
    first_rank: int = 0
    items: list[Item] = field(default_factory=list)
    bundles: list[Bundle] = field(default_factory=list)

    def walk(self) -> Iterator[Item]:
        """This item and all in it, outer ones first."""
        yield self
        for item in self.items:
            yield from item.walk()


@dataclass(frozen=True, slots=True)
class Joint:
    """One link between two ends, in words and numbers; `key` names its ends as `Marks.links` does, sorted; `paths` lead to
    them, since the ids of meshes may repeat in nested graphs."""

    words: str
    channels: int
    key: tuple[str, ...]
    meshes: tuple[int, int]
    paths: tuple[Path, Path]


@dataclass(slots=True)
class Bundle:
    """All links of a kind between two items of one graph, by their numbers in it; equal numbers for links that stay in one item."""

    first: int
    last: int
    z_direction: bool
    joints: list[Joint] = field(default_factory=list)

    @property
    def label(self) -> str:
        """How many links and channels: `2 ch`, `3 links, 6 ch`."""
        total = sum(joint.channels for joint in self.joints)
        return f"{total} ch" if len(self.joints) == 1 else f"{len(self.joints)} links, {total} ch"


def hierarchy(graph: MeshGraph) -> Item:
    """The outermost item of a graph: its top graph, its only mesh, or a box without a name around meshes that no graph holds."""
    found: dict[Path, Item] = {}
    for instance in graph.graphs:
        found[instance.own_path] = Item(
            instance.own_path, f"{instance.name} {instance.graph_id}", instance=instance
        )
    rank = 0
    for mesh in graph.meshes:
        name = f"{'switch' if mesh.is_switch else 'mesh'} {mesh.mesh_id}"
        found[mesh.own_path] = Item(mesh.own_path, name, mesh, first_rank=rank)
        rank += mesh.host_count
    root = Item((), "")
    # Children come before their parent among graphs; boxes keep the order in which a file names them.
    for mesh in graph.meshes:
        found.get(mesh.path, root).items.append(found[mesh.own_path])
    for instance in graph.graphs:
        found.get(instance.path, root).items.append(found[instance.own_path])
    if len(root.items) == 1 and not (graph.links and not graph.connections):
        root = root.items[0]
    _bundle(graph, root, found)
    return root


def _bundle(graph: MeshGraph, root: Item, found: dict[Path, Item]) -> None:
    bundles: dict[tuple[Path, int, int, bool], Bundle] = {}
    for first, second, channels, policy, z_direction in _ends(graph):
        owner, a, b = _meeting(root, found, first.path, second.path)
        key = (owner.path, min(a, b), max(a, b), z_direction)
        if key not in bundles:
            bundles[key] = Bundle(key[1], key[2], z_direction)
            owner.bundles.append(bundles[key])
        names = [_end_words(found, node) for node in (first, second)]
        words = f"{names[0]} to {names[1]}: {channels} channel{'s' * (channels != 1)} {policy}" + (
            ", Z ports" if z_direction else ""
        )
        ends = tuple(sorted(end_name(node.mesh_id, node.device) for node in (first, second)))
        meshes, paths = (first.mesh_id, second.mesh_id), (first.path, second.path)
        bundles[key].joints.append(Joint(words, channels, ends, meshes, paths))


def _ends(graph: MeshGraph) -> Iterator[tuple[ConnectionEnd, ConnectionEnd, int, str, bool]]:
    """Every link as two nodes, channels, policy and whether it takes Z ports; of n nodes the first with each of the others."""
    for each in graph.connections:
        for other in each.nodes[1:]:
            yield each.nodes[0], other, each.channels, each.policy, each.z_direction
    if not graph.connections:
        by_id = {mesh.mesh_id: mesh.own_path for mesh in graph.meshes}
        for link in graph.links:
            first, second = (
                ConnectionEnd(by_id[link.a], link.a_device),
                ConnectionEnd(by_id[link.b], link.b_device),
            )
            yield first, second, link.channels, link.policy, link.z_direction


def _meeting(root: Item, found: dict[Path, Item], first: Path, second: Path) -> tuple[Item, int, int]:
    """The innermost item that holds both ends, and the numbers of its items that lead to them."""
    depth = 0
    while depth < min(len(first), len(second)) and first[depth] == second[depth]:
        depth += 1
    depth = min(
        depth, len(first) - 1, len(second) - 1
    )  # an end inside of the other one, or itself, stays in one box
    owner = found.get(first[:depth], root)
    numbers = {item.path: number for number, item in enumerate(owner.items)}
    return owner, numbers.get(first[: depth + 1], 0), numbers.get(second[: depth + 1], 0)


def _end_words(found: dict[Path, Item], node: ConnectionEnd) -> str:
    steps = [found[node.path[:length]].name for length in range(2, len(node.path) + 1)] or [
        found[node.path].name
    ]
    return " of ".join(reversed(steps)) + ("" if node.device is None else f" device {node.device}")
