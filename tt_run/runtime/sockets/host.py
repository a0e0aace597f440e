"""Sockets between the host and one device of its own, and the service that streams whole tensors to a mesh. Source: reference library 0.81.1.

The queue holds any amount; what the two ends must agree on (page size, type, amount) is checked when the data is taken. Raw pointers,
attaching from another process and addresses for kernels have no meaning here and are refused.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from tt_run.runtime import events, guard
from tt_run.runtime.enums import BufferType, DataType, NamedEnum
from tt_run.runtime.errors import fatal, read_to_host
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import within
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, operation
from tt_run.runtime.sockets.arriving import Arriving
from tt_run.runtime.sockets.config import MeshCoreCoord
from tt_run.runtime.sockets.streams import describe
from tt_run.runtime.tensor.borders.arrays import from_torch, to_torch
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import element_size
from tt_run.runtime.values.shards import Shards

Array = npt.NDArray[Any]


@native("ttnn._ttnn.hd_socket.H2DMode")
class H2DMode(NamedEnum):
    """Who moves the bytes: the host writes, or the device reads. Both do the same here."""

    HOST_PUSH = 0
    DEVICE_PULL = 1


class Queue:
    """Values of one type on their way, in pieces of any size."""

    def __init__(self) -> None:
        self._pieces: deque[Array] = deque()
        self.dtype: DataType | None = None
        self.elements = 0

    def put(self, values: Array, dtype: DataType) -> None:
        """Add values behind the others. Raises RuntimeError for another type than is waiting."""
        if self.dtype is not None and self.elements and dtype is not self.dtype:
            raise fatal(
                f"the socket holds {self.dtype} data, {dtype} cannot follow before it is read",
                hint=f"read what is there first, or ttnn.typecast(tensor, ttnn.{self.dtype.name.lower()})",
            )
        self.dtype = dtype
        self._pieces.append(np.array(values).reshape(-1))
        self.elements += values.size

    def take(self, count: int, dtype: DataType) -> Array:
        """The next `count` values. Raises RuntimeError when they are not there or of another type."""
        if self.elements < count:
            raise fatal(
                f"the socket holds {self.elements} of the {count} elements that are to be read; the other end is in this "
                "process and must write them first",
                "fifo holds the pages",
                hint="write first, or read fewer",
            )
        if self.dtype is not None and count and dtype is not self.dtype:
            raise fatal(
                f"the socket holds {self.dtype} data, the tensor is {dtype}",
                hint=f"a tensor of ttnn.{self.dtype.name.lower()}",
            )
        whole = np.concatenate(self._pieces)
        self.elements -= count
        self._pieces = deque([whole[count:]] if self.elements else [])
        return whole[:count]

    def clear(self) -> None:
        """Drop everything."""
        self._pieces.clear()
        self.elements = 0


class _HostSocket:
    """What both directions share: a device and core, a page size, a queue."""

    def __init__(self, mesh_device: MeshDevice, core: MeshCoreCoord, fifo_size: int) -> None:
        mesh_device.require_open(type(self).__name__)
        if not isinstance(core, MeshCoreCoord):
            raise ArgumentMismatch(
                f"{type(self).__name__} needs a ttnn.MeshCoreCoord, not {type(core).__name__}"
            )
        index = mesh_device.index_of(core.device_coord)
        if index is None:
            raise fatal(
                f"the device {core.device_coord} of the socket is outside of {mesh_device.shape}",
                hint=within(mesh_device.shape),
            )
        if index not in mesh_device.local_positions:
            raise fatal(
                f"the device {core.device_coord} belongs to rank {mesh_device.owner_ranks[index]}: a host talks to its own devices",
                hint="make the socket on that rank only",
            )
        self._device, self._core, self._fifo_size = mesh_device, core, int(fifo_size)
        self.place = mesh_device.local_positions.index(index)
        self._page = 0
        self.queue = Queue()

    def get_active_cores(self) -> list[MeshCoreCoord]:
        """The one core of the socket."""
        return [self._core]

    def get_mesh_device(self) -> MeshDevice:
        """The mesh device of the socket."""
        return self._device

    def get_page_size(self) -> int:
        """Bytes of a page, 0 before one is set."""
        return self._page

    def set_page_size(self, page_size: int) -> None:
        """Set the bytes of a page. Raises RuntimeError for a size that is not positive or larger than the FIFO."""
        if not 0 < page_size <= self._fifo_size:
            raise fatal(
                f"page size {page_size} must be positive and fit the FIFO of {self._fifo_size} bytes",
                "page_size <= fifo_size",
                hint=f"a size from 1 to {self._fifo_size}",
            )
        self._page = int(page_size)

    def pages(self, nbytes: int) -> int:
        """How many pages so many bytes are. Raises RuntimeError without a page size and for parts of a page."""
        if not self._page:
            raise fatal(
                "set_page_size() comes before data moves", "page_size > 0", hint="socket.set_page_size(bytes)"
            )
        if nbytes % self._page:
            raise fatal(
                f"{nbytes} bytes are no multiple of the page size {self._page}",
                "data_size % page_size == 0",
                hint="pad the data, or set_page_size() to a divisor before data moves",
            )
        return nbytes // self._page

    def get_config_buffer_address(self) -> NoReturn:
        """Addresses are for kernels, of which the emulation runs none: raises RuntimeError."""
        raise fatal(
            "get_config_buffer_address: the emulation runs no kernels that could use the address",
            hint="write_tensor and read_tensor move data without the address",
        )

    def export_descriptor(self, socket_id: str) -> NoReturn:
        """Attaching from another process is not emulated: raises RuntimeError."""
        raise fatal(
            "export_descriptor: sockets of other processes are not emulated; use MeshSocket between ranks",
            hint="a ttnn.MeshSocket between ranks: ttnn.SocketConfig(…, sender_rank=…, receiver_rank=…)",
        )

    @staticmethod
    def connect(socket_id: str, timeout_ms: int | None = None) -> NoReturn:
        """Attaching from another process is not emulated: raises RuntimeError."""
        raise fatal(
            "connect: sockets of other processes are not emulated; use MeshSocket between ranks",
            hint="a ttnn.MeshSocket between ranks: ttnn.SocketConfig(…, sender_rank=…, receiver_rank=…)",
        )

    def __repr__(self) -> str:
        return f"<{self._bound_name} object at {id(self):#x}>"

    _bound_name = "ttnn._ttnn.hd_socket.HDSocket"


@native("ttnn._ttnn.hd_socket.H2DSocket")
class H2DSocket(_HostSocket, metaclass=Native):
    """From the host to one device: `write_tensor` here, `recv_async_h2d` there, in either order."""

    _bound_name = "ttnn._ttnn.hd_socket.H2DSocket"

    def __init__(
        self,
        mesh_device: MeshDevice,
        recv_core: MeshCoreCoord,
        buffer_type: BufferType,
        fifo_size: int,
        h2d_mode: H2DMode,
    ) -> None:
        super().__init__(mesh_device, recv_core, fifo_size)
        self._mode = H2DMode(h2d_mode)
        self.waiting: deque[Any] = deque()

    def get_h2d_mode(self) -> H2DMode:
        """HOST_PUSH or DEVICE_PULL."""
        return self._mode

    def write_tensor(self, tensor: Any) -> None:
        """Queue the values of a host tensor, or of a contiguous torch tensor. Raises RuntimeError for a device tensor and parts of pages."""
        values, spec = _on_host(tensor, "write_tensor")
        self.pages(values.size * element_size(spec.dtype))
        guard.message("H2DSocket.write_tensor", describe(spec))
        self.queue.put(values, spec.dtype)

    def write(self, data: object, num_pages: int) -> NoReturn:
        """Raw pointers are not emulated: raises RuntimeError."""
        raise fatal(
            "H2DSocket.write takes a raw pointer, which is not emulated; use write_tensor",
            hint="write_tensor(ttnn.from_torch(…))",
        )

    def barrier(self, timeout_ms: int | None = None) -> None:
        """Return when the device has taken everything. Raises RuntimeError when nobody asked for what was written."""
        while self.waiting:
            self.waiting[0]()
        if self.queue.elements:
            raise fatal(
                f"H2DSocket.barrier: {self.queue.elements} elements were written and never received",
                hint="call ttnn.experimental.recv_async_h2d(output, socket) for them",
            )


@native("ttnn._ttnn.hd_socket.D2HSocket")
class D2HSocket(_HostSocket, metaclass=Native):
    """From one device to the host: `send_async_d2h` there, `read_tensor` here."""

    _bound_name = "ttnn._ttnn.hd_socket.D2HSocket"

    def __init__(self, mesh_device: MeshDevice, sender_core: MeshCoreCoord, fifo_size: int) -> None:
        super().__init__(mesh_device, sender_core, fifo_size)

    def has_data(self) -> bool:
        """Whether a page is there."""
        dtype = self.queue.dtype
        return dtype is not None and self.queue.elements * element_size(dtype) >= max(self._page, 1)

    def read_tensor(self, tensor: Any, notify_sender: bool = True) -> None:
        """Fill a host tensor or a contiguous torch tensor with the next values. Raises RuntimeError when they are not there."""
        old, spec = _on_host(tensor, "read_tensor")
        self.pages(old.size * element_size(spec.dtype))
        guard.message("D2HSocket.read_tensor", describe(spec))
        values = self.queue.take(old.size, spec.dtype).reshape(old.shape)
        if isinstance(tensor, Tensor):
            tensor.overwrite(Shards(values[None], (0,)))
            return
        filled = to_torch(Tensor.of(Shards(values[None], (0,)), dtype=spec.dtype))
        tensor[...] = filled.reshape(tensor.shape)

    def read(self, data: object, num_pages: int, notify_sender: bool = True) -> NoReturn:
        """Raw pointers are not emulated: raises RuntimeError."""
        raise fatal(
            "D2HSocket.read takes a raw pointer, which is not emulated; use read_tensor",
            hint="read_tensor(ttnn.from_torch(…)) fills a host tensor",
        )

    def discard_pending_pages(self) -> int:
        """Drop what is there; the number of pages."""
        dtype = self.queue.dtype
        pages = self.pages(self.queue.elements * element_size(dtype)) if dtype and self.queue.elements else 0
        self.queue.clear()
        return pages

    def barrier(self, timeout_ms: int | None = None) -> None:
        """Return when the host has read everything. Raises RuntimeError when it has not: it is this process that would have to."""
        if self.queue.elements:
            raise fatal(
                f"D2HSocket.barrier: {self.queue.elements} elements were sent and not read",
                hint="call socket.read_tensor(tensor) for them",
            )


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
        output_tensor._storage = Arriving(buffer, finish)
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


def _check(tensor: Tensor, socket: _HostSocket, kind: type[_HostSocket], name: str) -> None:
    if not isinstance(tensor, Tensor) or not isinstance(socket, kind):
        raise ArgumentMismatch(f"{name} needs a ttnn.Tensor and a ttnn.{kind.__name__}")
    if tensor.device() is not socket.get_mesh_device():
        raise fatal(
            f"{name}: the tensor is on {tensor.device() or 'the host'}, the socket on {socket.get_mesh_device()}",
            hint="ttnn.to_device(tensor, socket.get_mesh_device())",
        )
    socket.get_mesh_device().require_open(name)


def _on_host(tensor: Any, name: str) -> tuple[Array, TensorSpec]:
    """The values of a host tensor or of a torch tensor, and what they are."""
    if isinstance(tensor, Tensor):
        if tensor.device() is not None:
            raise fatal(
                f"{name} takes a host tensor; use ttnn.from_device first",
                "storage_type() == StorageType::HOST",
                hint=read_to_host("tensor"),
            )
    else:
        tensor = from_torch(tensor)
    row = tensor.shards.of(0)
    if row is None or len(tensor.shards.index) != 1:
        raise fatal(f"{name} takes a tensor of one shard", hint="ttnn.get_device_tensors(tensor)[0]")
    return row, tensor.spec


def _facts(tensor: Tensor) -> dict[str, Any]:
    size = tensor.spec.padded_shape.volume() * element_size(tensor.dtype)
    return {"bytes": size, "messages": 1}
