"""Steps between worker cores on a chip's networks, as the reference counts them on chips that have lost no row inside of their grid."""

from __future__ import annotations

import pytest

from tt_run.runtime.cores import CoreCoord
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.mesh.opening import open_mesh_device
from tt_run.runtime.tools.network_hops import get_worker_noc_hop_distance as hops
from tt_run.runtime.tuning.choices import NOC

CORES = [
    ((0, 0), (0, 1), 1, 11),
    ((3, 0), (4, 0), 2, 8),  # a column without workers lies between
    ((7, 0), (0, 0), 2, 8),
    ((0, 4), (0, 5), 2, 10),  # as does a row
    ((1, 2), (3, 1), 13, 9),
    ((1, 1), (1, 1), 0, 0),
]


@pytest.mark.parametrize("source, target, forth, back", CORES)
def test_steps_on_wormhole(source: tuple[int, int], target: tuple[int, int], forth: int, back: int) -> None:
    mesh = open_mesh_device(MeshShape(1, 1))
    cores = CoreCoord(*source), CoreCoord(*target)
    assert [hops(mesh, *cores, network) for network in (NOC.NOC_0, NOC.NOC_1)] == [forth, back]
    mesh.close()


def test_of_several_devices_one_is_named() -> None:
    mesh = open_mesh_device(MeshShape(1, 2))
    cores = CoreCoord(0, 0), CoreCoord(1, 0)
    assert hops(mesh, MeshCoordinate(0, 1), *cores, NOC.NOC_0) == 1
    with pytest.raises(RuntimeError, match="only supported on unit MeshDevice") as refused:
        hops(mesh, *cores, NOC.NOC_0)
    assert "ttnn.MeshCoordinate(0, 0)" in str(refused.value)
    with pytest.raises(RuntimeError, match=r"not found in mesh MeshShape\(\[1, 2\]\)"):
        hops(mesh, MeshCoordinate(0, 2), *cores, NOC.NOC_0)
    with pytest.raises(RuntimeError, match="No core coordinate found at location"):
        hops(mesh, MeshCoordinate(0, 0), CoreCoord(99, 0), CoreCoord(0, 0), NOC.NOC_0)
    mesh.close()
