"""Worker cores of each machine under each dispatch setting, as reference library 0.81.1 answers on its mock clusters."""

from __future__ import annotations

from typing import Any

import pytest

from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.mesh.hardware import DispatchCoreAxis, DispatchCoreType
from tt_run.runtime.mesh.machine import Machine, machine_of
from tt_run.runtime.mesh.opening import open_mesh_device
from tt_run.runtime.mesh.workers import DispatchCoreConfig, dispatch_of, worker_grid

MACHINES = {
    "n150": machine_of("WORMHOLE_B0", (1, 1), "N150"),
    "t3000": machine_of("WORMHOLE_B0", (2, 4)),
    "galaxy": machine_of("WORMHOLE_B0", (8, 4), "GALAXY"),
    "p150-x4": machine_of("BLACKHOLE", (2, 2), "P150_X4"),
    "bh-galaxy": machine_of("BLACKHOLE", (8, 4), "BLACKHOLE_GALAXY"),
}
WORKER, ETH = DispatchCoreType.WORKER, DispatchCoreType.ETH
ROW, COL = DispatchCoreAxis.ROW, DispatchCoreAxis.COL


@pytest.mark.parametrize(
    ("machine", "kind", "axis", "grid"),
    [
        ("n150", None, None, (8, 8)),
        ("t3000", None, None, (8, 8)),
        ("t3000", None, COL, (7, 8)),
        ("t3000", WORKER, None, (8, 7)),
        ("t3000", ETH, ROW, (8, 8)),
        ("galaxy", None, None, (8, 9)),
        ("galaxy", None, COL, (7, 10)),
        ("galaxy", ETH, None, (8, 10)),
        ("p150-x4", None, None, (13, 10)),
        ("p150-x4", WORKER, COL, (13, 10)),
        ("p150-x4", ETH, None, (14, 10)),
        ("bh-galaxy", None, None, (12, 10)),
        ("bh-galaxy", ETH, None, (13, 10)),
        ("n150", ETH, None, (8, 9)),
        ("n150", WORKER, COL, (7, 9)),
    ],
)
def test_dispatch_takes_worker_cores(
    machine: str, kind: DispatchCoreType | None, axis: DispatchCoreAxis | None, grid: tuple[int, int]
) -> None:
    found = worker_grid(MACHINES[machine], DispatchCoreConfig(kind, axis))
    assert (found.x, found.y) == grid
    if kind is axis is None:
        assert str(worker_grid(MACHINES[machine])) == str(found)


def test_rows_of_a_blackhole_do_not_dispatch() -> None:
    machine: Machine = MACHINES["p150-x4"]
    with pytest.raises(RuntimeError, match="ROW dispatch core axis is not supported for blackhole"):
        worker_grid(machine, DispatchCoreConfig(axis=ROW))


def test_a_mesh_and_its_parts_have_the_cores_that_are_left() -> None:
    mesh = open_mesh_device(MeshShape(1, 2), dispatch_core_config=DispatchCoreConfig(WORKER))
    part = mesh.create_submesh(MeshShape(1, 1))
    assert [str(m.compute_with_storage_grid_size()) for m in (mesh, part)] == ["8-7", "8-7"]
    config = DispatchCoreConfig()
    assert (config.type, config.axis) == (ETH, ROW) and DispatchCoreConfig(axis=COL).type is WORKER


@pytest.mark.parametrize(
    ("machine", "kind", "axis", "found"),
    [
        ("t3000", None, None, (ETH, ROW)),
        ("t3000", None, COL, (WORKER, COL)),
        ("t3000", WORKER, None, (WORKER, ROW)),
        ("n150", None, None, (WORKER, ROW)),
        ("galaxy", ETH, None, (ETH, ROW)),
        ("p150-x4", None, None, (WORKER, COL)),
        ("p150-x4", ETH, None, (ETH, COL)),
    ],
)
def test_which_cores_dispatch(machine: str, kind: Any, axis: Any, found: Any) -> None:
    assert dispatch_of(MACHINES[machine], DispatchCoreConfig(kind, axis)) == found


@pytest.mark.parametrize("wrong", [{"type": COL}, {"axis": ETH}, {"type": 1}])
def test_other_words_for_dispatching_cores(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"create_dispatch_core_config\(\): incompatible"):
        DispatchCoreConfig(**wrong)
    with pytest.raises(RuntimeError, match="COL axis is not supported for ETH dispatch core type"):
        DispatchCoreConfig(ETH, COL)
