"""Global circular buffers: what a program lays between cores that send and cores that receive. Products read the tensors themselves.

No kernel fills one here, so it says where it would lie and changes no value. Source: reference library 0.81.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet, core_of
from tt_run.runtime.enums import BufferType
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.native.arguments import public
from tt_run.runtime.native.classes import Native, native
from tt_run.runtime.queues import check_queue


@native("ttnn._ttnn.global_circular_buffer.global_circular_buffer")
class GlobalCircularBuffer(metaclass=Native):
    """A buffer of so many bytes on each core of its senders and receivers; made by `create_global_circular_buffer`."""

    def __init__(self, senders: CoreRangeSet, receivers: CoreRangeSet, size: int) -> None:
        self._senders, self._receivers, self._size = senders, receivers, size

    def sender_cores(self) -> CoreRangeSet:
        """The cores that write."""
        return self._senders

    def receiver_cores(self) -> CoreRangeSet:
        """The cores that read."""
        return self._receivers

    def sender_core_type(self) -> str:
        """`worker`: its senders are worker cores."""
        return "worker"

    def size(self) -> int:
        """Its bytes on each core."""
        return self._size


@public
def create_global_circular_buffer(
    mesh_device: MeshDevice,
    sender_receiver_core_mapping: Sequence[tuple[CoreCoord, CoreRangeSet]],
    size: int,
    buffer_type: BufferType = BufferType.L1,
) -> GlobalCircularBuffer:
    """A buffer of `size` bytes per core from each sender to its receivers.

    Raises RuntimeError without a sender, for a core that is named twice or that the device does not have, and for another memory
    than L1.
    """
    check_queue(mesh_device)
    if not sender_receiver_core_mapping:
        raise fatal(
            "At least one sender required",
            "num_sender_cores > 0",
            hint="[(ttnn.CoreCoord(0, 0), ttnn.CoreRangeSet(…)), …]",
        )
    sending = [core_of(sender) for sender, _ in sender_receiver_core_mapping]
    senders = CoreRangeSet([CoreRange(core, core) for core in sending])  # raises for one that comes twice
    receivers = CoreRangeSet()
    for _, cores in sender_receiver_core_mapping:
        receivers = receivers.merge(cores)
    if receivers.num_cores() != sum(cores.num_cores() for _, cores in sender_receiver_core_mapping):
        raise fatal(
            "Duplicate receiver cores found",
            "num_receiver_cores == receiver_cores_out.num_cores()",
            hint="every receiver core in one CoreRangeSet alone",
        )
    if senders.merge(receivers).num_cores() != senders.num_cores() + receivers.num_cores():
        raise fatal(
            "Duplicate cores found",
            "all_cores_out.num_cores() == num_sender_cores + num_receiver_cores",
            hint="senders that are no receivers",
        )
    if buffer_type not in (BufferType.L1, BufferType.L1_SMALL):
        raise fatal(
            "Global circular buffer can only be created for L1 buffer types",
            "buffer_type == BufferType::L1 or buffer_type == BufferType::L1_SMALL",
            hint="buffer_type=ttnn.BufferType.L1",
        )
    grid = mesh_device.compute_with_storage_grid_size()
    ends = [part.end for part in (*senders.ranges(), *receivers.ranges())]
    outside = next((end for end in ends if end.x >= grid.x or end.y >= grid.y), None)
    if outside is not None:
        raise fatal(
            f"Invalid shard grid: shard core ({outside.x}, {outside.y}) has no L1 bank on this device, which has "
            f"{grid.x * grid.y} of them.",
            "allocator.has_bank(bank_type, core) || is_claimed_service_core(core)",
            hint="take the cores from compute_with_storage_grid_size()",
        )
    return GlobalCircularBuffer(senders, receivers, size)
