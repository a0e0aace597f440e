"""The cores of each device in two parts, one that computes and one for collectives that a second command queue issues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tt_run.runtime.cores import CoreCoord, CoreGrid, CoreRange, CoreRangeSet
from tt_run.runtime.mesh.view import SubDevice

if TYPE_CHECKING:
    from tt_run.runtime.mesh.device import MeshDevice


@dataclass(frozen=True)
class CoreSplit:
    """What the cores of a mesh were before it was split; its `core_grid` is the part that computes from then on."""

    whole: CoreCoord

    @classmethod
    def of(cls, device: MeshDevice, columns: int, rows: int) -> CoreSplit:
        """Load two sub-devices: 0 computes, 1 is the rightmost columns or the bottom rows. Raises RuntimeError as `enable_ccl_sub_device` says."""
        if device.queues != 2:
            raise RuntimeError(
                f"AutoContext: the CCL sub-device needs the device opened with two command queues, it has {device.queues}; help: open_device(shape, num_command_queues=2)"
            )
        if (columns > 0) == (rows > 0):
            raise RuntimeError(
                f"AutoContext: the CCL sub-device is either the rightmost columns or the bottom rows, got {columns} columns and {rows} rows; help: enable_ccl_sub_device(1, 0)"
            )
        whole = device.compute_with_storage_grid_size()
        across, down = whole.x - columns, whole.y - rows
        if across < 1 or down < 1:
            raise RuntimeError(
                f"AutoContext: the CCL sub-device must leave compute cores: {columns} columns and {rows} rows of {whole.x}x{whole.y}; help: enable_ccl_sub_device(1, 0)"
            )
        start = CoreCoord(across, 0) if columns else CoreCoord(0, down)
        parts = (
            (CoreCoord(0, 0), CoreCoord(across - 1, down - 1)),
            (start, CoreCoord(whole.x - 1, whole.y - 1)),
        )
        sub_devices = [SubDevice([CoreRangeSet([CoreRange(*ends)])]) for ends in parts]
        device.load_sub_device_manager(device.create_sub_device_manager(sub_devices))
        device.workers = CoreGrid(y=down, x=across)
        return cls(whole)
