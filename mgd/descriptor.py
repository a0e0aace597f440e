"""The descriptor as written: one immutable value per message of the schema, and where each part stands in the file.

The messages are generated from `proto/mesh_graph_descriptor.proto`; field names, order and defaults are the schema's (reference
library 0.81.1). A field without explicit presence that is not written has its default (0, "", False); an optional field or a message that is
not written is None.
Enum fields hold the enum member, or a plain int for a number that the schema does not know. `at` is the offset in the text where
the message begins (-1 for one that was not read from a file) and takes no part in comparisons: `Descriptor.where` turns it
into a line and column.
"""

from __future__ import annotations

from collections.abc import Iterator

from mgd._messages import (
    AsicPinning,
    Channels,
    Connection,
    ExpressConnection,
    ExpressLink,
    ExpressPattern,
    GraphDescriptor,
    GraphRef,
    GraphTopology,
    LogicalFabricNodeId,
    MeshDescriptor,
    MeshRef,
    MeshTopology,
    NodeRef,
    PhysicalAsicPosition,
    SwitchDescriptor,
    SwitchRef,
    TorusTopology,
)
from mgd._schema import (
    Architecture,
    BoardRevision,
    GraphTopologyType,
    Policy,
    RoutingDirection,
    TorusTopologyType,
)
from mgd.diagnostics import Diagnostic, Position
from mgd.lean import dataclass, field
from mgd.message import Message

TYPE_CHECKING = False  # typing is not loaded for a launch: see mgd.lean
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
    at: int = field(default=-1, repr=False, compare=False)
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
        first = next(self.templates(), None)
        return first.arch if first else Architecture.INVALID_ARCHITECTURE

    def where(self, message: Message | Descriptor | None = None, name: str = "", index: int = 0) -> Position:
        """The position of a message, or of a field's value inside it (`index` counts the values of a repeated field).

        Falls back to the message when the field is not written, and to the file when the message has no position. The descriptor
        itself begins on the first line.
        """
        if self.source is None:
            return Position("")
        if message is None or (message.at < 0 and message is not self):
            return Position(self.source.file)
        if message is self and not name:
            return Position(self.source.file, 1, 1)
        return self.source.locate(message.at, name, index)

    def templates(self) -> Iterator[MeshDescriptor | SwitchDescriptor]:
        """All meshes, then all switches, in written order."""
        yield from self.mesh_descriptors
        yield from self.switch_descriptors
