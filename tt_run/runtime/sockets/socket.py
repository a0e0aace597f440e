"""MeshSocket: one end of a socket, and how the two ends find each other."""

from __future__ import annotations

import atexit
import itertools
import json
import sys
import zlib
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from tt_run.runtime import guard, queues
from tt_run.runtime.comm.world import Group, world
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import coordinate_hint
from tt_run.runtime.native.arguments import also_named, public
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.sockets.config import (
    MeshCoreCoord,
    SocketConfig,
    SocketConnection,
    SocketEndpoint,
    connections_of,
    memory_of,
    mesh_ids_of,
    ranks_of,
)
from tt_run.runtime.sockets.streams import ProcessStream, RankStream, Stream, Unasked, unreceived

# A stream and the connections it carries.
Lane = tuple[Stream, tuple[SocketConnection, ...]]

_FIRST_TAG = 4096
_tags: defaultdict[Group, Iterator[int]] = defaultdict(lambda: itertools.count(_FIRST_TAG))
_open: list[MeshSocket] = []
_between_ranks: dict[tuple[Group, int], None] = {}
"""The ends at which this rank receives from others: the ranks of the socket, and its tag."""


@native("ttnn._ttnn.mesh_socket.MeshSocket")
class MeshSocket(metaclass=Native):
    """One end of a socket, on a mesh device of this rank. Building it waits until the other end is built.

    The role follows from this rank, or from the mesh id of the device. Raises RuntimeError for ends that do not exist, connections that
    are empty, outside of the mesh or share a receiving core.
    """

    _bound_name = "ttnn._ttnn.mesh_socket.MeshSocket"
    lanes: tuple[Lane, ...]

    @also_named(device="mesh_device")
    def __init__(self, mesh_device: MeshDevice, config: SocketConfig) -> None:
        mesh_device.require_open("MeshSocket")
        connections = _checked(config)
        role, group, peer_owners = _meet(mesh_device, config)
        self._take_part(mesh_device, role, connections)
        tag = next(_tags[group])
        own = self._own_cores()
        by_peer: dict[int, list[SocketConnection]] = {}
        for connection, core in zip(connections, own, strict=True):
            index = _index(mesh_device, core, role)
            if mesh_device.owner_ranks[index] == world().rank:
                by_peer.setdefault(peer_owners(self._far_core(connection)), []).append(connection)
        self.lanes = tuple(
            (RankStream(group, group.ranks.index(rank), tag, len(found)), tuple(found))
            for rank, found in sorted(by_peer.items())
        )
        if role is SocketEndpoint.RECEIVER:
            _between_ranks[group, tag] = None

    @classmethod
    def over(
        cls, mesh_device: MeshDevice, role: SocketEndpoint, config: SocketConfig, lanes: Sequence[Lane]
    ) -> MeshSocket:
        """An end whose other end is built in the same call."""
        socket: MeshSocket = object.__new__(cls)
        socket._take_part(mesh_device, role, _checked(config))
        socket.lanes = tuple(lanes)
        return socket

    def _take_part(
        self, device: MeshDevice, role: SocketEndpoint, connections: tuple[SocketConnection, ...]
    ) -> None:
        self._device, self._role, self._connections = device, role, connections
        self.lanes = ()
        self.unfinished: deque[Callable[[], Any]] = deque()
        self.last_receive: Any = None
        self.has_failed = False
        """Whether the program has been told that the next tensor is not as it was asked for, or never comes."""
        _open[:] = [socket for socket in _open if socket._device.is_open or not socket.idle]
        _open.append(self)

    def get_socket_endpoint_type(self) -> SocketEndpoint:
        """SENDER or RECEIVER."""
        return self._role

    def get_mesh_device(self) -> MeshDevice:
        """The mesh device of this end."""
        return self._device

    def get_active_cores(self) -> list[MeshCoreCoord]:
        """The cores of this end, one per connection."""
        return self._own_cores()

    def get_connection_config(self) -> list[SocketConnection]:
        """The connections of the socket."""
        return list(self._connections)

    @property
    def idle(self) -> bool:
        """Whether nothing is under way."""
        return not self.unfinished and all(stream.idle for stream, _ in self.lanes)

    def finish(self) -> None:
        """Wait until all tensors that were asked for have arrived and all that were sent have left."""
        while self.unfinished:
            self.unfinished[0]()
        for stream, _ in self.lanes:
            stream.flush()

    def _own_cores(self) -> list[MeshCoreCoord]:
        sending = self._role is SocketEndpoint.SENDER
        return [c.sender_core if sending else c.receiver_core for c in self._connections]

    def _far_core(self, connection: SocketConnection) -> MeshCoreCoord:
        return connection.receiver_core if self._role is SocketEndpoint.SENDER else connection.sender_core

    def __repr__(self) -> str:
        return f"<{self._bound_name} object at {id(self):#x}>"


