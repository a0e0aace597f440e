"""Questions about devices and cores: what is answered, and which are refused."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from operator import eq, ne

import pytest

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.mesh import (
    MeshCoordinate,
    MeshDevice,
    MeshShape,
    device_queries,
    opening,
    system,
    transfer_rules,
)
from tt_run.runtime.mesh.device_queries import apply_device_delay, get_num_devices, pcie_device_id
from tt_run.runtime.mesh.geometry.ranges import MeshCoordinateRange
from tt_run.runtime.mesh.hardware import ClusterType, DispatchCoreAxis, get_cluster_type
from tt_run.runtime.mesh.machine import machine_of
from tt_run.runtime.mesh.opening import open_mesh_device
from tt_run.runtime.mesh.system import SystemMeshDescriptor


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
    for unknown in (8, -1):
        with pytest.raises(RuntimeError, match=f"(?s)the ids are 0 to 7.*Device {unknown} not found"):
            pcie_device_id(unknown)


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
    for x, y in ((0, 0), (1, 2), (grid.x - 1, grid.y - 1)):
        place = mesh.worker_core_from_logical_core(CoreCoord(x, y))
        assert (place.x, place.y) == (18 + x, 18 + y)
        assert mesh.logical_core_from_worker_core(place) == CoreCoord(x, y)
    for x, y in ((grid.x, 0), (0, grid.y)):
        with pytest.raises(RuntimeError, match=rf"location: \({x}, {y}, TENSIX, LOGICAL\)"):
            mesh.worker_core_from_logical_core(CoreCoord(x, y))
    for x, y in ((17, 18), (26, 18), (18, 17), (18, 18 + grid.y)):
        with pytest.raises(RuntimeError, match=rf"location: \({x}, {y}, TENSIX, TRANSLATED\)"):
            mesh.logical_core_from_worker_core(CoreCoord(x, y))


def test_a_bank_of_dram_lies_where_its_number_says(mesh: MeshDevice) -> None:
    for bank in (0, 11):
        assert mesh.dram_core_from_logical_core(CoreCoord(bank, 0)) == CoreCoord(bank, 0)
    for x, y in ((12, 0), (0, 1)):
        with pytest.raises(RuntimeError, match="outside of logical_grid_size=12-1"):
            mesh.dram_core_from_logical_core(CoreCoord(x, y))


def test_each_bank_of_dram_has_a_worker_of_its_own(mesh: MeshDevice) -> None:
    """In two columns of the grid: the first half of the banks on the left."""
    workers = [(core.x, core.y) for core in mesh.dram_bank_workers()]
    half = len(workers) // 2
    assert len(set(workers)) == len(workers)
    assert {x for x, _ in workers[:half]} == {0} and len({x for x, _ in workers[half:]}) == 1
    assert [y for _, y in workers[:half]] == [y for _, y in workers[half:]] == list(range(half))


def test_the_kind_of_chip(mesh: MeshDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    for device in (mesh, None):
        assert device_queries.is_wormhole_b0(device) and not device_queries.is_blackhole(device)
    assert device_queries.dispatch_core_axis(mesh) is DispatchCoreAxis.ROW
    assert (device_queries.dram_alignment(), device_queries.l1_alignment()) == (32, 16)
    assert get_cluster_type() is ClusterType.T3K
    other = replace(system.system_mesh(), machine=machine_of("BLACKHOLE", (2, 4), "P150_X8"))
    for module in (system, opening, device_queries):
        monkeypatch.setattr(module, "system_mesh", lambda: other)
    assert device_queries.is_blackhole() and not device_queries.is_wormhole_b0()
    assert (device_queries.dram_alignment(), device_queries.l1_alignment()) == (64, 16)
    assert device_queries.is_wormhole_b0(mesh)  # its own chips count
    assert get_cluster_type() is ClusterType.P150_X8


def test_what_is_fixed_about_a_machine(mesh: MeshDevice) -> None:
    assert device_queries.physical_mesh_shapes() == {0: (2, 4)}
    assert device_queries.fabric_payload_bytes() == 4352
    assert device_queries.latest_programs_perf_data() == {}
    assert device_queries.dram_bank_workers(mesh, 0) == mesh.dram_bank_workers()


def test_what_is_accepted_needs_an_open_mesh() -> None:
    mesh = open_mesh_device(MeshShape(1, 2))
    calls = (
        device_queries.read_device_profiler,
        device_queries.begin_fast_dispatch,
        device_queries.end_fast_dispatch,
        device_queries.enable_asynchronous_slow_dispatch,
        device_queries.disable_asynchronous_slow_dispatch,
        MeshDevice.quiesce_devices,
    )
    for call in calls:
        call(mesh)
    with device_queries.setup_fast_dispatch(mesh):
        assert mesh.is_open
    assert not device_queries.is_asynchronous_slow_dispatch_enabled(mesh)
    device_queries.enable_asynchronous_slow_dispatch(mesh)
    assert device_queries.is_asynchronous_slow_dispatch_enabled(mesh)
    device_queries.disable_asynchronous_slow_dispatch(mesh)
    assert not device_queries.is_asynchronous_slow_dispatch_enabled(mesh)
    mesh.close()
    for call in calls:
        with pytest.raises(RuntimeError, match="is closed"):
            call(mesh)
    with pytest.raises(RuntimeError, match="is closed"), device_queries.setup_fast_dispatch(mesh):
        pass


def test_the_system_mesh_as_programs_ask_for_it() -> None:
    found = SystemMeshDescriptor()
    assert (found.shape(), found.local_shape(), found.all_local()) == (MeshShape(2, 4), MeshShape(2, 4), True)
    assert found.is_local(MeshCoordinate(1, 3)) and found.get_device_id(MeshCoordinate(1, 3)) == 7
    for outside in (MeshCoordinate(2, 0), MeshCoordinate(0, 4), MeshCoordinate([0]), MeshCoordinate(0, 0, 0)):
        with pytest.raises(RuntimeError, match=r"out of bounds for shape MeshShape\(\[2, 4\]\)"):
            found.is_local(outside)


def test_rules_on_transfers_hold_until_they_are_taken_back(mesh: MeshDevice) -> None:
    seen: list[tuple[MeshDevice, str]] = []
    end = transfer_rules.add_rule(lambda device, way: seen.append((device, way)))
    transfer_rules.check(mesh, "read")
    end()
    transfer_rules.check(mesh, "write")
    assert seen == [(mesh, "read")]
