"""The distributed context: ranks as programs see them, and bytes between hosts without any device (reference library 0.81.1).

In a job of several sub-contexts rank and size count within one's own; `world_rank` and `world_size` count everything.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from tt_run import contract
from tt_run.runtime import events, guard
from tt_run.runtime.comm.group import headed
from tt_run.runtime.comm.world import Group, world
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.geometry.numbers import CountedNumber
from tt_run.runtime.native.classes import Native, native

_F = TypeVar("_F", bound=Callable[..., Any])
_ENVELOPE = 512  # bytes ahead of a message: how long it is, and the sender's line
_BYTES_TAG = 1 << 14  # user tags live above those of the runtime on the same communicator
_PRIVATE_TAGS = 1 << 16  # of each context that was duplicated


@native("ttnn._ttnn.multi_device.Rank")
class Rank(CountedNumber, metaclass=Native):
    """The number of a rank."""

    _bound_name = "ttnn._ttnn.multi_device.Rank"


@native("ttnn._ttnn.multi_device.Size")
class Size(CountedNumber, metaclass=Native):
    """A number of ranks."""

    _bound_name = "ttnn._ttnn.multi_device.Size"


class Tag(CountedNumber):
    """The tag of a message."""

    _bound_name = "ttnn._ttnn.multi_device.Tag"


_initialized = False
_duplicates = 0


def init_distributed_context() -> None:
    """Meet the other ranks; a program without MPI is a world of one. Touching a mesh does it as well. Every rank must call it."""
    global _initialized
    guard.start()
    world().connect()
    events.attach_listeners(is_mesh_known=False)
    _initialized = True


def distributed_context_is_initialized() -> bool:
    """True once the ranks have met."""
    return _initialized or world().connected


def using_distributed_env() -> bool:
    """True when the environment is one of several ranks: mpirun's or tt-run's."""
    return "OMPI_COMM_WORLD_SIZE" in os.environ or all(
        os.environ.get(name) for name in (contract.MESH_ID, contract.MESH_HOST_RANK)
    )


def _requires_context(function: _F) -> _F:
    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if not distributed_context_is_initialized():
            raise RuntimeError("Distributed context not initialized. Call init_distributed_context() first.")
        return function(*args, **kwargs)

    return checked  # type: ignore[return-value]


@_requires_context
def distributed_context_get_rank() -> Rank:
    """This rank, in its sub-context."""
    return Rank(_context().rank)


@_requires_context
def distributed_context_get_size() -> Size:
    """How many ranks the sub-context has."""
    return Size(_context().size)


@_requires_context
def distributed_context_world_rank() -> Rank:
    """This rank among all of the job."""
    return Rank(world().rank)


@_requires_context
def distributed_context_world_size() -> Size:
    """How many ranks the job has."""
    return Size(world().size)


@_requires_context
def distributed_context_barrier() -> None:
    """Return when every rank of the sub-context has called it."""
    guard.collective(_context(), guard.Signature("distributed_context_barrier"))
    _context().barrier()


@_requires_context
def distributed_context_allgather_int(value: int) -> list[int]:
    """Every rank's number, in rank order."""
    group = _context()
    guard.collective(group, guard.Signature("distributed_context_allgather_int"))
    if group.size == 1:
        return [int(value)]
    gathered = np.empty(group.size, np.int64)
    group.allgatherv(np.array([int(value)], np.int64), gathered, [8] * group.size)
    return [int(number) for number in gathered]


@_requires_context
def distributed_context_send_bytes(data: bytes, dest: int, tag: int = 0) -> None:
    """Send bytes to a rank of the sub-context, and return when it has taken them."""
    peer = _peer(dest)
    _send(data, peer, int(tag), f"distributed_context_send_bytes(dest={peer})")


@_requires_context
def distributed_context_recv_bytes(size: int, source: int, tag: int = 0) -> bytes:
    """Receive `size` bytes from a rank of the sub-context. Raises RuntimeError when it sent more or fewer, and names its line."""
    peer = _peer(source)
    return _receive(int(size), peer, int(tag), f"distributed_context_recv_bytes(source={peer})")


class PrivateContext:
    """The ranks of the sub-context with messages of their own, which meet no others, whatever their tags: for threads that send and receive."""

    def __init__(self, number: int) -> None:
        self._number = number

    def rank(self) -> int:
        """This rank's number."""
        return _context().rank

    def size(self) -> int:
        """How many ranks there are."""
        return _context().size

    def send(self, data: bytes, dest: int, tag: int = 0) -> None:
        """Send bytes to a rank, and return when it has taken them. Raises RuntimeError for a tag beyond 65535."""
        peer = _peer(dest)
        _send(data, peer, self._tag(tag), f"DistributedContext.send(dest={peer})")

    def recv(self, size: int, source: int, tag: int = 0) -> bytes:
        """Receive `size` bytes from a rank. Raises RuntimeError as `send`, and when it sent more or fewer."""
        peer = _peer(source)
        return _receive(int(size), peer, self._tag(tag), f"DistributedContext.recv(source={peer})")

    def _tag(self, tag: int) -> int:
        if not 0 <= int(tag) < _PRIVATE_TAGS:
            raise fatal(
                f"Invalid tag {int(tag)}: tags of a context are 0 to {_PRIVATE_TAGS - 1}.", hint="tag=0"
            )
        return self._number * _PRIVATE_TAGS + int(tag)


