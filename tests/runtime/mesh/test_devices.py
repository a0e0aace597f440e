"""Opening, cutting, reshaping and closing meshes on one rank."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_run.runtime.ccl.exchange import fabric
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import FabricConfig
from tt_run.runtime.mesh import MeshCoordinate, MeshDevice, MeshShape, close_mesh_device, opening
from tt_run.runtime.mesh.device_queries import apply_device_delay
from tt_run.runtime.mesh.geometry.arrange import places_in, snake, tile
from tt_run.runtime.mesh.hardware import DispatchCoreAxis, DispatchCoreType
from tt_run.runtime.mesh.opening import open_device, open_mesh_device
from tt_run.runtime.mesh.view import SubDevice, SubDeviceId
from tt_run.runtime.mesh.workers import DispatchCoreConfig


@pytest.fixture
def mesh() -> Iterator[MeshDevice]:
    device = open_mesh_device(MeshShape(2, 4))
    yield device
    device.close()


ROW_MAJOR = [4, 0, 2, 6, 5, 1, 3, 7]
SNAKE = [4, 0, 2, 6, 7, 3, 1, 5]
TURNED = [4, 5, 0, 1, 2, 3, 6, 7]


@pytest.mark.parametrize(
    ("shape", "offset", "ids"),
    [
        ((2, 4), None, ROW_MAJOR),
        ((1, 8), None, SNAKE),
        ((8, 1), None, SNAKE),
        ((4, 2), None, TURNED),
        ((3, 2), None, TURNED[:6]),
        ((1, 4), (1, 0), [5, 4, 0, 2]),
        ((1, 4), (0, 3), [6, 7, 3, 1]),
        ((1, 2), (1, 2), [3, 1]),
        ((2, 2), (0, 2), [2, 6, 3, 7]),
        ((1, 1), (1, 3), [7]),
        ((2, 1), None, [4, 0]),
        ((3, 1), None, [4, 0, 2]),
    ],
)
def test_how_a_mesh_lies_on_the_system(
    shape: tuple[int, int], offset: tuple[int, int] | None, ids: list[int]
) -> None:
    device = open_mesh_device(MeshShape(shape), offset=MeshCoordinate(offset) if offset else None)
    assert device.get_device_ids() == ids
    assert str(device) == f"MeshDevice({shape[0]}x{shape[1]} grid, {prod(shape)} devices)"
    device.close()


@pytest.mark.parametrize(
    ("shape", "offset", "text"),
    [
        (
            MeshShape(4, 4),
            None,
            "Requested mesh shape MeshShape([4, 4]) requires 16 devices, but only 8 devices are available",
        ),
        (
            MeshShape(2, 2, 2),
            None,
            "Requested mesh shape dimensions mismatch: MeshShape([2, 2, 2]) != MeshShape([2, 4])",
        ),
        (MeshShape([8]), None, "MeshDeviceViewImpl is not 2D!"),
        (MeshShape(0, 4), None, "Requested mesh shape MeshShape([0, 4]) has zero devices (mesh_size=0)."),
        (
            MeshShape(2, 4),
            MeshCoordinate(0, 1),
            "Requested mesh is too big and is not rotatable: MeshShape([2, 4])",
        ),
        (
            MeshShape(1, 1),
            MeshCoordinate(2, 0),
            "The specified offset MeshCoordinate([2, 0]) is out of bounds",
        ),
        (
            MeshShape(1, 2),
            MeshCoordinate(0, 4),
            "The specified offset MeshCoordinate([0, 4]) is out of bounds",
        ),
        (
            MeshShape(2, 2),
            MeshCoordinate(0, 4),
            "Requested mesh is too big and is not rotatable: MeshShape([2, 2])",
        ),
        (
            MeshShape(2, 2),
            MeshCoordinate([1]),
            "Provided offset dimensions mismatch: MeshCoordinate([1]) != 2",
        ),
    ],
)
def test_what_does_not_fit_is_an_error(shape: MeshShape, offset: MeshCoordinate | None, text: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        open_mesh_device(shape, offset=offset)
    assert str(caught.value).split("info:\n")[1].startswith(text)


def test_queues_shapes_and_chosen_devices_are_checked() -> None:
    with pytest.raises(RuntimeError, match="command queues"):
        open_mesh_device(MeshShape(1, 1), num_command_queues=3)
    with pytest.raises(RuntimeError, match="must be 1 or 2, got 0"):
        open_mesh_device(MeshShape(1, 1), num_command_queues=0)
    assert open_mesh_device(MeshShape(1, 1), num_command_queues=2).queues == 2
    with pytest.raises(TypeError, match=r"open_mesh_device\(\): incompatible"):
        open_mesh_device((2, 4))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"open_mesh_device\(\): incompatible"):
        open_mesh_device(MeshShape(1, 1), offset=(0, 1))  # type: ignore[arg-type]
    chosen = open_mesh_device(MeshShape(1, 2), physical_device_ids=[3, 7])
    assert chosen.get_device_ids() == [3, 7]
    for ids, text in (
        ([9, 1], "Chip to board mapping for chip 9 not found"),
        ([1], "mesh_size: 2, values size: 1"),
        ([1, 1], "twice"),
    ):
        with pytest.raises(RuntimeError, match=text):
            open_mesh_device(MeshShape(1, 2), physical_device_ids=ids)


@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6), st.integers(1, 6))
def test_a_layout_takes_different_devices_that_are_linked(rows: int, columns: int, r: int, c: int) -> None:
    try:
        places = places_in(MeshShape(rows, columns), MeshShape(r, c), None)
    except RuntimeError:
        assert (r > rows or c > columns) and (r > columns or c > rows)
        assert r * c > rows * columns or 1 not in (r, c)
        return
    assert len(set(places)) == r * c
    for index, (row, column) in enumerate(places):
        assert 0 <= row < rows and 0 <= column < columns
        if (index + 1) % c:
            right = places[index + 1]
            assert abs(right[0] - row) + abs(right[1] - column) == 1


@given(st.integers(1, 6), st.integers(1, 6))
def test_a_snake_visits_everything_step_by_step(rows: int, columns: int) -> None:
    places = snake(MeshShape(rows, columns))
    assert len(set(places)) == rows * columns
    assert all(abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1 for a, b in pairwise(places))
    assert places[0] == (0, 0)
    if sorted((rows, columns))[0] == 2:
        assert sum(places[-1]) == 1, "the ends of a ring are neighbours"


def test_reshaping_and_back(mesh: MeshDevice) -> None:
    around_turned = [4, 5, 1, 3, 7, 6, 2, 0]
    steps = [
        ((1, 8), SNAKE),
        ((8, 1), SNAKE),
        ((4, 2), TURNED),
        ((1, 8), around_turned),
        ((2, 4), ROW_MAJOR),
    ]
    for shape, ids in steps:
        mesh.reshape(MeshShape(shape))
        assert (mesh.shape, mesh.get_device_ids()) == (MeshShape(shape), ids)
        assert len(mesh.coords) == 8 and mesh.coords[-1] == MeshCoordinate(shape[0] - 1, shape[1] - 1)
    with pytest.raises(RuntimeError, match="New shape must have the same number of devices as current shape"):
        mesh.reshape(MeshShape(1, 4))
    assert mesh.get_device_ids() == ROW_MAJOR


def test_reshaping_keeps_neighbours_linked() -> None:
    crooked = open_mesh_device(MeshShape(1, 6))
    with pytest.raises(RuntimeError, match=r"reshape of the MeshDevice to shape: MeshShape\(\[2, 3\]\), but"):
        crooked.reshape(MeshShape(2, 3))
    crooked.reshape(MeshShape(6, 1))
    assert crooked.get_device_ids() == SNAKE[:6]


def test_submeshes(mesh: MeshDevice) -> None:
    halves = mesh.create_submeshes(MeshShape(2, 2))
    assert [h.get_device_ids() for h in halves] == [[4, 0, 5, 1], [2, 6, 3, 7]]
    assert mesh.get_submeshes() == halves
    corner = halves[1].create_submesh(MeshShape(1, 1), MeshCoordinate(1, 1))
    assert corner.get_device_ids() == [7]
    assert (corner.parent, corner.root, corner.coords) == (halves[1], mesh, (MeshCoordinate(0, 0),))
    assert str(corner.get_fabric_node_id(MeshCoordinate(0, 0))) == "FabricNodeId(M0, D7)"
    assert mesh.create_submesh(MeshShape(2, 3)).get_device_ids() == [4, 0, 2, 5, 1, 3], (
        "submeshes may overlap"
    )
    ids = [mesh.id(), *(h.id() for h in halves), corner.id()]
    assert len(set(ids)) == 4 and ids == sorted(ids)
    mesh.close()
    assert not corner.is_open


@pytest.mark.parametrize(
    ("shape", "offset", "text"),
    [
        (MeshShape(1, 2), MeshCoordinate(1, 3), "Submesh shape MeshShape([1, 2]) and offset MeshCoordinate([1, 3]) does not fit within parent mesh (MeshShape([2, 4]))."),
        (MeshShape(3, 1), None, "Submesh shape MeshShape([3, 1]) and offset std::nullopt does not fit within parent mesh (MeshShape([2, 4]))."),
        (MeshShape(0, 2), None, "Invalid submesh shape: (MeshShape([0, 2])). All dimensions must be positive."),
        (MeshShape(1, 2), MeshCoordinate([1]), "Submesh shape MeshShape([1, 2]) and offset MeshCoordinate([1]) must have the same number of dimensions."),
        (MeshShape(2, 1), MeshCoordinate(1, 0), "Submesh shape MeshShape([2, 1]) and offset MeshCoordinate([1, 0]) does not fit within parent mesh (MeshShape([2, 4]))."),
    ],
)  # fmt: skip
def test_submeshes_that_do_not_fit(
    mesh: MeshDevice, shape: MeshShape, offset: MeshCoordinate | None, text: str
) -> None:
    with pytest.raises(RuntimeError) as caught:
        mesh.create_submesh(shape, offset)
    assert str(caught.value).split("info:\n")[1] == text


def test_submeshes_must_divide_the_mesh(mesh: MeshDevice) -> None:
    with pytest.raises(
        RuntimeError,
        match=r"Shape MeshShape\(\[2, 4\]\) is not divisible by submesh shape MeshShape\(\[2, 3\]\) along dimension 1",
    ):
        mesh.create_submeshes(MeshShape(2, 3))
    with pytest.raises(RuntimeError, match="same number of dimensions"):
        mesh.create_submesh(MeshShape([2]))
    with pytest.raises(RuntimeError, match="same number of dimensions"):
        tile(MeshShape(2, 4), MeshShape([2]))
    with pytest.raises(RuntimeError, match="All dimensions must be positive"):
        tile(MeshShape(2, 4), MeshShape(1, 0))
    with pytest.raises(RuntimeError, match="along dimension 1 write one of 1, 2, 4"):
        mesh.create_submeshes(MeshShape(1, 3))


def test_groups_along_the_axes(mesh: MeshDevice) -> None:
    assert mesh.axis_groups(0) == mesh.axis_groups(-2) == ((0, 4), (1, 5), (2, 6), (3, 7))
    assert mesh.axis_groups(1) == mesh.axis_groups(-1) == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert mesh.axis_groups(None) == (tuple(range(8)),)
    with pytest.raises(RuntimeError, match=r"2 not in \[-4, 2\)"):
        mesh.axis_groups(2)


def test_what_a_mesh_answers(mesh: MeshDevice) -> None:
    view = mesh.get_view()
    assert (view.shape(), view.num_devices(), view.is_local(MeshCoordinate(1, 3))) == (
        MeshShape(2, 4),
        8,
        True,
    )
    assert mesh.get_num_devices() == 8 and mesh.get_system_mesh_id() == 0
    assert (mesh.get_device_id(MeshCoordinate(0, 0)), mesh.owner_rank(3), mesh.group.ranks) == (4, 0, (0,))
    assert str(mesh.arch()) == "Arch.WORMHOLE_B0"
    assert str(mesh.dram_grid_size()) == "12-1" and str(mesh.core_grid) == "ttnn.CoreGrid(x=8, y=8)"
    assert mesh.sfpu_inf() > 1e38 and mesh.sfpu_nan() != mesh.sfpu_nan() and 0 < mesh.sfpu_eps() < 1e-6
    with pytest.raises(
        RuntimeError, match=r"Device ID requested for MeshCoord MeshCoordinate\(\[2, 0\]\) not found"
    ):
        mesh.get_device_id(MeshCoordinate(2, 0))
    with pytest.raises(
        RuntimeError, match=r"Coordinate MeshCoordinate\(\[2, 0\]\) not found in mesh MeshShape\(\[2, 4\]\)"
    ):
        view.is_local(MeshCoordinate(2, 0))


WRONG_ARGUMENTS = {
    "arch": ((1,), "arch(self) -> ttnn._ttnn.device.Arch"),
    "dram_grid_size": ((1,), "dram_grid_size(self) -> ttnn._ttnn.tensor.CoreCoord"),
    "num_program_cache_entries": ((1,), "num_program_cache_entries(self) -> int"),
    "sfpu_nan": ((1,), "sfpu_nan(self) -> float"),
    "get_device_id": ((3,), "get_device_id(self, arg: ttnn._ttnn.multi_device.MeshCoordinate, /) -> int"),
    "get_fabric_node_id": (
        (1,),
        "get_fabric_node_id(self, coord: ttnn._ttnn.multi_device.MeshCoordinate) -> ttnn._ttnn.fabric.FabricNodeId",
    ),
    "logical_core_from_worker_core": (
        (1,),
        "logical_core_from_worker_core(self, virtual_core: ttnn._ttnn.tensor.CoreCoord) -> ttnn._ttnn.tensor.CoreCoord",
    ),
    "get_optimal_dram_bank_to_logical_worker_assignment": (
        (),
        "get_optimal_dram_bank_to_logical_worker_assignment(self, noc: ttnn._ttnn.types.NOC) -> list[ttnn._ttnn.tensor.CoreCoord]",
    ),
    "load_sub_device_manager": (
        ("a",),
        "load_sub_device_manager(self, sub_device_manager_id: ttnn._ttnn.device.SubDeviceManagerId) -> None",
    ),
    "set_sub_device_stall_group": (
        (1,),
        "set_sub_device_stall_group(self, sub_device_ids: collections.abc.Sequence[ttnn._ttnn.device.SubDeviceId]) -> None",
    ),
}


@pytest.mark.parametrize("name", WRONG_ARGUMENTS)
def test_wrong_arguments_list_the_methods_signatures(mesh: MeshDevice, name: str) -> None:
    arguments, signature = WRONG_ARGUMENTS[name]
    with pytest.raises(TypeError) as refused:
        getattr(mesh, name)(*arguments)
    said = str(refused.value)
    assert said.startswith(f"{name}(): incompatible function arguments.") and f". {signature}\n" in said
    assert "Invoked with types: ttnn._ttnn.multi_device.MeshDevice" in said


def test_closing_is_idempotent_and_leaves_the_layout(mesh: MeshDevice) -> None:
    close_mesh_device(mesh)
    close_mesh_device(mesh)
    assert (str(mesh), mesh.get_device_ids(), mesh.shape) == (
        "MeshDevice(2x4 grid, 8 devices)",
        ROW_MAJOR,
        MeshShape(2, 4),
    )
    with pytest.raises(RuntimeError, match="is closed"):
        mesh.create_submesh(MeshShape(1, 1))


def test_several_meshes_over_the_same_devices(mesh: MeshDevice) -> None:
    other = open_mesh_device()
    assert other.get_device_ids() == mesh.get_device_ids()
    assert other.id() != mesh.id()


def test_single_devices() -> None:
    device = open_device(3)
    assert (device.shape, device.get_device_ids()) == (MeshShape(1, 1), [3])
    assert opening.create_device(2).get_device_ids() == [2]
    several = opening.create_devices([1, 5])
    assert {number: d.get_device_ids() for number, d in several.items()} == {1: [1], 5: [5]}
    opening.close_devices(several)
    assert not any(d.is_open for d in several.values())
    with opening.manage_device(device_id=0) as managed:
        assert managed.is_open
    assert not managed.is_open
    with pytest.raises(RuntimeError, match="Chip to board mapping for chip 8 not found"):
        open_device(device_id=8)


def test_single_devices_use_up_a_number_for_the_mesh_over_them() -> None:
    before = open_mesh_device(MeshShape(1, 1))
    several = opening.create_devices([1, 5])
    alone = opening.create_device(2, 2, trace_region_size=64)
    assert [d.id() - before.id() for d in (*several.values(), alone)] == [2, 3, 5]
    assert (alone.queues, alone.regions.trace) == (2, 64)
    for device in (before, *several.values(), alone):
        device.close()


def test_an_open_mesh_keeps_its_fabric(mesh: MeshDevice) -> None:
    with pytest.raises(
        RuntimeError, match=r"SetFabricConfig\(FABRIC_1D\) is not allowed while devices are still open"
    ):
        fabric.set_fabric_config(FabricConfig.FABRIC_1D)
    fabric.set_fabric_config(FabricConfig.DISABLED)
    assert fabric.get_fabric_config() is FabricConfig.DISABLED


@pytest.mark.parametrize("number", [True, 1])
def test_the_number_of_a_fabric_stands_for_it(number: int) -> None:
    fabric.set_fabric_config(number)
    try:
        assert fabric.get_fabric_config() is FabricConfig.FABRIC_1D_NEIGHBOR_EXCHANGE
    finally:
        fabric.set_fabric_config(FabricConfig.DISABLED)


@pytest.mark.parametrize("wrong", [77, 2.0, "FABRIC_1D"])
def test_what_is_no_fabric_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        fabric.set_fabric_config(wrong)  # type: ignore[arg-type]


def test_a_block_closes_its_mesh() -> None:
    with opening.create_mesh_device(MeshShape(1, 2)) as device:
        assert device.is_open
    assert not device.is_open


def test_the_default_device(mesh: MeshDevice) -> None:
    assert opening.get_default_device() is None
    opening.set_default_device(mesh)
    assert opening.get_default_device() is mesh
    opening.set_default_device(None)


def test_counts_of_devices() -> None:
    assert (opening.get_num_devices(), opening.get_num_pcie_devices()) == (8, 4)
    assert (opening.get_device_ids(), opening.get_pcie_device_ids()) == (list(range(8)), list(range(4)))
    assert opening.get_arch_name() == "wormhole_b0"


def test_the_program_cache(mesh: MeshDevice) -> None:
    assert not mesh.program_cache.use("matmul")
    assert mesh.program_cache.use("matmul") and mesh.num_program_cache_entries() == 1
    mesh.set_program_cache_misses_allowed(False)
    with pytest.raises(RuntimeError, match="misses are not allowed"):
        mesh.program_cache.use("add")
    mesh.set_program_cache_misses_allowed(True)
    mesh.disable_and_clear_program_cache()
    assert not mesh.program_cache.use("add") and mesh.num_program_cache_entries() == 0
    mesh.enable_program_cache()
    mesh.program_cache.use("add")
    mesh.clear_program_cache()
    assert mesh.num_program_cache_entries() == 0


def test_delays_of_a_mesh_are_one_program(mesh: MeshDevice) -> None:
    rows, columns = mesh.shape
    for cycles in (0, 100):
        apply_device_delay(mesh, [[cycles] * columns for _ in range(rows)])
    assert mesh.num_program_cache_entries() == 1
    with pytest.raises(RuntimeError, match="shape of the mesh"):
        apply_device_delay(mesh, [[0] * (columns + 1)] * rows)


def test_sub_device_managers(mesh: MeshDevice) -> None:
    first, second = (mesh.create_sub_device_manager(["cores"]) for _ in range(2))
    mesh.load_sub_device_manager(first)
    with pytest.raises(RuntimeError, match="active"):
        mesh.remove_sub_device_manager(first)
    mesh.remove_sub_device_manager(second)
    with pytest.raises(RuntimeError, match="does not exist"):
        mesh.load_sub_device_manager(second)
    mesh.clear_loaded_sub_device_manager()
    mesh.remove_sub_device_manager(first)


def test_a_view_says_which_coordinates_are_here(mesh: MeshDevice) -> None:
    found = mesh.get_view().get_local_mesh_coord_range()
    assert (found.start, found.end) == (MeshCoordinate(0, 0), MeshCoordinate(1, 3))


def test_a_stall_group_and_cores_are_of_the_active_layout(mesh: MeshDevice) -> None:
    def cores(*corners: tuple[tuple[int, int], tuple[int, int]]) -> CoreRangeSet:
        return CoreRangeSet({CoreRange(CoreCoord(*a), CoreCoord(*b)) for a, b in corners})

    left, right = cores(((0, 0), (3, 7))), cores(((4, 0), (7, 7)))
    parts = mesh.sub_devices
    parts.stall([SubDeviceId(0)])
    with pytest.raises(RuntimeError, match="SubDevice index 1 out of bounds 1"):
        parts.stall([SubDeviceId(1)])
    assert (parts.part_with(right), parts.stall_group) == (0, (SubDeviceId(0),))
    layout = mesh.create_sub_device_manager([SubDevice([left]), SubDevice([right])], 0)
    mesh.load_sub_device_manager(layout)
    parts.stall([SubDeviceId(1), SubDeviceId(0)])
    assert parts.stall_group == (SubDeviceId(1), SubDeviceId(0))
    with pytest.raises(RuntimeError, match="SubDevice index 2 out of bounds 2") as refused:
        parts.stall([SubDeviceId(0), SubDeviceId(2)])
    assert "ttnn.SubDeviceId(0) to ttnn.SubDeviceId(1)" in str(refused.value)
    assert parts.part_with(cores(((0, 0), (1, 1)))) == 0
    assert parts.part_with(cores(((5, 0), (6, 1)))) == 1
    assert parts.part_with(cores(((3, 0), (4, 1)))) == 0, "no part has both"
    mesh.clear_loaded_sub_device_manager()
    assert (parts.loaded, parts.stall_group, parts.part_with(cores(((5, 0), (6, 1))))) == (None, (), 0)


def test_programs_may_say_which_cores_dispatch() -> None:
    config = DispatchCoreConfig(DispatchCoreType.WORKER, DispatchCoreAxis.COL)
    mesh = open_mesh_device(MeshShape(1, 2), dispatch_core_config=config)
    part = SubDevice([])
    assert {part: 1}[part] == 1 and part != SubDevice([])
    layout = mesh.create_sub_device_manager([part], 0)
    mesh.load_sub_device_manager(layout)
    mesh.set_sub_device_stall_group([SubDeviceId(id=0)])
    with pytest.raises(RuntimeError, match="Cannot remove active sub-device manager"):
        mesh.remove_sub_device_manager(layout)
    mesh.clear_loaded_sub_device_manager()
    mesh.remove_sub_device_manager(layout)
    with pytest.raises(RuntimeError, match="Sub device manager does not exist"):
        mesh.load_sub_device_manager(layout)


def test_a_closed_mesh_is_asked_nothing_more() -> None:
    mesh = open_mesh_device(MeshShape(1, 2))
    part = mesh.create_submesh(MeshShape(1, 1), MeshCoordinate(0, 1))
    assert MeshDevice.any_open() and mesh in MeshDevice.roots() and part not in MeshDevice.roots()
    told: list[MeshDevice] = []
    MeshDevice.closing.append(told.append)
    try:
        mesh.close()
        mesh.close()
    finally:
        MeshDevice.closing.remove(told.append)
    assert told == [part, mesh] and mesh not in MeshDevice.roots()
    for use in (
        lambda: mesh.reshape(MeshShape(2, 1)),
        lambda: mesh.create_submesh(MeshShape(1, 1)),
        lambda: part.require_open("read"),
    ):
        with pytest.raises(RuntimeError, match="is closed"):
            use()
    assert part.get_device_ids() == [0]  # its layout is still there


def test_what_is_no_coordinate_and_no_shape(mesh: MeshDevice) -> None:
    for ask in (mesh._index_of, lambda wrong: mesh.reshape(wrong)):
        with pytest.raises(TypeError, match=r"must be a MeshCoordinate|must be a MeshShape"):
            ask((2, 4))
    with pytest.raises(RuntimeError, match=r"Coordinate MeshCoordinate\(\[0, 4\]\) not found"):
        mesh.get_fabric_node_id(MeshCoordinate(0, 4))


def test_a_mesh_waits_for_all_of_its_parts_again(mesh: MeshDevice) -> None:
    layout = mesh.create_sub_device_manager([SubDevice([]), SubDevice([])])
    mesh.load_sub_device_manager(layout)
    mesh.set_sub_device_stall_group([SubDeviceId(1)])
    mesh.reset_sub_device_stall_group()
    assert mesh.sub_devices.stall_group == () and mesh.sub_devices.loaded == layout


@pytest.mark.parametrize(
    ("cores", "apart"),
    [
        ([((0, 0), (1, 1)), ((2, 0), (3, 1))], True),
        ([((0, 0), (1, 1)), ((1, 1), (2, 2))], False),
        ([((0, 0), (0, 0)), ((1, 0), (1, 0)), ((1, 0), (2, 0))], False),
    ],
)
def test_parts_of_a_device_have_no_core_in_common(mesh: MeshDevice, cores: list[Any], apart: bool) -> None:
    parts = [SubDevice([CoreRangeSet({CoreRange(CoreCoord(*a), CoreCoord(*b))})]) for a, b in cores]
    if apart:
        mesh.create_sub_device_manager(parts)
    else:
        with pytest.raises(RuntimeError, match="SubDevices specified for SubDeviceManager intersect"):
            mesh.create_sub_device_manager(parts)


def test_a_layout_is_a_list_of_parts(mesh: MeshDevice) -> None:
    with pytest.raises(RuntimeError, match="must not be empty"):
        mesh.sub_devices.create([])
    with pytest.raises(TypeError, match="sub_devices must be a list of SubDevice, not int"):
        mesh.sub_devices.create(3)
    with pytest.raises(TypeError, match="must be a SubDeviceManagerId, not int"):
        mesh.sub_devices.load(3)  # type: ignore[arg-type]


def test_a_closed_device_is_no_default() -> None:
    mesh = open_mesh_device(MeshShape(1, 1))
    part = mesh.create_submesh(MeshShape(1, 1))
    opening.set_default_device(mesh)
    part.close()
    assert opening.get_default_device() is mesh
    opening.set_default_device(mesh.create_submesh(MeshShape(1, 1)))
    mesh.close()
    assert opening.get_default_device() is None
