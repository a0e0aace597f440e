"""A service that streams whole tensors from the host to a mesh. Source: reference library 0.81.1."""

from __future__ import annotations

import weakref
from typing import Any, NoReturn

import numpy as np

from tt_run.runtime import guard
from tt_run.runtime.cores import CoreRange
from tt_run.runtime.enums import BufferType
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.sockets.attaching import (
    Attachment,
    Facts,
    export,
    facts_of,
)
from tt_run.runtime.sockets.services.attached import AttachedService
from tt_run.runtime.sockets.services.raw_bytes import raw_bytes, values_of
from tt_run.runtime.sockets.services.service import StreamService, payload_bytes
from tt_run.runtime.sockets.services.transfers import Delivery, Transfer, Transfers, words_of
from tt_run.runtime.sockets.streams import describe
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import Mapper
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards

_NAME = "h2d_stream_service"


@native("ttnn._ttnn.h2d_stream_service.H2DStreamService")
class H2DStreamService(StreamService, metaclass=Native):
    """Each `forward_to_tensor` fills `get_backing_tensor()`, which is there when it returns.

    With worker_cores a transfer stays there until `inbound_socket_service_sync` has taken it; those behind it wait.
    """

    _bound_name = "ttnn._ttnn.h2d_stream_service.H2DStreamService"

    def __init__(
        self,
        mesh_device: MeshDevice,
        global_spec: TensorSpec,
        fifo_size_bytes: int = 0,
        max_socket_page_size_bytes: int = 0,
        mapper: Mapper | None = None,
        socket_buffer_type: BufferType = BufferType.L1,
        worker_cores: CoreRange | None = None,
        metadata_size_bytes: int = 0,
        parallel_host_push: bool = False,
        host_push_thread_count: int = 0,
    ) -> None:
        super().__init__(mesh_device, global_spec, mapper, worker_cores, metadata_size_bytes)
        self._spec = global_spec
        self._transfers = Transfers(_nothing_streamed)

    def payload_size_bytes(self) -> int:
        """Bytes of one whole tensor."""
        return payload_bytes(self._spec)

    def metadata_size_bytes(self) -> int:
        """Bytes of metadata with each transfer, 0 for none."""
        return self._metadata

    def forward_to_tensor(self, host_tensor: Tensor, metadata: bytes = b"") -> None:
        """Stream a host tensor that was distributed by a mapper like that of the service.

        Raises RuntimeError when its spec is not that of one device's part, and for metadata of another size.
        """
        self.check_metadata(metadata)
        backing = self.get_backing_tensor()
        expected = describe(backing.spec)
        if host_tensor.device() is not None or describe(host_tensor.spec) != expected:
            raise fatal(
                f"forward_to_tensor takes a host tensor of {expected}, got {describe(host_tensor.spec)}",
                hint="ttnn.from_torch(data, …) with the type, layout and shape of the payload, without device=",
            )
        if len(host_tensor.shards.index) != len(backing.shards.index):
            raise fatal(
                "forward_to_tensor takes a tensor that a mapper has distributed; forward_to_tensor_bytes distributes",
                hint="ttnn.from_torch(data, mesh_mapper=…)",
            )
        guard.message("H2DStreamService.forward_to_tensor", expected)
        self._forward(host_tensor.shards, metadata)

    def forward_to_tensor_bytes(self, data: Any, metadata: bytes = b"") -> None:
        """Stream the bytes of a contiguous array, which are those of the whole tensor in rows whatever its element type.

        Raises RuntimeError for another number of bytes, a service of tiles and metadata of another size.
        """
        self.check_metadata(metadata)
        values = values_of(data, self._spec, "forward_to_tensor_bytes")
        guard.message("H2DStreamService.forward_to_tensor_bytes", describe(self._spec))
        self._forward(self._distributed(values), metadata)

    def _distributed(self, values: Any) -> Shards:
        spec = self._spec
        return from_torch(values, spec.dtype, layout=spec.layout, mesh_mapper=self._mapper).shards

    def _forward(self, shards: Shards, metadata: bytes) -> None:
        if not self.has_workers:
            self.get_backing_tensor().overwrite(shards)
            return
        if not len(self._transfers):
            self.get_backing_tensor().overwrite(shards)
        self._transfers.put(Transfer(shards, words_of(metadata, self._device) if self._metadata else None))

    def ask(self) -> Delivery:
        """The next transfer that no operation has taken."""
        return self._taken

    def _taken(self) -> Transfer:
        transfer = self._transfers.take()
        assert transfer.shards is not None
        self.get_backing_tensor().overwrite(transfer.shards)
        return transfer

    def barrier(self) -> None:
        """Return when every transfer has landed. Raises RuntimeError for those that no operation takes: a device waits for them for ever."""
        if waiting := max(len(self._transfers) - len(self._unfinished) - 1, 0):
            raise fatal(
                f"H2DStreamService.barrier: {waiting} transfers wait for the one before them to be taken",
                hint="ttnn.experimental.deepseek_prefill.inbound_socket_service_sync(service) takes one",
            )

    def export_descriptor(self, service_id: str) -> str:
        """Let another process of this machine attach by `connect(service_id)`; the path of the file that it reads.

        Raises RuntimeError for a mesh that is split over ranks.
        """
        self.require_own_mesh("export_descriptor")
        self._transfers.reached = True
        facts = facts_of(self._spec, self.get_per_shard_spec(), self._metadata)
        return export(self, _NAME, service_id, facts, _answer(self))

    @staticmethod
    def connect(
        service_id: str,
        timeout_ms: int | None = None,
        parallel_host_push: bool = False,
        host_push_thread_count: int = 0,
    ) -> H2DStreamService:
        """The service that another process exports, to stream to it. Raises RuntimeError when none does within the time."""
        return _AttachedH2DService(Attachment(_NAME, service_id, timeout_ms))

    get_data_ready_sem_addr = StreamService._address
    get_consumed_counter_addr = StreamService._address
    get_sockets = StreamService._address


