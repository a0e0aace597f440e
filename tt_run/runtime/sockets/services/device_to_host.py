"""A service that streams tensors, or records alone, from a mesh to the host. Source: reference library 0.81.1."""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any, NoReturn

import numpy as np

from tt_run.runtime import guard
from tt_run.runtime.cores import CoreCoord, CoreRange
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.sockets.attaching import (
    Attachment,
    Facts,
    export,
    facts_of,
    owners_only,
)
from tt_run.runtime.sockets.services.attached import AttachedService
from tt_run.runtime.sockets.services.raw_bytes import bytes_of, values_of
from tt_run.runtime.sockets.services.service import StreamService, payload_bytes
from tt_run.runtime.sockets.services.transfers import Transfer, Transfers
from tt_run.runtime.sockets.services.transfers import bytes_of as metadata_of
from tt_run.runtime.sockets.streams import describe
from tt_run.runtime.tensor.borders.arrays import read
from tt_run.runtime.tensor.distribution.composers import create_mesh_composer
from tt_run.runtime.tensor.distribution.configs import MeshComposerConfig
from tt_run.runtime.tensor.distribution.mappers import Mapper
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.tensor.spec.topology import PlacementShard
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.storage import Buffer

_NAME = "d2h_stream_service"


@native("ttnn._ttnn.d2h_stream_service.D2HStreamService")
class D2HStreamService(StreamService, metaclass=Native):
    """What `outbound_socket_service_sync` hands over, or `notify_backing_ready` without worker_cores, is read here in the same order.

    Without a global_spec it carries records of metadata alone.
    """

    _bound_name = "ttnn._ttnn.d2h_stream_service.D2HStreamService"

    def __init__(
        self,
        mesh_device: MeshDevice,
        global_spec: TensorSpec | None,
        fifo_size_bytes: int,
        max_socket_page_size_bytes: int = 0,
        mapper: Mapper | None = None,
        composer_config: MeshComposerConfig | None = None,
        worker_cores: CoreRange | None = None,
        metadata_master_core: CoreCoord | None = None,
        metadata_size_bytes: int = 0,
        parallel_host_read: bool = True,
        host_read_thread_count: int = 0,
        metadata_ring: bool = False,
    ) -> None:
        if fifo_size_bytes <= 0:
            raise fatal(
                "D2HStreamService: fifo_size_bytes must be > 0",
                "cfg_.fifo_size_bytes > 0",
                hint="fifo_size_bytes=4096",
            )
        if global_spec is None and not metadata_size_bytes:
            raise fatal(
                "D2HStreamService: metadata-only mode (absent global_spec) requires metadata_size_bytes > 0",
                "tensor_enabled() || cfg_.metadata_size_bytes > 0",
                hint="metadata_size_bytes=12, or a global_spec",
            )
        super().__init__(mesh_device, global_spec, mapper, worker_cores, metadata_size_bytes)
        self._master, self._composer = metadata_master_core, composer_config
        self._spec = global_spec
        self._transfers = Transfers(partial(_nothing_handed_over, worker_cores is not None))

    def payload_size_bytes(self) -> int:
        """Bytes of one whole tensor, 0 where records are carried alone."""
        return payload_bytes(self._spec)

    def metadata_size_bytes(self) -> int:
        """Bytes of metadata with each transfer, 0 for none."""
        return self._metadata

    def get_metadata_master_core(self) -> CoreCoord:
        """The worker core that forwards the metadata: the first one unless it was named. Raises RuntimeError without metadata."""
        if not self._metadata:
            raise fatal(
                "the service was made without metadata",
                "metadata_size_bytes > 0",
                hint="metadata_size_bytes=12 where the service is made",
            )
        return self._master or self.get_worker_cores().start

    def hand_over(self, transfer: Transfer) -> None:
        """Add a transfer for the host to read."""
        self._transfers.put(transfer)

    def notify_backing_ready(self) -> None:
        """Hand over what the backing tensor holds now. Raises RuntimeError with worker_cores, whose operation does it."""
        if self.has_workers:
            raise fatal(
                "D2HStreamService::notify_backing_ready: workers ack write_ack directly when Config::worker_cores is set",
                "!cfg_.worker_cores.has_value()",
                hint="ttnn.experimental.deepseek_prefill.outbound_socket_service_sync(service, input=tensor)",
            )
        self.hand_over(Transfer(self.get_backing_tensor().shards))

    def read_metadata(self) -> bytes:
        """The record of the next transfer. Raises RuntimeError when the devices differ in it, and where tensors are carried."""
        if self._spec is not None:
            raise fatal(
                "read_metadata: the service carries tensors",
                "!tensor_enabled()",
                hint="read_from_tensor_bytes_with_metadata()",
            )
        return self._next("read_metadata")[1]

    def read_from_tensor(self, host_tensor: Tensor) -> bytes:
        """Fill a host tensor, of the spec of one device's part, with the next transfer; its metadata."""
        spec = self.get_per_shard_spec()
        if host_tensor.device() is not None or describe(host_tensor.spec) != describe(spec):
            raise fatal(
                f"read_from_tensor takes a host tensor of {describe(spec)}, got {describe(host_tensor.spec)}",
                hint="ttnn.allocate_tensor_on_host(service.get_per_shard_spec(), mesh_device)",
            )
        transfer, metadata = self._next("read_from_tensor")
        shards = transfer.shards
        assert shards is not None
        if len(host_tensor.shards.index) != len(shards.index):
            raise fatal(
                f"read_from_tensor takes a tensor of {len(shards.index)} shards, got {len(host_tensor.shards.index)}",
                hint="ttnn.allocate_tensor_on_host(service.get_per_shard_spec(), mesh_device)",
            )
        host_tensor.overwrite(shards)
        return metadata

    def read_from_tensor_bytes(self) -> bytes:
        """The bytes of the whole tensor of the next transfer, composed."""
        return self.read_from_tensor_bytes_with_metadata()[0]

    def read_from_tensor_bytes_with_metadata(self) -> tuple[bytes, bytes]:
        """The bytes of the whole tensor of the next transfer, and its metadata. Over several ranks all of them read together."""
        self.get_backing_tensor()
        transfer, metadata = self._next("read_from_tensor_bytes")
        return self._composed(transfer), metadata

    def _composed(self, transfer: Transfer) -> bytes:
        backing, spec = self.get_backing_tensor(), self._spec
        assert transfer.shards is not None and spec is not None
        carried = backing.on(Buffer(transfer.shards))
        config = self._composer or _inverse(backing)
        if config is None:
            first = next(row for row in transfer.shards.each() if row is not None)
            return bytes_of(first, spec, "read_from_tensor_bytes")
        whole = read(carried, create_mesh_composer(self._device, config))
        return bytes_of(whole, spec, "read_from_tensor_bytes")

    def _next(self, name: str) -> tuple[Transfer, bytes]:
        guard.message(f"D2HStreamService.{name}", "metadata" if self._spec is None else describe(self._spec))
        transfer = self._transfers.take()
        return transfer, b"" if transfer.metadata is None else metadata_of(transfer.metadata)

    def barrier(self, timeout_ms: int | None = None) -> None:
        """Return when everything was read. Raises RuntimeError when it was not: it is this process that would have to."""
        if len(self._transfers):
            raise fatal(
                f"D2HStreamService.barrier: {len(self._transfers)} transfers were handed over and not read",
                hint="service.read_metadata()" if self._spec is None else "service.read_from_tensor_bytes()",
            )

    def export_descriptor(self, service_id: str) -> str:
        """Let another process of this machine attach by `connect(service_id)` and read; the path of the file that it reads.

        Raises RuntimeError for a mesh that is split over ranks.
        """
        self.require_own_mesh("export_descriptor")
        part = None if self._spec is None else self.get_per_shard_spec()
        return export(self, _NAME, service_id, facts_of(self._spec, part, self._metadata), _answer(self))

    @staticmethod
    def connect(
        service_id: str,
        timeout_ms: int | None = None,
        parallel_host_read: bool = True,
        host_read_thread_count: int = 0,
    ) -> D2HStreamService:
        """The service that another process exports, to read from it. Raises RuntimeError when none does within the time."""
        return _AttachedD2HService(Attachment(_NAME, service_id, timeout_ms))

    get_metadata_input_addr = StreamService._address
    get_metadata_ring_slots = StreamService._address
    get_slot_count = StreamService._address
    get_sockets = StreamService._address
    get_transfer_done_sem_addr = StreamService._address
    get_worker_metadata_addr = StreamService._address
    get_write_ack_counter_addr = StreamService._address


