"""Sending and receiving tensors over sockets. Neither call waits: data arrives when it is read or the device is synchronised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tt_run.runtime import events, guard
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, operation
from tt_run.runtime.sockets import unsent_tensors
from tt_run.runtime.sockets.arriving_buffers import Arriving, Settling
from tt_run.runtime.sockets.config import SocketConnection, SocketEndpoint
from tt_run.runtime.sockets.socket import MeshSocket
from tt_run.runtime.sockets.streams import ProcessStream, describe
from tt_run.runtime.sockets.unsent_tensors import Awaited
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values import shapes
from tt_run.runtime.values.dtypes import element_size
from tt_run.runtime.values.shards import Shards
from tt_run.runtime.values.storage import Buffer


@operation("ttnn.experimental.send_async", family=families.SOCKET)
def send_async(input_tensor: Tensor, mesh_socket: MeshSocket) -> list[Tensor]:
    """Send each connected device's shard to the receiving device of its connection. Returns an empty list.

    Raises RuntimeError on a receiving socket and for a tensor of another mesh.
    """
    _send(input_tensor, mesh_socket, "send_async")
    return []


def _send(input_tensor: Tensor, mesh_socket: MeshSocket, name: str) -> None:
    _check(input_tensor, mesh_socket, SocketEndpoint.SENDER, name)
    with events.Block("send", name, mesh_socket, *_way(input_tensor, mesh_socket)) as block:
        guard.message(name, describe(input_tensor.spec))
        later = unsent_tensors.of(input_tensor)
        for stream, connections in mesh_socket.lanes:
            if later is not None and isinstance(stream, ProcessStream):
                stream.send(input_tensor.spec, _rows_of(later, input_tensor, connections), name)
            else:
                stream.send(input_tensor.spec, [_row(input_tensor, c) for c in connections], name)
        if events.listening:
            block.facts = _facts("send", input_tensor, mesh_socket)


@operation("ttnn.experimental.recv_async", family=families.SOCKET)
def recv_async(output_tensor: Tensor, mesh_socket: MeshSocket) -> list[Tensor]:
    """Receive the next tensor of a socket into a preallocated one, and return that in a list.

    Devices without a connection keep their shard. Raises RuntimeError on a sending socket, for a tensor of another mesh and, when it is
    read, for one that was sent with another spec.
    """
    return _receive(output_tensor, mesh_socket, "recv_async")


def _receive(output_tensor: Tensor, mesh_socket: MeshSocket, name: str) -> list[Tensor]:
    _check(output_tensor, mesh_socket, SocketEndpoint.RECEIVER, name)
    storage = output_tensor.storage
    buffer = storage.buffer if isinstance(storage, Arriving) else storage
    spec, device = output_tensor.spec, mesh_socket.get_mesh_device()
    with events.Block("recv", name, mesh_socket, *_way(output_tensor, mesh_socket)) as block:
        guard.message(name, describe(spec))
        arrivals = [
            (stream.ask(spec, name), [_local(device, c) for c in held]) for stream, held in mesh_socket.lanes
        ]
        if events.listening:
            block.facts = _facts("recv", output_tensor, mesh_socket)
    waiting = mesh_socket.unfinished
    before = mesh_socket.last_receive
    open_here = any(arrival.unsent for arrival, _ in arrivals)
    # For operations that wait for it, whatever becomes of the buffer.
    kept = buffer.shards if open_here else None

    def complete() -> Shards | None:
        rows: dict[int, Any] = {}
        mesh_socket.has_failed = True
        for arrival, numbers in arrivals:
            rows.update(dict(zip(numbers, arrival.take(), strict=True)))
        mesh_socket.has_failed = False
        waiting.popleft()
        if open_here:
            unsent_tensors.ended(receive)
        old = buffer.shards if buffer.allocated else kept
        if not rows or old is None:
            return old
        if shapes.active():
            rows = dict.fromkeys(rows, old.row(0))
        found = Shards.from_each([rows.get(i, array) for i, array in enumerate(old.each())], like=old.data)
        if buffer.allocated:
            buffer.write(found)
        return found

    def needs() -> list[Any]:
        ahead = [] if before is None else [before]
        return ahead + [later for arrival, _ in arrivals for later in arrival.later]

    receive = Awaited(complete, needs, lambda: any(arrival.unsent for arrival, _ in arrivals))
    mesh_socket.last_receive = receive
    waiting.append(receive.settle)
    if open_here:
        unsent_tensors.begun(receive, device)
    # The tensor looks at its buffer through the arrival from now on; other tensors over the same buffer see the data once it came.
    output_tensor._storage = Arriving(buffer, receive)
    return [output_tensor]


@operation("ttnn.experimental.send_direct_async", family=families.SOCKET)
def send_direct_async(input_tensor: Tensor, mesh_socket: MeshSocket) -> list[Tensor]:
    """`send_async` into the receiver's tensor without the queue in between; its other end is `recv_direct_async`."""
    _send(input_tensor, mesh_socket, "send_direct_async")
    return []


