"""Command queues, and the events that order them. Source: reference library 0.81.1.

Work is done when it is issued, in the order of the program, so every queue is empty at any time: waiting returns at once. What has
not arrived yet are tensors from sockets; `synchronize_device` and `event_synchronize` wait for those. Who predicts what hardware would do
at the same time follows along (`follow`).
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from mgd.lean import dataclass, field
from tt_run.runtime.errors import fatal, incompatible
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.ranges import MeshCoordinateRange
from tt_run.runtime.mesh.opening import MAX_QUEUES
from tt_run.runtime.mesh.view import QueueId
from tt_run.runtime.native.arguments import also_named, public
from tt_run.runtime.native.classes import Native, native

_numbers: weakref.WeakKeyDictionary[MeshDevice, dict[int, Iterator[int]]] = weakref.WeakKeyDictionary()
_pending: list[Callable[[MeshDevice], None]] = []
_followers: list[Follower] = []


class _Issued(threading.local):
    """The queues that `with ttnn.command_queue(…)` has chosen in this thread, the innermost last."""

    def __init__(self) -> None:
        self.numbers: list[int] = []


_issued = _Issued()


@native("ttnn._ttnn.events.MeshEvent")
@dataclass(frozen=True)
class MeshEvent(metaclass=Native):
    """A point in a command queue of a mesh device."""

    id: int
    device_id: int
    mesh_cq_id: int
    device_range: MeshCoordinateRange
    _device: MeshDevice = field(repr=False, compare=False)


class Follower(Protocol):
    """Who is told, in the order of the program, what queues are asked to wait for and to copy."""

    def recorded(self, event: MeshEvent) -> None:
        """An event was recorded."""

    def waits(self, queue: int, event: MeshEvent) -> None:
        """A queue waits for an event."""

    def reached(self, event: MeshEvent) -> None:
        """The program waits for an event."""

    def finished(self, device: MeshDevice, queue: int | None) -> None:
        """The program waits for a queue of a device, None for all."""

    def copied(self, tensor: Any, to_host: bool, queue: int, blocking: bool) -> None:
        """A tensor of a device is copied from or to the host."""


def follow(follower: Follower) -> None:
    """Tell somebody from now on."""
    _followers.append(follower)


def copied(tensor: Any, to_host: bool, cq_id: Any, blocking: bool = True) -> None:
    """Tell that a device tensor was copied from the host, or to it."""
    for follower in _followers:
        follower.copied(tensor, to_host, issued_to() if cq_id is None else int(cq_id), blocking)


def issued_to() -> int:
    """The queue that operations are issued to now."""
    numbers = _issued.numbers
    return numbers[-1] if numbers else 0


def taken_queue(kwargs: dict[str, Any]) -> int:
    """The queue that a call names, taken out of its keywords. Raises RuntimeError for a number that no device has."""
    found = issued_to()
    for word in ("queue_id", "cq_id"):
        queue = kwargs.pop(word, None)
        if queue is None:
            continue
        found = int(queue)
        if not 0 <= found < MAX_QUEUES:
            raise fatal(
                f"cq_id {found} is out of range",
                hint="cq_id=0, or 1 on a mesh opened with num_command_queues=2",
            )
    return found


def current_queue() -> QueueId:
    """The queue that operations of this thread are issued to now: 0 outside of every `with ttnn.command_queue(…)`."""
    return QueueId(issued_to())


def push_queue(cq_id: Any) -> None:
    """Issue what this thread does next to a queue, until `pop_current_command_queue_id_for_thread`."""
    _issued.numbers.append(int(cq_id))


def pop_queue() -> None:
    """Take back the last `push_current_command_queue_id_for_thread` of this thread. Raises RuntimeError when there is none."""
    if not _issued.numbers:
        raise fatal(
            "Current command queue id stack is empty",
            "!cq_id_stack.empty()",
            hint="with ttnn.command_queue(0): …",
        )
    _issued.numbers.pop()


def check_queue(device: MeshDevice) -> None:
    """Raise RuntimeError when operations are issued to a queue that the device was not opened with."""
    if _issued.numbers:
        queue_number(device, None)


@contextmanager
def issuing(number: int) -> Iterator[None]:
    """Issue what the block does to a queue."""
    push_queue(number)
    try:
        yield
    finally:
        pop_queue()


def queue_number(device: MeshDevice, cq_id: Any) -> int:
    """The number of a queue (None: the first). Raises RuntimeError for one that the device was not opened with."""
    number = issued_to() if cq_id is None else int(cq_id)
    if not 0 <= number < device.queues:
        raise fatal(
            f"cq_id {number} is out of range",
            "cq_id < mesh_command_queues_.size()",
            hint="cq_id=0, or 1 on a mesh opened with num_command_queues=2",
        )
    return number


@public
def record_event(
    mesh_device: MeshDevice,
    cq_id: Any = None,
    sub_device_ids: Sequence[Any] = (),
    device_range: MeshCoordinateRange | None = None,
) -> MeshEvent:
    """Mark what was issued to a queue so far. Raises RuntimeError for a queue that does not exist and for a closed mesh."""
    mesh_device.require_open("record_event")
    queue = queue_number(mesh_device, cq_id)
    numbers = _numbers.setdefault(mesh_device, {}).setdefault(queue, itertools.count())
    covered = device_range or MeshCoordinateRange(mesh_device.shape)
    event = MeshEvent(next(numbers), mesh_device.id(), queue, covered, mesh_device)
    for follower in _followers:
        follower.recorded(event)
    return event


def wait_for_event(cq_id: Any = None, mesh_event: MeshEvent | None = None) -> None:
    """Let a queue (None: the current one) wait for an event. Raises TypeError for anything but an event, RuntimeError for a queue that does not exist."""
    event = _checked(mesh_event, "wait_for_event")
    queue = queue_number(event._device, cq_id)
    for follower in _followers:
        follower.waits(queue, event)


def event_synchronize(mesh_event: MeshEvent) -> None:
    """Wait until everything before the event is done."""
    finish(_checked(mesh_event, "event_synchronize")._device)
    for follower in _followers:
        follower.reached(mesh_event)


@public
@also_named(device="mesh_device")
def synchronize_device(
    mesh_device: MeshDevice, cq_id: Any = None, sub_device_ids: Sequence[Any] = ()
) -> None:
    """Wait until everything that was issued to a queue (None: to all) is done."""
    mesh_device.require_open("synchronize_device")
    queue = None if cq_id is None else queue_number(mesh_device, cq_id)
    finish(mesh_device)
    for follower in _followers:
        follower.finished(mesh_device, queue)


@contextmanager
def command_queue(cq_id: int) -> Iterator[None]:
    """Issue the operations of the block to a queue; the order stays that of the program.

    The choice is that of this thread. Raises RuntimeError in the block for a queue that the device was not opened with.
    """
    if not 0 <= int(cq_id) <= 1:
        raise fatal(
            f"cq_id {int(cq_id)} is out of range",
            "cq_id < mesh_command_queues_.size()",
            hint="cq_id=0, or 1 on a mesh opened with num_command_queues=2",
        )
    with issuing(int(cq_id)):
        yield


def finish(device: MeshDevice) -> None:
    """Wait for what is under way on a device."""
    for wait in tuple(_pending):
        wait(device)


def on_finish(wait: Callable[[MeshDevice], None]) -> None:
    """Have `wait(device)` called whenever a program waits for a device."""
    _pending.append(wait)


def _checked(event: MeshEvent | None, name: str) -> MeshEvent:
    if not isinstance(event, MeshEvent):
        raise incompatible(name, (f"{name}(…, mesh_event: ttnn.MeshEvent) -> None",), (event,))
    return event
