"""The operations through which a program takes what a service brings, and hands over what it takes away. Source: reference library 0.81.1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tt_run.runtime import events, guard
from tt_run.runtime.enums import DataType
from tt_run.runtime.errors import fatal
from tt_run.runtime.ops.declaration import families
from tt_run.runtime.ops.declaration.dispatch import ArgumentMismatch, operation
from tt_run.runtime.ops.declaration.operands import on_device
from tt_run.runtime.sockets.services.device_to_device import D2DStreamServiceReceiver, D2DStreamServiceSender
from tt_run.runtime.sockets.services.device_to_host import D2HStreamService
from tt_run.runtime.sockets.services.host_to_device import H2DStreamService
from tt_run.runtime.sockets.services.service import Cut, StreamService
from tt_run.runtime.sockets.services.transfers import WORD, Transfer, words_tensor
from tt_run.runtime.sockets.streams import describe
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.trace import capturing
from tt_run.runtime.values.dtypes import element_size
from tt_run.runtime.values.shards import Shards

_IN, _OUT = "inbound_socket_service_sync", "outbound_socket_service_sync"


@operation(f"ttnn.experimental.deepseek_prefill.{_IN}", family=families.SOCKET)
def inbound_socket_service_sync(
    service: Any, *, metadata_size_bytes: int = 0, overhang_size_bytes: int = 0
) -> list[Tensor]:
    """The next transfer of a service in new tensors: what it carries, the last bytes of each row by themselves if asked for, its metadata.

    The results wait for the transfer when they are read. Raises RuntimeError for a service without worker_cores and for sizes that do
    not fit it, and, where nothing can come, when they are read.
    """
    if not isinstance(service, (H2DStreamService, D2DStreamServiceReceiver)):
        raise ArgumentMismatch(f"{_IN} takes a ttnn.H2DStreamService or a ttnn.D2DStreamServiceReceiver")
    _check_workers(service, _IN)
    if metadata_size_bytes != service.metadata_bytes:
        raise fatal(
            f"{_IN}: metadata_size_bytes={metadata_size_bytes}, and the service carries {service.metadata_bytes}",
            hint=f"metadata_size_bytes={service.metadata_bytes}",
        )
    backing = service.get_backing_tensor()
    results: list[tuple[Tensor, Cut]] = []
    if overhang_size_bytes:
        kept = backing.shape[-1] - _overhang(backing, overhang_size_bytes)
        for part in (slice(0, kept), slice(kept, None)):
            results.append((backing.derive(_cut(backing.shards, part)), _cutter(part)))
    else:
        results.append((service.like_backing(), _whole))
    if metadata_size_bytes:
        results.append((words_tensor(service.device, metadata_size_bytes), _words))
    if capturing(service.device) is not None:  # a device takes nothing until the trace runs
        return [result for result, _ in results]
    with events.Block("recv", _IN, service) as block:
        guard.message(_IN, describe(backing.spec))
        found = service.later(service.ask(), results)
        block.facts = {"bytes": _nbytes(backing), "messages": 1}
    return found


@operation(f"ttnn.experimental.deepseek_prefill.{_OUT}", family=families.SOCKET)
def outbound_socket_service_sync(
    service: Any, input: Tensor | None = None, *, metadata: Tensor | None = None
) -> Tensor:
    """Hand a tensor, and its metadata, over to a service; its backing tensor, or the metadata where it carries them alone.

    Raises RuntimeError for a service without worker_cores, and for a tensor or metadata that are not what it carries.
    """
    if not isinstance(service, (D2HStreamService, D2DStreamServiceSender)):
        raise ArgumentMismatch(f"{_OUT} takes a ttnn.D2HStreamService or a ttnn.D2DStreamServiceSender")
    _check_workers(service, _OUT)
    words = _checked_words(service, metadata)
    alone = isinstance(service, D2HStreamService) and not service.payload_size_bytes()
    if alone is not (input is None):
        raise fatal(
            f"{_OUT}: the service carries {'metadata alone' if alone else 'tensors'}, and input is {'given' if alone else 'left out'}",
            "input.has_value() == tensor_enabled()",
            hint="leave input out" if alone else "input=tensor",
        )
    backing = None if input is None else service.get_backing_tensor()
    if input is not None and backing is not None:
        on_device(input, backing, kind=_OUT)
        if describe(input.spec) != describe(backing.spec):
            raise fatal(
                f"{_OUT}: the service carries {describe(backing.spec)} on each device, input is {describe(input.spec)}",
                "input.tensor_spec() == backing.tensor_spec()",
                hint="ttnn.allocate_tensor_on_device(service.get_per_shard_spec(), mesh_device) has the spec",
            )
        backing.overwrite(input.shards)
    carried = [t for t in (backing, words) if t is not None]
    if capturing(service.device) is not None:
        return carried[0]
    with events.Block("send", _OUT, service) as block:
        guard.message(_OUT, "metadata" if backing is None else describe(backing.spec))
        service.hand_over(
            Transfer(None if backing is None else backing.shards, None if words is None else words.shards)
        )
        block.facts = {"bytes": sum(map(_nbytes, carried)), "messages": 1}
    return carried[0]


def _check_workers(service: StreamService, name: str) -> None:
    if not service.has_workers:
        raise fatal(
            f"{name}: per-coord service state is missing or inconsistent (was the service built with worker_cores?)",
            "service.worker_cores.has_value()",
            hint="worker_cores=ttnn.CoreRange(…) where the service is made",
        )


def _checked_words(service: StreamService, metadata: Tensor | None) -> Tensor | None:
    wanted = service.metadata_bytes
    if metadata is None:
        if wanted:
            raise fatal(
                f"{_OUT}: the service carries {wanted} bytes of metadata with each transfer, and metadata is left out",
                hint=f"metadata=ttnn.from_torch(words, …): [1, 1, 1, {wanted // WORD}] of ttnn.uint32 on the mesh",
            )
        return None
    on_device(metadata, kind=_OUT)
    found = math.prod(metadata.shape) * element_size(metadata.dtype)
    if metadata.dtype is not DataType.UINT32 or found != wanted:
        raise fatal(
            f"{_OUT}: metadata is {metadata.dtype.name} {list(metadata.shape)}, {found} bytes, and the service carries {wanted} bytes of UINT32",
            hint=f"[1, 1, 1, {wanted // WORD}] of ttnn.uint32" if wanted else "leave metadata out",
        )
    return metadata


def _overhang(backing: Tensor, size: int) -> int:
    """Elements at the end of each row that go by themselves."""
    width, each = backing.shape[-1], element_size(backing.dtype)
    if size % each or not 0 < size < width * each:
        raise fatal(
            f"{_IN}: overhang_size_bytes={size} is no end of a row of {width * each} bytes",
            "overhang_size_bytes < page_size",
            hint=f"a multiple of {each} below {width * each}",
        )
    return size // each


def _cut(shards: Shards, part: slice) -> Shards:
    def take(stack: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.ascontiguousarray(stack[..., part])

    return shards.map(take)


def _cutter(part: slice) -> Cut:
    def cut(transfer: Transfer) -> Shards:
        assert transfer.shards is not None
        return _cut(transfer.shards, part)

    return cut


def _whole(transfer: Transfer) -> Shards:
    assert transfer.shards is not None
    return transfer.shards


def _words(transfer: Transfer) -> Shards:
    assert transfer.metadata is not None
    return transfer.metadata


def _nbytes(tensor: Tensor) -> int:
    return tensor.spec.padded_shape.volume() * element_size(tensor.dtype)