def _nothing_streamed() -> RuntimeError:
    return fatal(
        "inbound_socket_service_sync waits for a transfer that nobody has streamed to the service",
        hint="service.forward_to_tensor(host_tensor) before the result is read",
    )


def _answer(service: H2DStreamService) -> Any:
    """What the owner does for another process; it does not keep the service alive."""
    here = weakref.ref(service)

    def answer(request: Facts, body: bytes) -> tuple[Facts, bytes]:
        service = here()
        if service is None:
            raise RuntimeError("the service is gone")
        if request["do"] == "barrier":
            service.barrier()
        else:
            values = values_of(np.frombuffer(body, np.uint8), service._spec, "forward_to_tensor_bytes")
            service._forward(service._distributed(values), bytes.fromhex(request["metadata"]))
        return {}, b""

    return answer


class _AttachedH2DService(AttachedService, H2DStreamService):
    """The service of another process: whole tensors go there."""

    def __init__(self, attachment: Attachment) -> None:
        super().__init__(attachment)
        assert self._global is not None
        self._spec = self._global

    def forward_to_tensor(self, host_tensor: Tensor, metadata: bytes = b"") -> NoReturn:
        """The mapper is the owner's: raises RuntimeError."""
        raise fatal(
            "forward_to_tensor: the mapper of the service is in the process that exported it",
            hint="service.forward_to_tensor_bytes(array) streams the whole tensor, which is distributed there",
        )

    def forward_to_tensor_bytes(self, data: Any, metadata: bytes = b"") -> None:
        """Stream the bytes of the whole tensor."""
        self.check_metadata(metadata)
        values_of(data, self._spec, "forward_to_tensor_bytes")
        body = raw_bytes(data, "forward_to_tensor_bytes").tobytes()
        self._attachment.ask({"do": "forward", "metadata": metadata.hex()}, body)
