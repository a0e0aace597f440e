"""Training over several hosts: the ranks of the job, sub-contexts of them, and tensors sent from rank to rank.

Each rank has a mesh of its own; a tensor travels shard by shard, distinct shards once, 16 bits per element for bfloat16. Sends block until
the receiver takes the message, in order for each pair of ranks, and every wait is watched by the guard: a peer that never comes, or a cycle of
sends, is an error that names ranks and lines.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt

from tt_run.runtime import events, guard
from tt_run.runtime.comm.group import headed
from tt_run.runtime.comm.world import Group, world
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh.distributed import init_distributed_context
from tt_run.runtime.train.autograd import stacks
from tt_run.runtime.train.autograd.graph import PreferredPrecision
from tt_run.runtime.values.bfloat16 import from_wire, to_wire
from tt_run.runtime.values.dtypes import element_size, stored_dtype
from tt_run.runtime.values.shards import Shards

if TYPE_CHECKING:
    from tt_run.runtime.tensor.tensor import Tensor as Value

Array = npt.NDArray[Any]

_TAG = 9200
_SITE = 32  # words of eight bytes for the sender's line
_HEADER = 16 + _SITE  # numbers: dtype, distinct shards, devices, rank, then the dimensions; the sender's line


class SocketType(enum.Enum):
    """How tensors travel on hardware; here both are the same messages."""

    MPI = 0
    FABRIC = 1


class DistributedContext:
    """Some ranks of the job in an order of their own, numbered from 0."""

    def __init__(self, group: Group) -> None:
        self._group = group

    @classmethod
    def of_world(cls) -> DistributedContext:
        """All ranks of the job; meets them."""
        init_distributed_context()
        return cls(world().everyone)

    @property
    def group(self) -> Group:
        """The communication group behind the context."""
        return self._group

    def rank(self) -> int:
        """This rank's number in the context."""
        return self._group.rank

    def size(self) -> int:
        """How many ranks the context has."""
        return self._group.size

    def barrier(self) -> None:
        """Return when every rank of the context has called it."""
        guard.collective(self._group, guard.Signature("DistributedContext.barrier"))
        self._group.barrier()

    def create_sub_context(self, ranks: Sequence[int]) -> DistributedContext:
        """The context of some ranks of this one, renumbered 0, 1, … in list order. Every rank named must call it.

        Raises ValueError for a list with repeats, with ranks that do not exist, or without this rank.
        """
        listed = [int(rank) for rank in ranks]
        if len(set(listed)) != len(listed) or not all(0 <= rank < self.size() for rank in listed):
            raise ValueError(
                f"create_sub_context: {listed} are not distinct ranks of 0..{self.size() - 1}; help: name each rank once"
            )
        if self.rank() not in listed:
            raise ValueError(
                f"create_sub_context: rank {self.rank()} is not in {listed}; only members create a sub-context; help: if the rank is in the list, then create it"
            )
        return DistributedContext(world().group([self._group.ranks[rank] for rank in listed]))


class Carried(Protocol):
    """What travels: a tensor with a value and a gradient."""

    def get_value(self, precision: PreferredPrecision | None = None) -> Value:
        """Its value."""

    def set_value(self, value: Value) -> None:
        """Replace the value."""

    def get_grad(self) -> Value:
        """Its gradient."""

    def set_grad(self, grad: Value | None) -> None:
        """Replace the gradient."""


CarriedT = TypeVar("CarriedT", bound=Carried)


class SocketManager:
    """Sends and receives tensors between ranks of a context."""

    def __init__(self, socket_type: SocketType) -> None:
        if not isinstance(socket_type, SocketType):
            raise TypeError(
                f"initialize_socket_manager takes a SocketType, not {type(socket_type).__name__}; help: ttml.core.distributed.SocketType.MPI or FABRIC"
            )
        self.socket_type = socket_type

    def send(
        self, tensor: Carried, distributed_ctx: DistributedContext, rank: int, use_grad: bool = False
    ) -> None:
        """Send a tensor's value, or its gradient, to a rank of the context; returns when it has been taken."""
        value = tensor.get_grad() if use_grad else tensor.get_value()
        send_value(value, distributed_ctx, rank)

    def recv(
        self, tensor: CarriedT, distributed_ctx: DistributedContext, rank: int, use_grad: bool = False
    ) -> CarriedT:
        """Receive into a tensor's value, or its gradient, from a rank of the context, and return the tensor.

        Raises RuntimeError when shape, type or number of devices differ from what the sender has.
        """
        received = receive_value(tensor.get_value(), distributed_ctx, rank)
        if use_grad:
            tensor.set_grad(received)
        else:
            kept = tensor.get_value(PreferredPrecision.FULL).dtype
            tensor.set_value(stacks.as_dtype(received, kept) if kept is DataType.FLOAT32 else received)
        return tensor


