"""The descriptor as written: one immutable value per message of the schema, and where each part stands in the file.

Field names, order and defaults are those of `proto/mesh_graph_descriptor.proto` (specification: MGD section 2). A field without
explicit presence that is not written has its default (0, "", False); an optional field or a message that is not written is None.
Enum fields hold the enum member, or a plain int for a number that the schema does not know. `at` is the offset in the text where
the message begins (-1 for one that was not read from a file) and takes no part in comparisons: `Descriptor.where` turns it
into a line and column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

from mgd._schema import (
    Architecture,
    BoardRevision,
    GraphTopologyType,
    Policy,
    RoutingDirection,
    TorusTopologyType,
)
from mgd.diagnostics import Diagnostic, Position

if TYPE_CHECKING:
    from mgd.text.source import Source
    from mgd.v1.model import FirstFormat

__all__ = [
    "Architecture",
    "AsicPinning",
    "BoardRevision",
    "Channels",
    "Connection",
    "Descriptor",
    "ExpressConnection",
    "ExpressLink",
    "ExpressPattern",
    "GraphDescriptor",
    "GraphRef",
    "GraphTopology",
    "GraphTopologyType",
    "LogicalFabricNodeId",
    "MeshDescriptor",
    "MeshRef",
    "MeshTopology",
    "Message",
    "NodeRef",
    "PhysicalAsicPosition",
    "Policy",
    "RoutingDirection",
    "SwitchDescriptor",
    "SwitchRef",
    "TorusTopology",
    "TorusTopologyType",
]


def _offset() -> Any:
    return field(default=-1, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Channels:
    """How many channels a link has, and whether fewer are tolerated."""

    count: int = 0
    policy: int | None = None
    at: int = _offset()


@dataclass(frozen=True, slots=True)
class TorusTopology:
    """Extents of a device grid and whether each dimension closes; missing types mean LINE."""

    dims: tuple[int, ...] = ()
    dim_types: tuple[int, ...] = ()
    at: int = _offset()


@dataclass(frozen=True, slots=True)
class MeshTopology:
    """Extents of a host grid."""

    dims: tuple[int, ...] = ()
    at: int = _offset()


@dataclass(frozen=True, slots=True)
class ExpressConnection:
    """One extra link between two devices of a mesh or switch, by device id."""

    src: int = 0
    dst: int = 0
    at: int = _offset()


@dataclass(frozen=True, slots=True)
class ExpressPattern:
    """Where the first chord starts and how many devices each one spans."""

    start: int = 0
    step: int = 0
    at: int = _offset()


@dataclass(frozen=True, slots=True)
class ExpressLink:
    """Chords along one dimension (section 7.3)."""

    dim_idx: int = 0
    pattern: ExpressPattern | None = None
    wrap: int = TorusTopologyType.INVALID_TYPE
    at: int = _offset()


@dataclass(frozen=True, slots=True)
class MeshDescriptor:
    """The template of a mesh: a grid of devices, cut into equal blocks among hosts."""

    name: str = ""
    arch: int = Architecture.INVALID_ARCHITECTURE
    device_topology: TorusTopology | None = None
    channels: Channels | None = None
    host_topology: MeshTopology | None = None
    express_connections: tuple[ExpressConnection, ...] = ()
    express_links: tuple[ExpressLink, ...] = ()
    at: int = _offset()


@dataclass(frozen=True, slots=True)
class SwitchDescriptor:
    """The template of a switch: a grid of devices that only forwards, on one host."""

    name: str = ""
    arch: int = Architecture.INVALID_ARCHITECTURE
    device_topology: TorusTopology | None = None
    channels: Channels | None = None
    express_connections: tuple[ExpressConnection, ...] = ()
    at: int = _offset()


@dataclass(frozen=True, slots=True)
class MeshRef:
    """A mesh of a graph by descriptor name and id, or one of its devices."""

    mesh_descriptor: str = ""
    mesh_id: int = 0
    device_id: int | None = None
    at: int = _offset()


@dataclass(frozen=True, slots=True)
class SwitchRef:
    """A switch of a graph by descriptor name and id, or one of its devices."""

    switch_descriptor: str = ""
    switch_id: int = 0
    device_id: int | None = None
    at: int = _offset()


@dataclass(frozen=True, slots=True)
class GraphRef:
    """A child graph by descriptor name and id, or a node inside it."""

    graph_descriptor: str = ""
    graph_id: int = 0
    sub_ref: NodeRef | None = None
    at: int = _offset()


@dataclass(frozen=True, slots=True)
class NodeRef:
    """One of a mesh, a graph or a switch."""

    mesh: MeshRef | None = None
    graph: GraphRef | None = None
    switch: SwitchRef | None = None
    at: int = _offset()


@dataclass(frozen=True, slots=True)
class GraphTopology:
    """Shorthand for links among all children of a graph."""

    layout_type: int = GraphTopologyType.INVALID_TYPE
    channels: Channels | None = None
    assign_z_direction: bool | None = None
    at: int = _offset()


@dataclass(frozen=True, slots=True)
class Connection:
    """An explicit link among nodes of a graph."""

    nodes: tuple[NodeRef, ...] = ()
    channels: Channels | None = None
    directional: bool | None = None
    routing_direction: tuple[int, ...] = ()
    assign_z_direction: bool | None = None
    at: int = _offset()


@dataclass(frozen=True, slots=True)
class GraphDescriptor:
    """The template of a graph: its children and what links them."""

    name: str = ""
    type: str = ""
    instances: tuple[NodeRef, ...] = ()
    graph_topology: GraphTopology | None = None
    connections: tuple[Connection, ...] = ()
    at: int = _offset()


@dataclass(frozen=True, slots=True)
class LogicalFabricNodeId:
    """A device by mesh id and chip id, or devices by patterns over both."""

    mesh_id: int | None = None
    chip_id: int | None = None
    mesh_id_regex: str = ""
    chip_id_regex: str = ""
    at: int = _offset()


@dataclass(frozen=True, slots=True)
class PhysicalAsicPosition:
    """A slot by tray and ASIC location, or slots by patterns over both."""

    tray_id: int | None = None
    asic_location: int | None = None
    tray_id_regex: str = ""
    asic_location_regex: str = ""
    at: int = _offset()


@dataclass(frozen=True, slots=True)
class AsicPinning:
    """Any of these devices may sit on any of these slots."""

    logical_fabric_node_id: tuple[LogicalFabricNodeId, ...] = ()
    physical_asic_position: tuple[PhysicalAsicPosition, ...] = ()
    board_revision: int | None = None
    at: int = _offset()


Message = Union[  # noqa: UP007 - evaluated at run time on 3.10, where slots classes have no __or__ with strings
    AsicPinning, Channels, Connection, ExpressConnection, ExpressLink, ExpressPattern, GraphDescriptor, GraphRef,
    GraphTopology, LogicalFabricNodeId, MeshDescriptor, MeshRef, MeshTopology, NodeRef, PhysicalAsicPosition,
    SwitchDescriptor, SwitchRef, TorusTopology,
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A whole file: templates of meshes, graphs and switches, the instance that is made of them, and pins.

    `source` is the text it was read from (None when it was built in memory), `notices` what the reader remarked without
    refusing the file (unknown fields), `first_format` what an MGD 1.0 file said in its own words. None of them takes part in
    comparisons: two descriptors are equal when they say the same.
    """

    mesh_descriptors: tuple[MeshDescriptor, ...] = ()
    graph_descriptors: tuple[GraphDescriptor, ...] = ()
    top_level_instance: NodeRef | None = None
    switch_descriptors: tuple[SwitchDescriptor, ...] = ()
    pinnings: tuple[AsicPinning, ...] = ()
    at: int = _offset()
    source: Source | None = field(default=None, repr=False, compare=False)
    notices: tuple[Diagnostic, ...] = field(default=(), repr=False, compare=False)
    first_format: FirstFormat | None = field(default=None, repr=False, compare=False)

    @property
    def file(self) -> str:
        """The name of the file, "" for a descriptor built in memory."""
        return self.source.file if self.source else ""

    @property
    def arch(self) -> int:
        """The architecture of the first mesh, else of the first switch (rule MGD006 makes all the same)."""
        for template in (*self.mesh_descriptors, *self.switch_descriptors):
            return template.arch
        return Architecture.INVALID_ARCHITECTURE

    def where(self, message: Message | Descriptor | None = None, name: str = "", index: int = 0) -> Position:
        """The position of a message, or of a field's value inside it (`index` counts the values of a repeated field).

        Falls back to the message when the field is not written, and to the file when the message has no position.
        """
        if self.source is None:
            return Position("")
        if message is None or (message.at < 0 and message is not self):
            return Position(self.source.file)
        return self.source.locate(message.at, name, index)

    def templates(self) -> Iterator[MeshDescriptor | SwitchDescriptor]:
        """All meshes, then all switches, in written order."""
        yield from self.mesh_descriptors
        yield from self.switch_descriptors
