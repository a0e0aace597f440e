"""Semaphores of the experimental collectives: accepted and left alone, but for the memory that they take.

They order kernels on hardware; here every collective is complete when it returns. Source: reference library 0.81.1.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.queues import check_queue
from tt_run.runtime.tensor.spec.memory_config import CoreRangeSet

_addresses = itertools.count(0x10000, 16)
_watchers: list[Callable[[GlobalSemaphore], None]] = []


@native("ttnn._ttnn.global_semaphore.global_semaphore")
class GlobalSemaphore(metaclass=Native):
    """A counter on cores of every device of a mesh."""

    _bound_name = "ttnn._ttnn.global_semaphore.global_semaphore"

    def __init__(self, device: MeshDevice, cores: CoreRangeSet, value: int) -> None:
        self.device, self.cores, self.value = device, cores, int(value)
        self.address = next(_addresses)


def create_global_semaphore(
    mesh_device: MeshDevice, cores: CoreRangeSet, initial_value: int, buffer_type: Any = None
) -> GlobalSemaphore:
    """A semaphore for the experimental collectives."""
    mesh_device.require_open("create_global_semaphore")
    check_queue(mesh_device)
    made = GlobalSemaphore(mesh_device, cores, initial_value)
    for watcher in _watchers:
        watcher(made)
    return made


def watch(watcher: Callable[[GlobalSemaphore], None]) -> Callable[[], None]:
    """Tell `watcher` of each semaphore that is made; returns a function that ends it."""
    _watchers.append(watcher)
    return lambda: _watchers.remove(watcher)


def reset_global_semaphore_value(global_semaphore: GlobalSemaphore, reset_value: int) -> None:
    """Set the counter of a semaphore."""
    global_semaphore.value = int(reset_value)


def get_global_semaphore_address(global_semaphore: GlobalSemaphore) -> int:
    """Where the counter lies in a core's memory; a number of its own per semaphore."""
    return global_semaphore.address


class GlobalSemaphoreArg:
    """One semaphore, or a list of them, as an argument of experimental collectives, which count on none."""

    def __init__(self, arg: GlobalSemaphore | Sequence[GlobalSemaphore]) -> None:
        self.semaphores = [arg] if isinstance(arg, GlobalSemaphore) else list(arg)
