"""What the services share: a mesh, a tensor that stays, worker cores, metadata, and results that wait for their transfer."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np

from tt_run.runtime import queues
from tt_run.runtime.cores import CoreRange
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.sockets.arriving_buffers import Arriving
from tt_run.runtime.sockets.services.transfers import WORD, Delivery, Transfer
from tt_run.runtime.sockets.unsent_tensors import Awaited
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import Mapper, ReplicateTensorToMesh
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import element_size, stored_dtype
from tt_run.runtime.values.shards import Shards
from tt_run.runtime.values.storage import Buffer

Cut = Callable[[Transfer], Shards]
"""What a result takes of a transfer."""

_open: weakref.WeakSet[StreamService] = weakref.WeakSet()


class StreamService:
    """One end of a service. Sizes of queues and pages, and threads, are accepted and change nothing."""

    _bound_name = "ttnn.StreamService"

    def __init__(
        self,
        mesh_device: MeshDevice,
        global_spec: TensorSpec | None,
        mapper: Mapper | None,
        worker_cores: CoreRange | None,
        metadata_size_bytes: int,
    ) -> None:
        name = type(self).__name__
        mesh_device.require_open(name)
        if metadata_size_bytes % WORD or metadata_size_bytes < 0:
            raise fatal(
                f"{name}: metadata of {metadata_size_bytes} bytes are no words of {WORD} bytes",
                "metadata_size_bytes % 4 == 0",
                hint=f"metadata_size_bytes={-(-abs(metadata_size_bytes) // WORD) * WORD}",
            )
        if metadata_size_bytes and worker_cores is None:
            raise fatal(
                f"{name}: metadata_size_bytes={metadata_size_bytes} requires worker_cores to be set",
                "metadata_size_bytes == 0 || worker_cores.has_value()",
                hint="worker_cores=ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(0, 0))",
            )
        self._device, self._global, self._workers = mesh_device, global_spec, worker_cores
        self._mapper = mapper or ReplicateTensorToMesh(mesh_device)
        self._metadata = metadata_size_bytes
        self._backing = None if global_spec is None else self._empty(global_spec)
        self._unfinished: deque[Callable[[], None]] = deque()
        _open.add(self)

    def _empty(self, spec: TensorSpec) -> Tensor:
        zeros = np.zeros(tuple(spec.shape), stored_dtype(spec.dtype))
        return from_torch(zeros, spec=spec, device=self._device, mesh_mapper=self._mapper)

    @property
    def device(self) -> MeshDevice:
        """The mesh of the service."""
        return self._device

    @property
    def has_workers(self) -> bool:
        """Whether transfers are taken and handed over by operations."""
        return self._workers is not None

    @property
    def metadata_bytes(self) -> int:
        """Bytes of metadata with each transfer, 0 for none."""
        return self._metadata

    def get_backing_tensor(self) -> Tensor:
        """The tensor on the mesh that each transfer goes through; the same one every time."""
        if self._backing is None:
            raise fatal(
                f"{type(self).__name__} carries metadata alone",
                "global_spec.has_value()",
                hint="global_spec=ttnn.TensorSpec(…) where the service is made",
            )
        return self._backing

    def get_per_shard_spec(self) -> TensorSpec:
        """The spec of one device's part."""
        return self.get_backing_tensor().spec

    def get_worker_cores(self) -> CoreRange:
        """The worker cores that were named. Raises RuntimeError without any."""
        if self._workers is None:
            raise fatal(
                "the service was made without worker_cores",
                "worker_cores.has_value()",
                hint="worker_cores=ttnn.CoreRange(…) where the service is made",
            )
        return self._workers

    # --- results ----------------------------------------------------------------------------------------------------

    def later(self, delivery: Delivery, results: Sequence[tuple[Tensor, Cut]]) -> list[Tensor]:
        """Results that take their content from a transfer when they are read, after those of the transfers before it."""
        buffers = [result.storage for result, _ in results]

        def complete() -> None:
            transfer = delivery()
            self._unfinished.popleft()
            for buffer, (_, cut) in zip(buffers, results, strict=True):
                if buffer.allocated:
                    buffer.write(cut(transfer))
            for result, buffer, arriving in waiting:  # so that a result does not keep the service
                if result._storage is arriving:
                    result._storage = buffer
            waiting.clear()

        def finish() -> None:
            while complete in self._unfinished:
                self._unfinished[0]()

        self._unfinished.append(complete)
        found = [result for result, _ in results]
        waiting = [
            (result, buffer, Arriving(buffer, Awaited(finish)))
            for result, buffer in zip(found, buffers, strict=True)
        ]
        for result, _, arriving in waiting:
            result._storage = arriving
        return found

    def finish(self) -> None:
        """Wait for every transfer that was asked for."""
        while self._unfinished:
            self._unfinished[0]()

    def like_backing(self) -> Tensor:
        """A new tensor of the same kind in the same places, to be filled."""
        backing = self.get_backing_tensor()
        return backing.on(Buffer(backing.shards))

    def check_metadata(self, metadata: bytes) -> None:
        """Raises RuntimeError for metadata of another size than the service was made for."""
        if len(metadata) != self._metadata:
            raise fatal(
                f"the service carries {self._metadata} bytes of metadata with each transfer, got {len(metadata)}",
                "metadata.size() == metadata_size_bytes",
                hint="leave metadata out"
                if not self._metadata
                else f"metadata=struct.pack('<{self._metadata // WORD}I', …)",
            )

    def require_own_mesh(self, method: str) -> None:
        """Raises RuntimeError for a mesh with devices of other ranks: another process attaches to one process."""
        ranks = sorted(set(self._device.owner_ranks))
        if len(ranks) > 1:
            raise fatal(
                f"{method}: the mesh has devices of ranks {', '.join(map(str, ranks))}, and another process attaches to one of them",
                hint="a mesh of one rank: tt-run --emulate without --split, or a submesh of this rank's devices",
            )

    # --- for kernels ------------------------------------------------------------------------------------------------

    def _address(self, *_: object) -> NoReturn:
        """Cores and addresses are for kernels, of which the emulation runs none: raises RuntimeError."""
        raise fatal(
            f"{type(self).__name__}: the emulation runs no kernels that could use cores and addresses of the service",
            hint="ttnn.experimental.deepseek_prefill.inbound_socket_service_sync and outbound_socket_service_sync do without",
        )

    get_service_core = _address
    get_metadata_addr = _address

    def __repr__(self) -> str:
        return f"<{self._bound_name} object at {id(self):#x}>"


def payload_bytes(spec: TensorSpec | None) -> int:
    """Bytes of one whole tensor, packed; 0 without one."""
    return 0 if spec is None else spec.padded_shape.volume() * element_size(spec.dtype)


def _finish_on(device: MeshDevice) -> None:
    for service in list(_open):
        mesh: MeshDevice | None = service.device
        while mesh is not None and mesh is not device:
            mesh = mesh.parent
        if mesh is not None:
            service.finish()


queues.on_finish(_finish_on)
