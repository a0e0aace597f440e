"""Command queues, and the events that order them. Source: reference library 0.81.1.

Work is done when it is issued, in the order of the program, so every queue is empty at any time: waiting returns at once. What has
not arrived yet are tensors from sockets; `synchronize_device` and `event_synchronize` wait for those.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tt_run.runtime.arguments import public
from tt_run.runtime.errors import fatal, incompatible
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.ranges import MeshCoordinateRange

_numbers: weakref.WeakKeyDictionary[MeshDevice, dict[int, Iterator[int]]] = weakref.WeakKeyDictionary()
_pending: list[Callable[[MeshDevice], None]] = []


@dataclass(frozen=True)
class MeshEvent:
    """A point in a command queue of a mesh device."""

    id: int
    device_id: int
    mesh_cq_id: int
    device_range: MeshCoordinateRange
    _device: MeshDevice = field(repr=False, compare=False)


def queue_number(device: MeshDevice, cq_id: Any) -> int:
    """The number of a queue (None: the first). Raises RuntimeError for one that the device was not opened with."""
    number = 0 if cq_id is None else int(cq_id)
    if not 0 <= number < device.queues:
        raise fatal(f"cq_id {number} is out of range", "cq_id < mesh_command_queues_.size()")
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
    return MeshEvent(next(numbers), mesh_device.id(), queue, covered, mesh_device)


def wait_for_event(cq_id: Any, mesh_event: MeshEvent) -> None:
    """Let a queue wait for an event. Raises TypeError for anything but an event, RuntimeError for a queue that does not exist."""
    queue_number(_checked(mesh_event, "wait_for_event")._device, cq_id)


def event_synchronize(mesh_event: MeshEvent) -> None:
    """Wait until everything before the event is done."""
    finish(_checked(mesh_event, "event_synchronize")._device)


@public
def synchronize_device(
    mesh_device: MeshDevice, cq_id: Any = None, sub_device_ids: Sequence[Any] = ()
) -> None:
    """Wait until everything that was issued to a queue (None: to all) is done."""
    mesh_device.require_open("synchronize_device")
    if cq_id is not None:
        queue_number(mesh_device, cq_id)
    finish(mesh_device)


@contextmanager
def command_queue(cq_id: int) -> Iterator[None]:
    """Issue the operations of the block to a queue; the order stays that of the program."""
    if not 0 <= int(cq_id) <= 1:
        raise fatal(f"cq_id {int(cq_id)} is out of range", "cq_id < mesh_command_queues_.size()")
    yield


def finish(device: MeshDevice) -> None:
    """Wait for what is under way on a device."""
    for wait in tuple(_pending):
        wait(device)


def on_finish(wait: Callable[[MeshDevice], None]) -> None:
    """Have `wait(device)` called whenever a program waits for a device."""
    _pending.append(wait)


def _checked(event: MeshEvent, name: str) -> MeshEvent:
    if not isinstance(event, MeshEvent):
        raise incompatible(name, (f"{name}(…, mesh_event: ttnn.MeshEvent) -> None",), (event,))
    return event
