"""Sockets between the host and one device of its own; another process attaches to one by name. Source: reference library 0.81.1.

The queue holds any amount; what the two ends must agree on (page size, type, amount) is checked when the data is taken. Raw pointers
and addresses for kernels have no meaning here and are refused.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NoReturn

import numpy.typing as npt

from tt_run.runtime import guard
from tt_run.runtime.comm.world import seconds_to_wait
from tt_run.runtime.enums import BufferType, NamedEnum
from tt_run.runtime.errors import fatal, read_to_host
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import coordinate_hint
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch
from tt_run.runtime.sockets.attaching import Attachment, export, owners_only
from tt_run.runtime.sockets.config import MeshCoreCoord
from tt_run.runtime.sockets.host_queue import Queue, packed, serve_requests, unpacked
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
                hint=coordinate_hint(mesh_device.shape),
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
        """What is under way."""

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

    def export_descriptor(self, socket_id: str) -> str:
        """Let another process of this machine attach by `connect(socket_id)`; the path of the file that it reads."""
        self.queue.reached = True
        facts = {"fifo": self._fifo_size, "page": self._page}
        return export(self, self._kind, socket_id, facts, serve_requests(self.queue))

    def __repr__(self) -> str:
        return f"<{self._bound_name} object at {id(self):#x}>"

    _bound_name = "ttnn._ttnn.hd_socket.HDSocket"
    _kind = ""


@native("ttnn._ttnn.hd_socket.H2DSocket")
class H2DSocket(_HostSocket, metaclass=Native):
    """From the host to one device: `write_tensor` here, `recv_async_h2d` there, in either order."""

    _bound_name = "ttnn._ttnn.hd_socket.H2DSocket"
    _kind = "h2d"

    @staticmethod
    def connect(socket_id: str, timeout_ms: int | None = None) -> H2DSocket:
        """The socket that another process exports, to write to it. Raises RuntimeError when none does within the time."""
        return _AttachedH2DSocket(Attachment("h2d", socket_id, timeout_ms))

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
        if self.queue.elements and not (timeout_ms and self.queue.drained(timeout_ms / 1000)):
            raise fatal(
                f"H2DSocket.barrier: {self.queue.elements} elements were written and never received",
                hint="call ttnn.experimental.recv_async_h2d(output, socket) for them",
            )


@native("ttnn._ttnn.hd_socket.D2HSocket")
class D2HSocket(_HostSocket, metaclass=Native):
    """From one device to the host: `send_async_d2h` there, `read_tensor` here."""

    _bound_name = "ttnn._ttnn.hd_socket.D2HSocket"
    _kind = "d2h"

    @staticmethod
    def connect(socket_id: str, timeout_ms: int | None = None) -> D2HSocket:
        """The socket that another process exports, to read from it. Raises RuntimeError when none does within the time."""
        return _AttachedD2HSocket(Attachment("d2h", socket_id, timeout_ms))

    def __init__(self, mesh_device: MeshDevice, sender_core: MeshCoreCoord, fifo_size: int) -> None:
        super().__init__(mesh_device, sender_core, fifo_size)

    def has_data(self) -> bool:
        """Whether a page is there."""
        return self.queue.nbytes >= max(self._page, 1)

    def read_tensor(self, tensor: Any, notify_sender: bool = True) -> None:
        """Fill a host tensor or a contiguous torch tensor with the next values. Raises RuntimeError when they are not there."""
        old, spec = _on_host(tensor, "read_tensor")
        self.pages(old.size * element_size(spec.dtype))
        guard.message("D2HSocket.read_tensor", describe(spec))
        _fill(tensor, self.queue.take(old.size, spec.dtype).reshape(old.shape), spec)

    def read(self, data: object, num_pages: int, notify_sender: bool = True) -> NoReturn:
        """Raw pointers are not emulated: raises RuntimeError."""
        raise fatal(
            "D2HSocket.read takes a raw pointer, which is not emulated; use read_tensor",
            hint="read_tensor(ttnn.from_torch(…)) fills a host tensor",
        )

    def discard_pending_pages(self) -> int:
        """Drop what is there; the number of pages."""
        pages = self.pages(self.queue.nbytes) if self.queue.elements else 0
        self.queue.clear()
        return pages

    def barrier(self, timeout_ms: int | None = None) -> None:
        """Return when the host has read everything. Raises RuntimeError when it has not, and nobody else can within the time."""
        if self.queue.elements and not (self.queue.reached and self.queue.drained(_seconds(timeout_ms))):
            raise fatal(
                f"D2HSocket.barrier: {self.queue.elements} elements were sent and not read",
                hint="call socket.read_tensor(tensor) for them",
            )


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


def _fill(tensor: Any, values: Array, spec: TensorSpec) -> None:
    """Put values into a host tensor, or into a torch tensor."""
    if isinstance(tensor, Tensor):
        tensor.overwrite(Shards(values[None], (0,)))
        return
    filled = to_torch(Tensor.of(Shards(values[None], (0,)), dtype=spec.dtype))
    tensor[...] = filled.reshape(tensor.shape)


def _seconds(timeout_ms: int | None) -> float:
    return seconds_to_wait() if timeout_ms is None else timeout_ms / 1000


class _AttachedSocket(_HostSocket):
    """A socket of another process: its mesh and cores are there."""

    def _attach(self, attachment: Attachment) -> None:
        self._attachment = attachment
        self._fifo_size, self._page = int(attachment.facts["fifo"]), int(attachment.facts["page"])

    def _owners(self) -> NoReturn:
        """It is of the mesh of another process: raises RuntimeError."""
        raise owners_only("what concerns the mesh")

    get_active_cores = _owners
    get_mesh_device = _owners

    def export_descriptor(self, socket_id: str) -> NoReturn:
        """Only the process that has the mesh exports: raises RuntimeError."""
        raise owners_only("export_descriptor")


class _AttachedH2DSocket(_AttachedSocket, H2DSocket):
    def __init__(self, attachment: Attachment) -> None:
        self._attach(attachment)

    def write_tensor(self, tensor: Any) -> None:
        """Queue the values there."""
        values, spec = _on_host(tensor, "write_tensor")
        self.pages(values.size * element_size(spec.dtype))
        self._attachment.ask({"do": "put", "dtype": spec.dtype.name}, packed(values, spec.dtype))

    def barrier(self, timeout_ms: int | None = None) -> None:
        """Return when the device there has taken everything."""
        self._attachment.ask({"do": "drain", "seconds": _seconds(timeout_ms)})

    def get_h2d_mode(self) -> NoReturn:
        """It is the owner's: raises RuntimeError."""
        raise owners_only("get_h2d_mode")


class _AttachedD2HSocket(_AttachedSocket, D2HSocket):
    def __init__(self, attachment: Attachment) -> None:
        self._attach(attachment)

    def has_data(self) -> bool:
        """Whether a page is there."""
        return bool(self._attachment.ask({"do": "has", "page": self._page})[0]["has"])

    def read_tensor(self, tensor: Any, notify_sender: bool = True) -> None:
        """Fill a host tensor or a contiguous torch tensor with the next values."""
        old, spec = _on_host(tensor, "read_tensor")
        self.pages(old.size * element_size(spec.dtype))
        _, body = self._attachment.ask({"do": "take", "count": old.size, "dtype": spec.dtype.name})
        _fill(tensor, unpacked(body, spec.dtype).reshape(old.shape), spec)

    def discard_pending_pages(self) -> int:
        """Drop what is there; the number of pages."""
        reply, _ = self._attachment.ask({"do": "clear"})
        return int(reply["bytes"]) // max(self._page, 1)

    def barrier(self, timeout_ms: int | None = None) -> None:
        """Return when everything was read."""
        self._attachment.ask({"do": "drain", "seconds": _seconds(timeout_ms)})
