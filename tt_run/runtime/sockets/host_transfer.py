"""Sending and receiving tensors over sockets between the host and a device. Source: reference library 0.81.1."""

from __future__ import annotations

from typing import Any

from tt_run.runtime import events, guard
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, operation
from tt_run.runtime.sockets.arriving_buffers import Arriving
from tt_run.runtime.sockets.host import D2HSocket, H2DSocket
from tt_run.runtime.sockets.streams import describe
from tt_run.runtime.sockets.unsent_tensors import Awaited
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import element_size
from tt_run.runtime.values.shards import Shards


@operation("ttnn.experimental.recv_async_h2d", family=families.SOCKET)
def recv_async_h2d(output_tensor: Tensor, h2d_socket: H2DSocket) -> list[Tensor]:
    """Receive what the host writes into the shard of the socket's device; the tensor waits for it when it is read."""
    _check(output_tensor, h2d_socket, H2DSocket, "recv_async_h2d")
    storage = output_tensor.storage
    buffer = storage.buffer if isinstance(storage, Arriving) else storage
    spec, waiting = output_tensor.spec, h2d_socket.waiting
    guard.message("recv_async_h2d", describe(spec))

    def complete() -> None:
        values = h2d_socket.queue.take(spec.shape.volume(), spec.dtype).reshape(tuple(spec.shape))
        waiting.popleft()
        if buffer.allocated:
            each = buffer.shards.each()
            each[h2d_socket.place] = values
            buffer.write(Shards.from_each(each, like=buffer.shards.data))

    def finish() -> None:
        while complete in waiting:
            waiting[0]()

    with events.Block("recv", "recv_async_h2d", h2d_socket) as block:
        waiting.append(complete)
        output_tensor._storage = Arriving(buffer, Awaited(finish))
        block.facts = _facts(output_tensor)
    return [output_tensor]


@operation("ttnn.experimental.send_async_d2h", family=families.SOCKET)
def send_async_d2h(input_tensor: Tensor, d2h_socket: D2HSocket) -> list[Tensor]:
    """Send the shard of the socket's device to the host. Returns an empty list."""
    _check(input_tensor, d2h_socket, D2HSocket, "send_async_d2h")
    row = input_tensor.shards.of(d2h_socket.place)
    if row is None:
        raise fatal(
            "send_async_d2h: the device of the socket holds no shard of the tensor",
            hint="ttnn.create_mesh_mapper, or ttnn.ReplicateTensorToMesh(device), puts a shard on every device",
        )
    d2h_socket.pages(row.size * element_size(input_tensor.dtype))
    with events.Block("send", "send_async_d2h", d2h_socket) as block:
        guard.message("send_async_d2h", describe(input_tensor.spec))
        d2h_socket.queue.put(row, input_tensor.dtype)
        block.facts = _facts(input_tensor)
    return []


def _check(
    tensor: Tensor, socket: H2DSocket | D2HSocket, kind: type[H2DSocket | D2HSocket], name: str
) -> None:
    if not isinstance(tensor, Tensor) or not isinstance(socket, kind):
        raise ArgumentMismatch(f"{name} needs a ttnn.Tensor and a ttnn.{kind.__name__}")
    if tensor.device() is not socket.get_mesh_device():
        raise fatal(
            f"{name}: the tensor is on {tensor.device() or 'the host'}, the socket on {socket.get_mesh_device()}",
            hint="ttnn.to_device(tensor, socket.get_mesh_device())",
        )
    socket.get_mesh_device().require_open(name)


def _facts(tensor: Tensor) -> dict[str, Any]:
    size = tensor.spec.padded_shape.volume() * element_size(tensor.dtype)
    return {"bytes": size, "messages": 1}
