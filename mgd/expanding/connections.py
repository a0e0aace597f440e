"""What links meshes: paths of instances, the connections that graphs declare, and the wishes and links that follow from them."""

from __future__ import annotations

from collections.abc import Iterator

from mgd.diagnostics import Position
from mgd.lean import dataclass

Path = tuple[tuple[str, int], ...]
"""Names and written ids from the top down: the identity of an instance, since ids repeat in nested graphs."""


@dataclass(frozen=True, slots=True)
class ConnectionEnd:
    """One end of a connection: an instance by path, or one of its devices."""

    path: Path
    device: int | None = None
    is_graph: bool = False

    @property
    def mesh_id(self) -> int:
        """The id of the mesh or switch that the path ends in."""
        return self.path[-1][1]

    def __str__(self) -> str:
        steps = [f"{name}({number})" for name, number in self.path]
        return "/".join(steps if self.device is None else [*steps, f"D{self.device}({self.device})"])


@dataclass(frozen=True, slots=True)
class InterConnection:
    """A connection among instances, as one declaration: of n nodes, owned by a graph."""

    nodes: tuple[ConnectionEnd, ...]
    channels: int
    policy: str
    z_direction: bool
    graph: Path
    graph_type: str
    position: Position | None = None

    def directed(self) -> Iterator[tuple[ConnectionEnd, ...]]:
        """One record per node, with that node swapped to the front: for two nodes both directions."""
        for index, node in enumerate(self.nodes):
            record = list(self.nodes)
            record[0], record[index] = node, record[0]
            yield tuple(record)


@dataclass(frozen=True, slots=True)
class InterLink:
    """A requested link between two meshes; device ids are None for a mesh-level request (any devices will do)."""

    a: int
    b: int
    channels: int
    policy: str
    a_device: int | None = None
    b_device: int | None = None
    z_direction: bool = False
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Requested:
    """Channels that a FABRIC graph wants from one mesh to another, or between two of their devices."""

    source: int
    target: int
    channels: int
    z_direction: bool
    source_device: int | None = None
    target_device: int | None = None