@public
def create_socket_pair(
    sender_mesh_device: MeshDevice, receiver_mesh_device: MeshDevice, socket_config: SocketConfig
) -> tuple[MeshSocket, MeshSocket]:
    """Both ends of a socket, of which every rank holds what is on its own devices.

    Where the meshes have devices on several ranks, all of these build the pair together. Raises RuntimeError for connections that are empty,
    outside of the meshes or share a receiving core.
    """
    for device in (sender_mesh_device, receiver_mesh_device):
        device.require_open("create_socket_pair")
    connections, here = _checked(socket_config), world().rank
    ways = [
        (_owner(sender_mesh_device, c.sender_core, SocketEndpoint.SENDER), _owner(receiver_mesh_device, c.receiver_core, SocketEndpoint.RECEIVER))
        for c in connections
    ]  # fmt: skip
    ranks = sorted({*sender_mesh_device.owner_ranks, *receiver_mesh_device.owner_ranks})
    group, tag = None, 0
    if ranks != [here] and here in ranks:
        group = world().group(ranks)
        text = f"{sender_mesh_device.shape} {receiver_mesh_device.shape} " + " ".join(map(str, connections))
        detail = f"connections {len(connections)} ({zlib.crc32(text.encode()):08x})"
        guard.collective(group, guard.Signature("create_socket_pair", detail=detail))
        tag = next(_tags[group])
        _between_ranks[group, tag] = None
    inside = ProcessStream()

    def lanes(own: int) -> Iterator[Lane]:
        for peer in ranks:
            way = (here, peer) if own == 0 else (peer, here)
            carried = tuple(c for c, found in zip(connections, ways, strict=True) if found == way)
            if carried and peer == here:
                yield inside, carried
            elif carried and group is not None:
                yield RankStream(group, group.ranks.index(peer), tag, len(carried)), carried

    return (
        MeshSocket.over(sender_mesh_device, SocketEndpoint.SENDER, socket_config, tuple(lanes(0))),
        MeshSocket.over(receiver_mesh_device, SocketEndpoint.RECEIVER, socket_config, tuple(lanes(1))),
    )


def _owner(device: MeshDevice, core: MeshCoreCoord, role: SocketEndpoint) -> int:
    return device.owner_ranks[_index(device, core, role)]


def _checked(config: SocketConfig) -> tuple[SocketConnection, ...]:
    if not isinstance(config, SocketConfig):
        raise TypeError(f"a socket needs a ttnn.SocketConfig, not {type(config).__name__}")
    connections = connections_of(config)
    if not connections:
        raise fatal(
            "Socket connection config cannot be empty.",
            "!base_config.socket_connection_config.empty()",
            hint="ttnn.SocketConfig([ttnn.SocketConnection(sender_core, receiver_core)], …)",
        )
    if len({c.receiver_core for c in connections}) < len(connections):
        raise fatal(
            "Cannot reuse receiver cores in a single socket.",
            hint="a receiver core of its own for each connection",
        )
    return connections


def _index(device: MeshDevice, core: MeshCoreCoord, role: SocketEndpoint) -> int:
    index = device.index_of(core.device_coord)
    if index is None:
        raise fatal(
            f"The {role.name.lower()} device {core.device_coord} of a connection is outside of {device.shape}",
            hint=coordinate_hint(device.shape),
        )
    return index


