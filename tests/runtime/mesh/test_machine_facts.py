"""What is fixed about machines and how they are opened: numbers as reference library 0.81.1 has them."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tt_run.runtime.mesh import device_queries, opening
from tt_run.runtime.mesh.geometry.coordinate import coordinate_hint
from tt_run.runtime.mesh.hardware import Arch, ClusterType, dram_grid, worker_places
from tt_run.runtime.mesh.machine import machine_of


@pytest.mark.parametrize(
    ("dims", "kind", "chips"),
    [
        ((1, 2), "N300", (0, 1)),
        ((2, 1), "N300", (0, 1)),
        ((2, 2), "N300_2x2", (0, 2, 1, 3)),
        ((4, 1), "N300", (2, 0, 1, 3)),
        ((1, 8), "T3K", (4, 0, 2, 6, 7, 3, 1, 5)),
        ((2, 4), "T3K", (4, 0, 2, 6, 5, 1, 3, 7)),
    ],
)
def test_the_chips_of_n300_cards(dims: tuple[int, int], kind: str, chips: tuple[int, ...]) -> None:
    machine = machine_of("WORMHOLE_B0", dims)
    half = len(chips) // 2
    assert (machine.cluster_type, machine.chips) == (kind, chips)
    assert machine.pcie == tuple(range(half)) and machine.partners == {p: p + half for p in range(half)}
    near = machine.links()
    assert all(partner in near[chip] for chip, partner in machine.partners.items())


def test_the_numbers_of_kinds() -> None:
    wormhole = (
        "INVALID N150 N300 T3K GALAXY TG P100 P150 P150_X2 P150_X4 SIMULATOR_WORMHOLE_B0 SIMULATOR_BLACKHOLE"
    )
    later = "N300_2x2 P150_X8 P300 SIMULATOR_QUASAR BLACKHOLE_GALAXY P300_X2 CUSTOM"
    assert [kind.name for kind in sorted(ClusterType, key=int)] == f"{wormhole} {later}".split()
    assert sorted(map(int, ClusterType)) == list(range(19))


def test_where_worker_cores_and_dram_are() -> None:
    assert worker_places(Arch.WORMHOLE_B0) == ((18, 19, 20, 21, 22, 23, 24, 25), 18)
    assert worker_places(Arch.BLACKHOLE) == ((1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15), 2)
    channels = {arch: (dram_grid(arch).x, dram_grid(arch).y) for arch in (Arch.WORMHOLE_B0, Arch.BLACKHOLE)}
    assert channels == {Arch.WORMHOLE_B0: (12, 1), Arch.BLACKHOLE: (8, 1)}


def test_the_hint_for_a_place_outside_names_the_last_one() -> None:
    assert coordinate_hint((2, 4)) == "coordinates are ttnn.MeshCoordinate(0, 0) to ttnn.MeshCoordinate(1, 3)"


NOTHING_KEPT = {"l1_small_size": 0, "trace_region_size": 0, "num_command_queues": 1}
FUNCTIONS: list[tuple[Any, dict[str, object]]] = [
    (opening.open_mesh_device, {**NOTHING_KEPT, "worker_l1_size": 0}),
    (opening.create_mesh_device, NOTHING_KEPT),
    (opening.open_device, {**NOTHING_KEPT, "worker_l1_size": 0}),
    (opening.create_device, {**NOTHING_KEPT, "worker_l1_size": 0}),
    (opening.create_devices, {**NOTHING_KEPT, "worker_l1_size": 0}),
    (device_queries.setup_fast_dispatch, {"allow_destructive": False}),
    (device_queries.begin_fast_dispatch, {"allow_destructive": False}),
]


@pytest.mark.parametrize(("function", "defaults"), FUNCTIONS, ids=[f.__name__ for f, _ in FUNCTIONS])
def test_what_an_argument_left_out_means(function: Any, defaults: dict[str, object]) -> None:
    parameters = inspect.signature(function).parameters
    found = {name: each.default for name, each in parameters.items() if type(each.default) in (int, bool)}
    assert found == defaults
