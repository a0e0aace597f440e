"""What programs ask about chips and clusters; answers follow the emulated machine (reference library 0.81.1)."""

from __future__ import annotations

from tt_run.runtime.cores import CoreCoord, CoreGrid
from tt_run.runtime.enums import FabricTensixConfig, NamedEnum
from tt_run.runtime.errors import incompatible, throw
from tt_run.runtime.native.classes import Native, native


@native("ttnn._ttnn.device.Arch")
class Arch(NamedEnum):
    """Chip architectures."""

    WORMHOLE_B0 = 2
    BLACKHOLE = 3
    QUASAR = 4


@native("ttnn._ttnn.cluster.ClusterType")
class ClusterType(NamedEnum):
    """Kinds of machines."""

    INVALID = 0
    N150 = 1
    N300 = 2
    T3K = 3
    GALAXY = 4
    TG = 5
    P100 = 6
    P150 = 7
    P150_X2 = 8
    P150_X4 = 9
    P150_X8 = 13
    SIMULATOR_WORMHOLE_B0 = 10
    SIMULATOR_BLACKHOLE = 11
    N300_2x2 = 12
    P300 = 14
    SIMULATOR_QUASAR = 15
    BLACKHOLE_GALAXY = 16
    P300_X2 = 17
    CUSTOM = 18


@native("ttnn._ttnn.device.DispatchCoreType")
class DispatchCoreType(NamedEnum):
    """Which cores of a chip dispatch its commands."""

    WORKER = 0
    ETH = 1


@native("ttnn._ttnn.device.DispatchCoreAxis")
class DispatchCoreAxis(NamedEnum):
    """Along which axis of the grid the dispatching cores lie."""

    ROW = 0
    COL = 1


_DISPATCH = (
    "create_dispatch_core_config(*, type: ttnn._ttnn.device.DispatchCoreType | None = None, "
    "axis: ttnn._ttnn.device.DispatchCoreAxis | None = None, "
    "fabric_tensix_config: ttnn._ttnn.fabric.FabricTensixConfig | None = None) -> ttnn._ttnn.device.DispatchCoreConfig",
)


@native("ttnn.device.DispatchCoreConfig")
class DispatchCoreConfig(metaclass=Native):
    """Which cores dispatch; meshes accept it. It costs cores and time on chips and changes no result, so nothing here depends on it.

    Where nothing is said they are as on Wormhole cards: Ethernet cores in rows, worker cores where columns are asked for.
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
            raise throw("COL axis is not supported for ETH dispatch core type")
        self._type = type or (DispatchCoreType.WORKER if columns else DispatchCoreType.ETH)
        self._axis = axis or DispatchCoreAxis.ROW

    @property
    def type(self) -> DispatchCoreType:
        """Which kind of core."""
        return self._type

    @property
    def axis(self) -> DispatchCoreAxis:
        """Along rows or columns."""
        return self._axis


def arch_of(name: str) -> Arch:
    """The architecture a descriptor names: WORMHOLE_B0, BLACKHOLE."""
    return Arch.__members__.get(name.upper(), Arch.WORMHOLE_B0)


def cluster_type_of(name: str) -> ClusterType:
    """The machine kind of a shipped system; CUSTOM for any other descriptor."""
    return ClusterType.__members__.get(name, ClusterType.CUSTOM)


def get_cluster_type() -> ClusterType:
    """The kind of machine this process sees."""
    from tt_run.runtime.mesh.system import system_mesh

    return cluster_type_of(system_mesh().machine.cluster_type)


def compute_grid(arch: Arch) -> CoreGrid:
    """The worker cores that programs may use: 8x8 on Wormhole, 13x10 on Blackhole."""
    return CoreGrid(x=8, y=8) if arch is Arch.WORMHOLE_B0 else CoreGrid(x=13, y=10)


def worker_places(arch: Arch) -> tuple[tuple[int, ...], int]:
    """Of the worker cores on the chip's network, translated: the number of each column, and that of the first row."""
    if arch is Arch.WORMHOLE_B0:
        return tuple(range(18, 26)), 18
    return (*range(1, 8), *range(10, 16)), 2


def dram_grid(arch: Arch) -> CoreCoord:
    """The DRAM channels: 12 on Wormhole, 8 on Blackhole."""
    return CoreCoord(12, 1) if arch is Arch.WORMHOLE_B0 else CoreCoord(8, 1)
