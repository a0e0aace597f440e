"""A service that streams whole tensors from the host to a mesh, into one tensor that stays where it is. Source: reference library 0.81.1."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from tt_run.runtime import guard
from tt_run.runtime.enums import BufferType
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.sockets.streams import describe
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import Mapper, ReplicateTensorToMesh
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import element_size


@native("ttnn._ttnn.h2d_stream_service.H2DStreamService")
class H2DStreamService(metaclass=Native):
    """Each `forward_to_tensor` replaces the content of `get_backing_tensor()`, which is there when it returns.

    Sizes of queues and pages, threads and worker cores are accepted and change nothing. Raises RuntimeError for metadata, which kernels
    alone could read.
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
        worker_cores: Any = None,
        metadata_size_bytes: int = 0,
        parallel_host_push: bool = False,
        host_push_thread_count: int = 0,
    ) -> None:
        mesh_device.require_open("H2DStreamService")
        if metadata_size_bytes:
            raise fatal(
                "H2DStreamService: metadata goes to kernels, of which the emulation runs none",
                hint="metadata_size_bytes=0",
            )
        self._spec, self._workers = global_spec, worker_cores
        self._mapper = mapper or ReplicateTensorToMesh(mesh_device)
        self._backing = self._distributed(np.zeros(tuple(global_spec.shape), np.float32), mesh_device)

    def _distributed(self, values: Any, device: MeshDevice | None = None) -> Tensor:
        spec = self._spec
        return from_torch(values, spec.dtype, layout=spec.layout, device=device, mesh_mapper=self._mapper)

    def get_backing_tensor(self) -> Tensor:
        """The tensor on the mesh that each transfer fills; the same one every time."""
        return self._backing

    def get_per_shard_spec(self) -> TensorSpec:
        """The spec of one device's part."""
        return self._backing.spec

    def payload_size_bytes(self) -> int:
        """Bytes of one whole tensor."""
        return self._spec.shape.volume() * element_size(self._spec.dtype)

    def metadata_size_bytes(self) -> int:
        """Bytes of metadata with each transfer: none."""
        return 0

    def forward_to_tensor(self, host_tensor: Tensor, metadata: bytes = b"") -> None:
        """Fill the backing tensor from a host tensor that was distributed by a mapper like that of the service.

        Raises RuntimeError when its spec is not that of one device's part.
        """
        self._check(metadata)
        expected = describe(self._backing.spec)
        if host_tensor.device() is not None or describe(host_tensor.spec) != expected:
            raise fatal(
                f"forward_to_tensor takes a host tensor of {expected}, got {describe(host_tensor.spec)}",
                hint="ttnn.from_torch(data, …) with the type, layout and shape of the payload, without device=",
            )
        if len(host_tensor.shards.index) != len(self._backing.shards.index):
            raise fatal(
                "forward_to_tensor takes a tensor that a mapper has distributed; forward_to_tensor_bytes distributes",
                hint="ttnn.from_torch(data, mesh_mapper=…)",
            )
        guard.message("H2DStreamService.forward_to_tensor", expected)
        self._backing.overwrite(host_tensor.shards)

    def forward_to_tensor_bytes(self, data: Any, metadata: bytes = b"") -> None:
        """Distribute a whole array of the payload's size and fill the backing tensor with it."""
        self._check(metadata)
        if int(np.prod(data.shape)) != self._spec.shape.volume():
            raise fatal(
                f"the payload is {self._spec.shape}, the array has shape {list(data.shape)}",
                hint=f"data.reshape({list(self._spec.shape)}), or an array of as many elements",
            )
        guard.message("H2DStreamService.forward_to_tensor_bytes", describe(self._spec))
        self._backing.overwrite(self._distributed(data.reshape(tuple(self._spec.shape))).shards)

    def barrier(self) -> None:
        """Return when every transfer has landed, which it has."""

    def get_worker_cores(self) -> Any:
        """The worker cores that were named. Raises RuntimeError without any."""
        if self._workers is None:
            raise fatal(
                "the service was made without worker_cores",
                "worker_cores.has_value()",
                hint="worker_cores=ttnn.CoreRangeSet(…) where the service is made",
            )
        return self._workers

    def export_descriptor(self, service_id: str) -> NoReturn:
        """Attaching from another process is not emulated: raises RuntimeError."""
        raise fatal(
            "export_descriptor: services of other processes are not emulated; use MeshSocket between ranks",
            hint="a ttnn.MeshSocket between ranks: ttnn.SocketConfig(…, sender_rank=…, receiver_rank=…)",
        )

    @staticmethod
    def connect(service_id: str, *_: object, **__: object) -> NoReturn:
        """Attaching from another process is not emulated: raises RuntimeError."""
        raise fatal(
            "connect: services of other processes are not emulated; use MeshSocket between ranks",
            hint="a ttnn.MeshSocket between ranks: ttnn.SocketConfig(…, sender_rank=…, receiver_rank=…)",
        )

    def _check(self, metadata: bytes) -> None:
        if metadata:
            raise fatal(
                "the service was made without metadata",
                "metadata.size() == metadata_size_bytes",
                hint="leave metadata out",
            )