def _nothing_handed_over(by_operation: bool) -> RuntimeError:
    how = "outbound_socket_service_sync" if by_operation else "notify_backing_ready"
    return fatal(
        f"D2HStreamService: nothing was handed over to be read, and {how} is what would do it",
        hint="ttnn.experimental.deepseek_prefill.outbound_socket_service_sync(service, input=tensor)"
        if by_operation
        else "service.notify_backing_ready() once the backing tensor is filled",
    )


def _inverse(tensor: Tensor) -> MeshComposerConfig | None:
    """What puts the shards of a tensor together again, one of each replica; None where every device holds the whole."""
    topology = tensor.tensor_topology()
    placements = topology.placements()
    cut = {axis: p.dim for axis, p in enumerate(placements) if isinstance(p, PlacementShard)}
    if not cut:
        return None
    free = iter(dim for dim in range(len(tensor.shape)) if dim not in cut.values())
    dims = [cut[axis] if axis in cut else next(free) for axis in range(len(placements))]
    shape = [length if axis in cut else 1 for axis, length in enumerate(topology.distribution_shape())]
    return MeshComposerConfig(dims, MeshShape(shape))


def _answer(service: D2HStreamService) -> Any:
    """What the owner does for another process; it does not keep the service alive."""
    here = weakref.ref(service)

    def answer(request: Facts, _: bytes) -> tuple[Facts, bytes]:
        service = here()
        if service is None:
            raise RuntimeError("the service is gone")
        if request["do"] == "barrier":
            service.barrier()
            return {}, b""
        service._transfers.reached = True
        transfer = service._transfers.take()
        metadata = b"" if transfer.metadata is None else metadata_of(transfer.metadata)
        payload = b"" if transfer.shards is None else service._composed(transfer)
        return {"metadata": metadata.hex()}, payload

    return answer


