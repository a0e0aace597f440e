"""What describes a socket: which core of which device sends to which, where the data waits, who the two ends are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tt_run.runtime.enums import BufferType, NamedEnum
from tt_run.runtime.errors import type_name
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.native.arguments import check_fields
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.tensor.spec.memory_config import CoreCoord


@native("ttnn._ttnn.mesh_socket.SocketEndpoint")
class SocketEndpoint(NamedEnum):
    """The two ends of a socket."""

    SENDER = 0
    RECEIVER = 1


@native("ttnn._ttnn.mesh_socket.MeshCoreCoord")
@dataclass(frozen=True, repr=False)
class MeshCoreCoord(metaclass=Native):
    """A core of a device of a mesh."""

    device_coord: MeshCoordinate
    core_coord: CoreCoord

    def __post_init__(self) -> None:
        if isinstance(self.core_coord, (tuple, list)):
            object.__setattr__(self, "core_coord", CoreCoord(self.core_coord))
        check_fields(self)

    def __repr__(self) -> str:
        return f"MeshCoreCoord(device={self.device_coord}, core=({self.core_coord.x},{self.core_coord.y}))"


@native("ttnn._ttnn.mesh_socket.SocketConnection")
@dataclass(frozen=True)
class SocketConnection(metaclass=Native):
    """One sending and one receiving core: the sending device's shard goes to the receiving device."""

    sender_core: MeshCoreCoord
    receiver_core: MeshCoreCoord

    def __post_init__(self) -> None:
        check_fields(self)


@native("ttnn._ttnn.mesh_socket.SocketMemoryConfig")
@dataclass(frozen=True)
class SocketMemoryConfig(metaclass=Native):
    """Where and in how many bytes data waits at the receiver. The emulation's queue holds any number of tensors."""

    socket_storage_type: BufferType
    fifo_size: int
    sender_sub_device: Any = None
    receiver_sub_device: Any = None
    per_core_allocation: bool = False

    def __post_init__(self) -> None:
        check_fields(self)


@native("ttnn._ttnn.mesh_socket.SocketConfig")
class SocketConfig(metaclass=Native):
    """Connections, memory, and the ends: two ranks, or two mesh ids, or neither for a pair inside one process.

    Raises TypeError when ranks and mesh ids are mixed or one end is missing.
    """

    __slots__ = ("_connections", "_memory", "_mesh_ids", "_ranks")

    def __init__(
        self,
        connections: Sequence[SocketConnection],
        memory_config: SocketMemoryConfig,
        sender_rank: int | None = None,
        receiver_rank: int | None = None,
        *,
        sender_mesh_id: int | None = None,
        receiver_mesh_id: int | None = None,
    ) -> None:
        self._connections = tuple(connections)
        kinds = [(connection, SocketConnection) for connection in self._connections]
        for part, kind in (*kinds, (memory_config, SocketMemoryConfig)):
            if not isinstance(part, kind):
                raise TypeError(f"SocketConfig(): expected a {kind.__name__}, got {type_name(part)}")
        self._memory = memory_config
        self._ranks = _ends("rank", sender_rank, receiver_rank)
        self._mesh_ids = _ends("mesh_id", sender_mesh_id, receiver_mesh_id)
        if self._ranks is not None and self._mesh_ids is not None:
            raise TypeError(
                "SocketConfig(): name the ends by sender_rank and receiver_rank or by mesh ids, not by both"
            )

    def __repr__(self) -> str:
        ends = (
            f"ranks {self._ranks}"
            if self._ranks
            else f"mesh ids {self._mesh_ids}"
            if self._mesh_ids
            else "one process"
        )
        return f"SocketConfig({len(self._connections)} connections, {ends})"


def _ends(name: str, sender: Any, receiver: Any) -> tuple[int, int] | None:
    if sender is None and receiver is None:
        return None
    if sender is None or receiver is None:
        raise TypeError(f"SocketConfig(): sender_{name} and receiver_{name} come together")
    return int(sender), int(receiver)


def memory_of(config: SocketConfig) -> SocketMemoryConfig:
    """Where its data waits at the receiver."""
    return config._memory


def connections_of(config: SocketConfig) -> tuple[SocketConnection, ...]:
    """The connections of a configuration; like the reference's, it shows nothing to programs."""
    return config._connections


def ranks_of(config: SocketConfig) -> tuple[int, int] | None:
    """Sending and receiving rank, None when the ends are not named by rank."""
    return config._ranks


def mesh_ids_of(config: SocketConfig) -> tuple[int, int] | None:
    """Sending and receiving mesh id, None when the ends are not named by mesh."""
    return config._mesh_ids