def send_value(value: Value, context: DistributedContext, rank: int) -> None:
    """Send a mesh tensor to a rank of the context."""
    _check_peer(context, rank)
    with events.Block(
        "send", "SocketManager.send", context, (context.group.ranks[rank],), value.shards.data.nbytes
    ) as block:
        _send(value, context, rank)
        block.facts = _facts(value, "to", context.group.ranks[rank])


def _send(value: Value, context: DistributedContext, rank: int) -> None:
    guard.message("SocketManager.send", f"shape {list(value.shards.shape)} of {value.dtype.name}")
    shards = value.shards
    header = np.zeros(_HEADER, np.int64)
    header[:4] = (value.dtype.value, len(shards.data), len(shards.index), len(shards.shape))
    header[4 : 4 + len(shards.shape)] = shards.shape
    data = np.ascontiguousarray(shards.data)
    body = to_wire(cast("npt.NDArray[np.float32]", data)) if value.dtype is DataType.BFLOAT16 else data
    site = events.call_site()[-8 * _SITE :].encode()[-8 * _SITE :]
    header[-_SITE:].view(np.uint8)[: len(site)] = np.frombuffer(site, np.uint8)
    told = headed(header, header[:-_SITE])
    for part in (told, np.array(shards.index, np.int64), np.ascontiguousarray(body)):
        guard.wait(guard.isend(context.group, part, rank, _TAG, "SocketManager.send"))


def receive_value(like: Value, context: DistributedContext, rank: int) -> Value:
    """Receive a mesh tensor from a rank of the context; `like` says what shape, type and place it must have."""
    _check_peer(context, rank)
    with events.Block(
        "recv", "SocketManager.recv", context, (context.group.ranks[rank],), like.shards.data.nbytes
    ) as block:
        value = _receive(like, context, rank)
        block.facts = _facts(value, "from", context.group.ranks[rank])
    return value


def _receive(like: Value, context: DistributedContext, rank: int) -> Value:
    guard.message("SocketManager.recv", f"shape {list(like.shards.shape)} of {like.dtype.name}")
    header = headed(np.zeros(_HEADER, np.int64))
    guard.wait(guard.irecv(context.group, header, rank, _TAG, "SocketManager.recv"))
    dtype, rows, devices, dims = DataType(int(header[0])), int(header[1]), int(header[2]), int(header[3])
    shape = tuple(int(n) for n in header[4 : 4 + dims])
    index = np.zeros(devices, np.int64)
    guard.wait(guard.irecv(context.group, index, rank, _TAG, "SocketManager.recv"))
    half = dtype is DataType.BFLOAT16
    body = np.empty((rows, *shape), np.uint16 if half else stored_dtype(dtype))
    guard.wait(guard.irecv(context.group, body, rank, _TAG, "SocketManager.recv"))
    own = like.shards
    if (shape, dtype, devices) != (own.shape, like.dtype, len(own.index)):
        sender = context.group.ranks[rank]
        site = header[-_SITE:].tobytes().rstrip(b"\0").decode(errors="replace")
        raise RuntimeError(
            f"recv from rank {sender}: it sent shape {list(shape)} of {dtype} on {devices} devices at {site}, "
            f"this rank expects {list(own.shape)} of {like.dtype} on {len(own.index)} at {events.call_site()}"
        )
    return like.derive(Shards(from_wire(body) if half else body, tuple(int(i) for i in index)))


def _facts(value: Value, direction: str, peer: int) -> dict[str, Any]:
    """What the event of a tensor that travelled says: every device sends its shard to the device in the same place."""
    device = value.device()
    places = (
        {}
        if device is None
        else {
            "mesh_id": device.mesh_id,
            "devices": tuple(device.positions[i] for i in device.local_positions),
        }
    )
    size = value.padded_shape.volume() * element_size(value.dtype)
    return {
        **places,
        "bytes": size,
        "messages": len(value.shards.index),
        "detail": f"{direction} rank {peer}",
        "peers": (peer,),
    }


def _check_peer(context: DistributedContext, rank: int) -> None:
    if not 0 <= rank < context.size() or rank == context.rank():
        raise RuntimeError(
            f"rank {rank} is not another rank of this context of {context.size()} (own rank {context.rank()}); help: name one of 0..{context.size() - 1} beside it"
        )
