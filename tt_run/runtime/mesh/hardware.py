"""What programs ask about chips and clusters; answers follow the emulated machine (reference library 0.81.1)."""

from __future__ import annotations

from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.enums import NamedEnum
from tt_run.runtime.native.classes import native


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


def worker_places(arch: Arch) -> tuple[tuple[int, ...], int]:
    """Of the worker cores on the chip's network, translated: the number of each column, and that of the first row."""
    if arch is Arch.WORMHOLE_B0:
        return tuple(range(18, 26)), 18
    return (*range(1, 8), *range(10, 16)), 2


def dram_grid(arch: Arch) -> CoreCoord:
    """The DRAM channels: 12 on Wormhole, 8 on Blackhole."""
    return CoreCoord(12, 1) if arch is Arch.WORMHOLE_B0 else CoreCoord(8, 1)
