"""Questions about devices and cores: what is answered, and which are refused."""

from __future__ import annotations

from contextlib import nullcontext
from operator import eq, ne

import pytest

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.mesh import MeshCoordinate, MeshDevice
from tt_run.runtime.mesh.device_queries import apply_device_delay, get_num_devices, pcie_device_id
from tt_run.runtime.mesh.geometry.ranges import MeshCoordinateRange


def test_coordinates_are_equal_or_not() -> None:
    a, same, other = MeshCoordinate(0, 1), MeshCoordinate(0, 1), MeshCoordinate(1, 0)
    for operator, equal, unequal in ((eq, True, False), (ne, False, True)):
        assert (operator(a, same), operator(a, other)) == (equal, unequal)
        with pytest.raises(TypeError):
            operator(a, (0, 1))


def test_ranges_are_equal_where_both_ends_are() -> None:
    a, b, c = MeshCoordinate(0, 0), MeshCoordinate(0, 1), MeshCoordinate(1, 1)
    assert MeshCoordinateRange(a, c) == MeshCoordinateRange(a, c)
    assert MeshCoordinateRange(a, c) != MeshCoordinateRange(a, b)
    assert MeshCoordinateRange(a, c) != MeshCoordinateRange(b, c)
    assert MeshCoordinateRange(a, c) != (a, c)


@pytest.mark.parametrize(
    ("delays", "taken"),
    [
        ([[0] * 4] * 2, True),
        ([[0] * 4], False),
        ([[0] * 4] * 3, False),
        ([[0] * 4, [0] * 3], False),
        ([[0] * 2] * 4, False),
    ],
)
def test_a_delay_for_each_device(mesh: MeshDevice, delays: list[list[int]], taken: bool) -> None:
    if taken:
        apply_device_delay(mesh, delays)
    else:
        with pytest.raises(RuntimeError, match="delays must have the shape of the mesh, 2 rows of 4"):
            apply_device_delay(mesh, delays)


def test_devices_beyond_those_on_pcie_are_reached_through_them(mesh: MeshDevice) -> None:
    """A T3000 has four cards of two chips: the second of each is reached through the first."""
    assert [pcie_device_id(device) for device in range(get_num_devices())] == [0, 1, 2, 3, 0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="Device 8 not found"):
        pcie_device_id(8)


@pytest.mark.parametrize(
    ("corner", "in_dram", "words"),
    [
        (None, False, ""),
        (None, True, ""),
        ((7, 9), False, ""),
        ((8, 0), False, "core .* has no L1 bank"),
        ((0, 10), False, "core .* has no L1 bank"),
        ((11, 0), True, ""),
        ((12, 0), True, "core .* has no DRAM bank"),
        ((0, 1), True, "is not on row 0"),
    ],
)
def test_cores_have_banks(
    mesh: MeshDevice, corner: tuple[int, int] | None, in_dram: bool, words: str
) -> None:
    ranges = {CoreRange(CoreCoord(0, 0), CoreCoord(*corner))} if corner else set()
    with pytest.raises(RuntimeError, match=words) if words else nullcontext():
        mesh.check_cores(CoreRangeSet(ranges), in_dram)


def test_each_dram_bank_has_a_worker(mesh: MeshDevice) -> None:
    cores = mesh.get_optimal_dram_bank_to_logical_worker_assignment(0)
    assert [(core.x, core.y) for core in cores] == [(x, y) for x in (0, 4) for y in range(6)]
    by_bank = mesh.get_optimal_dram_bank_to_logical_worker_assignment(0, MeshCoordinate(0, 0))
    assert by_bank == dict(enumerate(cores))


def test_a_core_lies_on_the_grid(mesh: MeshDevice) -> None:
    grid = mesh.compute_with_storage_grid_size()
    mesh.worker_core_from_logical_core(CoreCoord(grid.x - 1, grid.y - 1))
    for x, y in ((grid.x, 0), (0, grid.y)):
        with pytest.raises(RuntimeError):
            mesh.worker_core_from_logical_core(CoreCoord(x, y))


def test_each_bank_of_dram_has_a_worker_of_its_own(mesh: MeshDevice) -> None:
    """In two columns of the grid: the first half of the banks on the left."""
    workers = [(core.x, core.y) for core in mesh.dram_bank_workers()]
    half = len(workers) // 2
    assert len(set(workers)) == len(workers)
    assert {x for x, _ in workers[:half]} == {0} and len({x for x, _ in workers[half:]}) == 1
    assert [y for _, y in workers[:half]] == [y for _, y in workers[half:]] == list(range(half))
