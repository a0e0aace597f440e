"""How far two worker cores of a chip are from each other on its networks: rings of columns and rows, each network in one direction.

Emulated chips have lost no row or column inside of their grid to harvesting. Source: reference library 0.81.1 on its mock clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.errors import fatal
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate, coordinate_hint
from tt_run.runtime.mesh.hardware import Arch
from tt_run.runtime.native.arguments import public
from tt_run.runtime.tuning.choices import NOC


@dataclass(frozen=True)
class _Network:
    """Where workers stand among all the tiles of a chip."""

    columns: tuple[int, ...]
    rows: tuple[int, ...]
    width: int
    height: int


_NETWORKS = {
    Arch.WORMHOLE_B0: _Network((*range(1, 5), *range(6, 10)), (*range(1, 6), *range(7, 12)), 10, 12),
    Arch.BLACKHOLE: _Network((*range(1, 8), *range(10, 17)), tuple(range(2, 12)), 17, 12),
}


@overload
def get_worker_noc_hop_distance(
    mesh_device: MeshDevice, logical_src: CoreCoord, logical_dst: CoreCoord, noc: NOC, /
) -> int: ...


@overload
def get_worker_noc_hop_distance(
    mesh_device: MeshDevice,
    mesh_coord: MeshCoordinate,
    logical_src: CoreCoord,
    logical_dst: CoreCoord,
    noc: NOC,
    /,
) -> int: ...


def get_worker_noc_hop_distance(mesh_device: MeshDevice, *given: object, **named: object) -> int:
    """The steps from one core to another on a network; a mesh of several devices is asked with the coordinate of one.

    NOC_0 goes to higher columns and rows, NOC_1 to lower ones, around the edge where it must.
    """
    of_one = "mesh_coord" in named or bool(given and isinstance(given[0], MeshCoordinate))
    return (_on_device if of_one else _on_unit)(mesh_device, *given, **named)  # type: ignore[arg-type]


@public
def _on_unit(mesh_device: MeshDevice, logical_src: CoreCoord, logical_dst: CoreCoord, noc: NOC) -> int:
    if mesh_device.get_num_devices() != 1:
        raise fatal(
            "Experimental NOC geometry APIs are only supported on unit MeshDevice.",
            "mesh->num_devices() == 1",
            hint="name the device: get_worker_noc_hop_distance(mesh_device, ttnn.MeshCoordinate(0, 0), core, core, noc)",
        )
    return _steps(mesh_device, logical_src, logical_dst, noc)


@public
def _on_device(
    mesh_device: MeshDevice,
    mesh_coord: MeshCoordinate,
    logical_src: CoreCoord,
    logical_dst: CoreCoord,
    noc: NOC,
) -> int:
    shape = mesh_device.shape
    if not all(0 <= place < extent for place, extent in zip(mesh_coord, shape, strict=True)):
        raise fatal(
            f"Coordinate {mesh_coord} not found in mesh {shape}",
            "contains(coord)",
            hint=coordinate_hint(shape),
        )
    return _steps(mesh_device, logical_src, logical_dst, noc)


def _steps(mesh: MeshDevice, source: CoreCoord, target: CoreCoord, noc: NOC) -> int:
    for core in (source, target):
        mesh.worker_core_from_logical_core(core)  # which refuses a core outside of the grid
    network = _NETWORKS[mesh.arch()]
    if noc is NOC.NOC_1:
        source, target = target, source
    across = network.columns[target.x] - network.columns[source.x]
    down = network.rows[target.y] - network.rows[source.y]
    return across % network.width + down % network.height
