"""Transfers of a service that were handed over and not taken yet, and the words that go with each."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tt_run.runtime.comm.deadlines import Patience
from tt_run.runtime.comm.world import seconds_to_wait
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.sockets.streams import LOOK, others_may_send
from tt_run.runtime.tensor.creation.allocation import allocate_tensor_on_device
from tt_run.runtime.tensor.spec.tensor_spec import TensorSpec
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards

WORD = 4
"""Bytes of a word of metadata."""


@dataclass(frozen=True)
class Transfer:
    """What is carried at once: shards of this rank's devices (None: metadata alone), and rows of metadata words (None: without)."""

    shards: Shards | None
    metadata: Shards | None = None


Delivery = Callable[[], Transfer]
"""A transfer that was asked for: waits for it."""


class Transfers:
    """A queue of transfers. `missing` makes the error of a wait that nobody in this process can end."""

    def __init__(self, missing: Callable[[], RuntimeError]) -> None:
        self._missing = missing
        self.reached = False
        """Whether another process may hand transfers over."""
        self._waiting: deque[Transfer] = deque()
        self._arrived = threading.Condition()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, transfer: Transfer) -> None:
        """Add a transfer behind the others."""
        with self._arrived:
            self._waiting.append(transfer)
            self._arrived.notify_all()

    def take(self) -> Transfer:
        """The next transfer. Waits while another thread of the program may hand one over, within the guard's deadline."""
        with self._arrived:
            patience = Patience()
            while not self._waiting:
                patience.look()
                if not (self.reached or others_may_send()) or patience.over(seconds_to_wait()):
                    raise self._missing()
                self._arrived.wait(LOOK)
            return self._waiting.popleft()


def words_of(metadata: bytes, device: MeshDevice) -> Shards:
    """The words of metadata on each device of this rank."""
    row = np.frombuffer(metadata, "<u4").astype(np.uint32).reshape(1, 1, 1, -1)
    return Shards.replicated(row, len(device.local_positions))


def bytes_of(words: Shards) -> bytes:
    """The metadata of a transfer, which must be the same on all devices. Raises RuntimeError when they differ."""
    rows = [row for row in words.each() if row is not None]
    for number, row in enumerate(rows):
        if not np.array_equal(row, rows[0]):
            raise fatal(
                f"the metadata of device {number} is {row.ravel().tolist()}, that of device 0 {rows[0].ravel().tolist()}",
                "metadata is the same on all devices",
                hint="mesh_mapper=ttnn.replicate_tensor_to_mesh_mapper(mesh_device) where the metadata are made",
            )
    return rows[0].astype("<u4").tobytes() if rows else b""


def words_tensor(device: MeshDevice, size: int) -> Tensor:
    """A tensor for `size` bytes of metadata on every device: [1, 1, 1, size / 4] of uint32 in rows."""
    return allocate_tensor_on_device(
        TensorSpec((1, 1, 1, size // WORD), DataType.UINT32, Layout.ROW_MAJOR), device
    )
