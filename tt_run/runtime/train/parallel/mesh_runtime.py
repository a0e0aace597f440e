"""What the axes of a mesh carry for `ttml.distributed`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tt_run.runtime.train.dispatch.plans import PlanCache


@dataclass
class MeshRuntime:
    """The devices of a plan and what their axes carry."""

    mesh_device: Any
    tp_axis: int | None = None
    dp_axis: int | None = None
    cp_axis: int | None = None
    plan_cache: PlanCache = field(default_factory=PlanCache)

    @property
    def mesh_shape(self) -> Any:
        """Devices along each axis, as the mesh says it."""
        return self.mesh_device.shape

    @property
    def num_devices(self) -> int:
        """All devices of the mesh."""
        return int(self.mesh_device.get_num_devices())

    @property
    def tp_size(self) -> int:
        """Devices that a matrix is cut over, 1 without such an axis."""
        return self._size(self.tp_axis)

    @property
    def dp_size(self) -> int:
        """Devices that a batch is dealt to, 1 without such an axis."""
        return self._size(self.dp_axis)

    @property
    def cp_size(self) -> int:
        """Devices that positions are cut over, 1 without such an axis."""
        return self._size(self.cp_axis)

    @property
    def is_tp_enabled(self) -> bool:
        """Whether an axis cuts matrices."""
        return self.tp_size > 1

    @property
    def is_dp_enabled(self) -> bool:
        """Whether an axis deals out batches."""
        return self.dp_size > 1

    @property
    def is_cp_enabled(self) -> bool:
        """Whether an axis cuts positions."""
        return self.cp_size > 1

    def _size(self, axis: int | None) -> int:
        return 1 if axis is None else int(self.mesh_shape[axis])


_runtime: MeshRuntime | None = None


def get_runtime() -> MeshRuntime | None:
    """What the last plan was laid over, None before the first."""
    return _runtime


def set_runtime(runtime: MeshRuntime | None) -> None:
    """Say what the axes carry, or forget it."""
    global _runtime
    _runtime = runtime