@operation("ttnn.experimental.recv_direct_async", family=families.SOCKET)
def recv_direct_async(output_tensor: Tensor, mesh_socket: MeshSocket) -> list[Tensor]:
    """`recv_async` of a tensor that `send_direct_async` sends."""
    return _receive(output_tensor, mesh_socket, "recv_direct_async")


def _check(tensor: Tensor, socket: MeshSocket, role: SocketEndpoint, name: str) -> None:
    if not isinstance(tensor, Tensor):
        raise ArgumentMismatch(f"{name} needs a ttnn.Tensor, not {type(tensor).__name__}")
    if not isinstance(socket, MeshSocket):
        raise ArgumentMismatch(f"{name} needs a ttnn.MeshSocket, not {type(socket).__name__}")
    if socket.get_socket_endpoint_type() is not role:
        raise fatal(
            f"{name} op requires a {role.name} socket",
            "mesh_socket.get_socket_endpoint_type() == socket_type",
            hint="send on the socket whose config names this rank as sender, receive on the other",
        )
    if tensor.device() is not socket.get_mesh_device():
        raise fatal(
            f"{name}: the tensor is on {tensor.device() or 'the host'}, the socket on {socket.get_mesh_device()}",
            hint="ttnn.to_device(tensor, socket.get_mesh_device())",
        )
    socket.get_mesh_device().require_open(name)


def _local(device: Any, connection: SocketConnection) -> int:
    """The local number of a connection's receiving device."""
    number: int = device.local_positions.index(device.index_of(connection.receiver_core.device_coord))
    return number


def _rows_of(later: Settling, tensor: Tensor, connections: Sequence[SocketConnection]) -> Awaited:
    """The rows of a tensor whose content has still to come, as it will be then."""

    def make() -> list[Any]:
        content = later.value if later.value is not None else tensor.shards
        return [_row(tensor.on(Buffer(content)), c) for c in connections]

    return Awaited(make, lambda: (later,))


def _row(tensor: Tensor, connection: SocketConnection) -> Any:
    device = tensor.device()
    assert device is not None
    index = device.index_of(connection.sender_core.device_coord)
    assert index is not None
    row = tensor.shards.of(device.local_positions.index(index))
    if row is None:
        raise fatal(
            f"send_async: the device {connection.sender_core.device_coord} holds no shard of the tensor",
            hint="distribute the tensor over all devices of the mesh, or connect those that hold it",
        )
    return row[..., :0].ravel() if shapes.active() else np.asarray(row, order="C")


def _way(tensor: Tensor, socket: MeshSocket) -> tuple[tuple[int, ...], int]:
    """The ranks at the other end, and the bytes on one connection, for whom it concerns that a message begins."""
    if not events.listening:
        return (), 0
    return tuple(stream.peer for stream, _ in socket.lanes), _nbytes(tensor)


def _nbytes(tensor: Tensor) -> int:
    return tensor.spec.padded_shape.volume() * element_size(tensor.spec.dtype)


def _facts(kind: str, tensor: Tensor, socket: MeshSocket) -> dict[str, Any]:
    """What the event of a call says: this end's devices, and each with its peer on its own mesh in the detail."""
    device = socket.get_mesh_device()
    carried = [c for _, connections in socket.lanes for c in connections]
    own = [c.sender_core if kind == "send" else c.receiver_core for c in carried]
    indices = [device.index_of(core.device_coord) for core in own]
    return {
        "mesh_id": device.mesh_id,
        "devices": tuple(device.positions[i] for i in indices if i is not None),
        "bytes": _nbytes(tensor),
        "messages": len(carried),
        "peers": tuple(stream.peer for stream, _ in socket.lanes),
        "detail": ", ".join(f"{c.sender_core.device_coord}->{c.receiver_core.device_coord}" for c in carried),
    }