def _meet(
    device: MeshDevice, config: SocketConfig
) -> tuple[SocketEndpoint, Group, Callable[[MeshCoreCoord], int]]:
    """Find this rank's role, wait for the other end, learn which rank owns each of its devices."""
    here, ranks, mesh_ids = world(), ranks_of(config), mesh_ids_of(config)
    if ranks is not None:
        ends = ([ranks[0]], [ranks[1]])
        if not all(0 <= rank < here.size for rank in ranks) or ranks[0] == ranks[1]:
            raise fatal(
                f"Invalid socket sender rank {ranks[0]} or receiver rank {ranks[1]} specified.",
                hint="two different ranks of the job, as distributed_context_get_size() counts them",
            )
    elif mesh_ids is not None:
        found = [[peer.rank for peer in here.peers if peer.mesh_id == mesh_id] for mesh_id in mesh_ids]
        if not all(found) or mesh_ids[0] == mesh_ids[1]:
            raise fatal(
                f"Invalid socket sender mesh id {mesh_ids[0]} or receiver mesh id {mesh_ids[1]} specified.",
                hint="two different meshes of the descriptor: mgd show FILE draws their ids",
            )
        ends = (found[0], found[1])
    else:
        raise fatal(
            "A MeshSocket needs sender_rank and receiver_rank, or the mesh ids of both ends, in its SocketConfig; "
            "use create_socket_pair inside one process",
            hint="ttnn.SocketConfig(connections, memory, sender_rank=0, receiver_rank=1)",
        )
    if here.rank not in (*ends[0], *ends[1]):
        _stranger(here.rank, ends)
    role = SocketEndpoint.SENDER if here.rank in ends[0] else SocketEndpoint.RECEIVER
    group = here.group(sorted({*ends[0], *ends[1]}))
    text = " ".join(map(str, connections_of(config)))
    word, (sender, receiver) = ("rank", ranks) if ranks is not None else ("mesh", mesh_ids or (0, 0))
    carried = f"connections {len(connections_of(config))} ({zlib.crc32(text.encode()):08x})"
    memory = memory_of(config)
    held = f"memory {memory.socket_storage_type.name} of {memory.fifo_size} bytes"
    detail = f"from {word} {sender} to {word} {receiver}, {carried}, {held}"
    guard.collective(group, guard.Signature("MeshSocket", detail=detail))
    facts = json.dumps([list(device.shape), list(device.owner_ranks)]).encode()
    told = [json.loads(fact) for fact in group.allgather_bytes(facts)]
    far = ends[1] if role is SocketEndpoint.SENDER else ends[0]
    (rows, columns), owners = told[group.ranks.index(far[0])]

    def owner(core: MeshCoreCoord) -> int:
        row, column = core.device_coord
        if not (row < rows and column < columns):
            raise fatal(
                f"The device {core.device_coord} of a connection is outside of the peer's {rows}x{columns} mesh",
                hint=f"coordinates are up to ({rows - 1}, {columns - 1})",
            )
        rank: int = owners[row * columns + column]
        if rank not in group.ranks:
            raise fatal(
                f"The device {core.device_coord} of a connection belongs to rank {rank}, which is at neither end of the socket: it sends "
                f"from ranks {list(ends[0])} to ranks {list(ends[1])}",
                hint="build the socket on the ranks of its two ends only",
            )
        return rank

    return role, group, owner


def _stranger(rank: int, ends: tuple[Sequence[int], Sequence[int]]) -> NoReturn:
    raise fatal(
        f"Rank {rank} is at neither end of the socket: it sends from ranks {list(ends[0])} to ranks {list(ends[1])}",
        hint="build the socket on the ranks of its two ends only",
    )


def _on(device: MeshDevice) -> Iterator[MeshSocket]:
    """The sockets on a device and on its submeshes."""
    for socket in tuple(_open):
        mesh: MeshDevice | None = socket.get_mesh_device()
        while mesh is not None and mesh is not device:
            mesh = mesh.parent
        if mesh is not None:
            yield socket


def _finish_on(device: MeshDevice) -> None:
    """What waiting for a device includes: the sockets on it and on its submeshes."""
    for socket in _on(device):
        socket.finish()


def _finish_between_ranks(device: MeshDevice) -> None:
    """What closing a mesh includes: a device that waits for another rank's tensor, or for its taking one, does not come to its end."""
    for socket in _on(device):
        if not socket.has_failed and any(isinstance(stream, RankStream) for stream, _ in socket.lanes):
            socket.finish()


def _unreceived() -> list[str]:
    """The sends that nobody has asked for at this rank's ends."""
    found = [words for stream in Unasked.all for words in stream.words()]
    return found + [words for group, tag in _between_ranks for words in unreceived(group, tag)]


def _tell_alone() -> None:
    """At the end of a program of one rank, over which no guard watches; one that failed has said something else, and tests leave much behind."""
    if world().size > 1 or not Unasked.all or hasattr(sys, "last_value") or "pytest" in sys.modules:
        return
    from tt_run.runtime.guard.unreceived import unreceived_tensors

    print(unreceived_tensors(world().rank, _unreceived()), file=sys.stderr, flush=True)


guard.at_last(_unreceived)
atexit.register(_tell_alone)
queues.on_finish(_finish_on)
MeshDevice.finishing.append(_finish_between_ranks)
