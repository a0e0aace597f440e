"""Which cores of a chip run programs: what harvesting leaves of its grid, without the row or column that dispatches commands.

Source: reference library 0.81.1 on its mock clusters; an N150's harvested row is a fact of the card.
"""

from __future__ import annotations

from tt_run.runtime.cores import CoreGrid
from tt_run.runtime.enums import FabricTensixConfig
from tt_run.runtime.errors import incompatible, throw
from tt_run.runtime.mesh.hardware import (
    Arch,
    ClusterType,
    DispatchCoreAxis,
    DispatchCoreType,
    arch_of,
    cluster_type_of,
)
from tt_run.runtime.mesh.machine import Machine
from tt_run.runtime.mesh.system import system_mesh
from tt_run.runtime.native.classes import Native, native

_HARVESTED = CoreGrid(x=8, y=8)  # of each chip of an N300 card
_LEFT = {
    ClusterType.N150: CoreGrid(x=8, y=9),
    ClusterType.GALAXY: CoreGrid(x=8, y=10),
    ClusterType.TG: CoreGrid(x=8, y=10),
    ClusterType.BLACKHOLE_GALAXY: CoreGrid(x=13, y=10),
}
_BLACKHOLE = CoreGrid(x=14, y=10)


_DISPATCH = (
    "create_dispatch_core_config(*, type: ttnn._ttnn.device.DispatchCoreType | None = None, "
    "axis: ttnn._ttnn.device.DispatchCoreAxis | None = None, "
    "fabric_tensix_config: ttnn._ttnn.fabric.FabricTensixConfig | None = None) -> ttnn._ttnn.device.DispatchCoreConfig",
)


@native("ttnn.device.DispatchCoreConfig")
class DispatchCoreConfig(metaclass=Native):
    """Which cores dispatch: a mesh that is opened with it has a row or column of worker cores less where those do.

    What is left out follows the machine: see `worker_grid`.
    """

    def __init__(
        self,
        type: DispatchCoreType | None = None,
        axis: DispatchCoreAxis | None = None,
        fabric_tensix_config: FabricTensixConfig | None = None,
    ) -> None:
        """Raises TypeError for other kinds of values, RuntimeError for columns of Ethernet cores."""
        for name, value, kind in (("type", type, DispatchCoreType), ("axis", axis, DispatchCoreAxis)):
            if value is not None and not isinstance(value, kind):
                raise incompatible("create_dispatch_core_config", _DISPATCH, kwargs={name: value})
        columns = axis is DispatchCoreAxis.COL
        if columns and type is DispatchCoreType.ETH:
            raise throw(
                "COL axis is not supported for ETH dispatch core type",
                hint="leave axis out, or name ttnn.DispatchCoreType.WORKER",
            )
        self.asked_type, self.asked_axis = type, axis

    @property
    def type(self) -> DispatchCoreType:
        """Which kind of core."""
        return self._on_this_machine()[0]

    @property
    def axis(self) -> DispatchCoreAxis:
        """Along rows or columns."""
        return self._on_this_machine()[1]

    def _on_this_machine(self) -> tuple[DispatchCoreType, DispatchCoreAxis]:
        """Asked when it is read: programs make their settings before they open, and so choose, the machine."""
        return dispatch_of(system_mesh().machine, self)


def dispatch_of(machine: Machine, asked: object) -> tuple[DispatchCoreType, DispatchCoreAxis]:
    """The cores that dispatch: cards of N300 chips have Ethernet cores for it, others give up worker cores, Blackhole in columns.

    Raises RuntimeError for rows of a Blackhole chip.
    """
    given = asked if isinstance(asked, DispatchCoreConfig) else DispatchCoreConfig()
    kind, axis = given.asked_type, given.asked_axis
    if arch_of(machine.arch) is Arch.BLACKHOLE:
        if axis is DispatchCoreAxis.ROW:
            raise throw(
                "ROW dispatch core axis is not supported for blackhole arch unless fabric tensix MUX is enabled",
                hint="leave axis out, or name ttnn.DispatchCoreAxis.COL",
            )
        return kind or DispatchCoreType.WORKER, DispatchCoreAxis.COL
    columns = axis is DispatchCoreAxis.COL
    workers = columns or cluster_type_of(machine.cluster_type) in _LEFT
    default = DispatchCoreType.WORKER if workers else DispatchCoreType.ETH
    return kind or default, axis or DispatchCoreAxis.ROW


def worker_grid(machine: Machine, asked: object = None) -> CoreGrid:
    """The cores that programs may use on each chip of a machine, opened with these dispatch settings."""
    kind, axis = dispatch_of(machine, asked)
    blackhole = arch_of(machine.arch) is Arch.BLACKHOLE
    left = _LEFT.get(cluster_type_of(machine.cluster_type), _BLACKHOLE if blackhole else _HARVESTED)
    if kind is DispatchCoreType.ETH:
        return left
    columns = axis is DispatchCoreAxis.COL
    return CoreGrid(x=left.x - columns, y=left.y - (not columns))