@_requires_context
def distributed_context_duplicate() -> PrivateContext:
    """The sub-context with messages of its own. Every rank of it must call this, and as often, for the first goes with the first."""
    global _duplicates
    guard.collective(_context(), guard.Signature("distributed_context_duplicate"))
    _duplicates += 1
    return PrivateContext(_duplicates)


def _send(data: bytes, peer: int, tag: int, name: str) -> None:
    group, body = _context(), np.frombuffer(bytes(data), np.uint8)
    with events.Block("send", "send_bytes", None, (group.ranks[peer],), body.nbytes) as block:
        guard.message(name, f"{body.nbytes} bytes")
        header = np.zeros(_ENVELOPE, np.uint8)
        text = json.dumps([body.nbytes, events.call_site()[-_ENVELOPE // 2 :]]).encode()
        header[: len(text)] = np.frombuffer(text, np.uint8)
        told = headed(header, np.array([body.nbytes]))
        parts = [told, body] if body.nbytes else [told]
        for sent in [guard.isend(group, part, peer, _BYTES_TAG + tag, name) for part in parts]:
            guard.wait(sent)
        block.facts.update(bytes=body.nbytes, messages=1, detail=f"to rank {group.ranks[peer]}")


def _receive(size: int, peer: int, tag: int, name: str) -> bytes:
    group = _context()
    with events.Block("recv", "recv_bytes", None, (group.ranks[peer],), size) as block:
        guard.message(name, f"{size} bytes")
        header = headed(np.empty(_ENVELOPE, np.uint8))
        guard.wait(guard.irecv(group, header, peer, _BYTES_TAG + tag, name))
        sent, site = json.loads(header.tobytes().rstrip(b"\0"))
        body = np.empty(sent, np.uint8)
        if sent:
            guard.wait(guard.irecv(group, body, peer, _BYTES_TAG + tag, name))
        if sent != size:
            raise fatal(
                f"rank {group.ranks[peer]} sent {sent} bytes at {site}, rank {world().rank} receives {size} bytes "
                f"at {events.call_site()}: both must name the same size",
                "received bytes == size",
                hint=f"ttnn.distributed_context_recv_bytes({sent}, {peer}), or send {size} bytes",
            )
        block.facts.update(bytes=body.nbytes, messages=1, detail=f"from rank {group.ranks[peer]}")
    return body.tobytes()


@_requires_context
def distributed_context_subcontext_count() -> int:
    """How many sub-contexts the job has."""
    return len(_sizes())


@_requires_context
def distributed_context_subcontext_id() -> int | None:
    """The sub-context of this rank, None in a job that has none."""
    text = os.environ.get(contract.SUBCONTEXT_ID, "").strip()
    return int(text) if text else None


@_requires_context
def distributed_context_subcontext_size(subcontext_id: int) -> Size:
    """How many ranks a sub-context has. Raises RuntimeError for an unknown one."""
    sizes = _sizes()
    if not 0 <= int(subcontext_id) < len(sizes):
        raise fatal(
            f"Invalid subcontext id {int(subcontext_id)}: there are {len(sizes)} subcontexts.",
            hint=f"the subcontexts are 0 to {len(sizes) - 1}",
        )
    return Size(sizes[int(subcontext_id)])


@_requires_context
def distributed_context_subcontext_sizes() -> list[int]:
    """How many ranks each sub-context has."""
    return list(_sizes())


@_requires_context
def distributed_context_local_to_world_rank(subcontext_id: int, local_rank: int) -> Rank:
    """The rank in the job of a rank of a sub-context. Raises RuntimeError for one that does not exist."""
    size = int(distributed_context_subcontext_size(subcontext_id))
    if not 0 <= int(local_rank) < size:
        raise fatal(
            f"Invalid local rank {int(local_rank)}: subcontext {int(subcontext_id)} has {size} ranks.",
            hint=f"its ranks are 0 to {size - 1}",
        )
    return Rank(sum(_sizes()[: int(subcontext_id)]) + int(local_rank))


def _sizes() -> tuple[int, ...]:
    text = os.environ.get(contract.SUBCONTEXT_SIZES, "").strip()
    return tuple(int(word) for word in text.split(",")) if text else (world().size,)


def _context() -> Group:
    """The ranks of this rank's sub-context; without sub-contexts, all."""
    text = os.environ.get(contract.SUBCONTEXT_ID, "").strip()
    if not text:
        return world().everyone
    sizes, number = _sizes(), int(text)
    first = sum(sizes[:number])
    return world().group(range(first, first + sizes[number]))


def _peer(rank: int) -> int:
    number = int(rank)
    if not 0 <= number < _context().size:
        raise fatal(
            f"Invalid rank {number}: the context has {_context().size} ranks.",
            hint=f"its ranks are 0 to {_context().size - 1}",
        )
    if number == _context().rank:
        raise fatal(
            f"Rank {number} cannot exchange bytes with itself.",
            hint="name another rank; a rank alone has nobody to send to",
        )
    return number
