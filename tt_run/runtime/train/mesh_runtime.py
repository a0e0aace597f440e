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
    def mesh_shape(self) -> tuple[int, ...]:
        """Devices along each axis."""
        return tuple(self.mesh_device.shape)

    @property
    def is_tp_enabled(self) -> bool:
        """Whether an axis cuts matrices."""
        return self.tp_axis is not None

    @property
    def is_dp_enabled(self) -> bool:
        """Whether an axis deals out batches."""
        return self.dp_axis is not None

    @property
    def is_cp_enabled(self) -> bool:
        """Whether an axis cuts positions."""
        return self.cp_axis is not None


_runtime: MeshRuntime | None = None


def get_runtime() -> MeshRuntime | None:
    """What the last plan was laid over, None before the first."""
    return _runtime


def set_runtime(runtime: MeshRuntime | None) -> None:
    """Say what the axes carry, or forget it."""
    global _runtime
    _runtime = runtime