class _AttachedD2HService(AttachedService, D2HStreamService):
    """The service of another process, to read from."""

    def __init__(self, attachment: Attachment) -> None:
        super().__init__(attachment)
        self._spec = self._global

    def read_metadata(self) -> bytes:
        """The record of the next transfer."""
        reply, _ = self._attachment.ask({"do": "read"})
        return bytes.fromhex(reply["metadata"])

    def read_from_tensor_bytes_with_metadata(self) -> tuple[bytes, bytes]:
        """The bytes of the whole tensor of the next transfer, and its metadata."""
        reply, payload = self._attachment.ask({"do": "read"})
        return payload, bytes.fromhex(reply["metadata"])

    def read_from_tensor(self, host_tensor: Tensor) -> bytes:
        """Fill a host tensor of the whole with the next transfer; its metadata."""
        spec = self._spec
        if spec is None or describe(host_tensor.spec) != describe(spec):
            raise fatal(
                f"read_from_tensor takes a host tensor of {'nothing' if spec is None else describe(spec)}, got {describe(host_tensor.spec)}",
                hint="read_from_tensor_bytes()",
            )
        payload, metadata = self.read_from_tensor_bytes_with_metadata()
        values = values_of(np.frombuffer(payload, np.uint8), spec, "read_from_tensor")
        host_tensor.overwrite(host_tensor.shards.holding(values[None]))
        return metadata

    def notify_backing_ready(self) -> NoReturn:
        """Only the process that has the mesh hands over: raises RuntimeError."""
        raise owners_only("notify_backing_ready")
