"""Functions around devices that few programs call."""

from __future__ import annotations

import faulthandler

import pytest

import tt_run.shims.ttnn as ttnn

NATIVE = ttnn._ttnn.device


def test_shapes_of_whole_tiles() -> None:
    assert NATIVE.pad_to_tile_shape([1, 1, 33, 65]) == [1, 1, 64, 96]


@pytest.mark.parametrize("shape", [[3, 5], [], [1, 1, -1, 5], 7])
def test_shapes_of_other_ranks_are_refused(shape: object) -> None:
    with pytest.raises(TypeError, match=r"pad_to_tile_shape\(unpadded_shape: "):
        NATIVE.pad_to_tile_shape(shape)


def test_no_default_device_after_clearing() -> None:
    device = ttnn.open_device(device_id=0)
    ttnn.SetDefaultDevice(device)
    NATIVE.ClearDefaultDevice()
    assert ttnn.GetDefaultDevice() is None
    ttnn.close_device(device)


def test_dispatching_cores_by_keywords_alone() -> None:
    kind = ttnn.device.DispatchCoreType.WORKER
    assert isinstance(NATIVE.create_dispatch_core_config(type=kind), ttnn.device.DispatchCoreConfig)
    with pytest.raises(TypeError):
        NATIVE.create_dispatch_core_config(kind)


def test_faults_of_memory_print_frames() -> None:
    before = faulthandler.is_enabled()
    faulthandler.disable()
    ttnn.dump_stack_trace_on_segfault()
    assert faulthandler.is_enabled()
    if not before:
        faulthandler.disable()


def test_the_table_of_the_system_mesh() -> None:
    table = ttnn.distributed.create_system_mesh_table()
    assert table.title == "SystemMesh Global Shape: (2, 4) | Local Shape: (2, 4)"
    assert (table.row_count, len(table.columns)) == (2, 4)


def test_no_chip_reports_its_programs() -> None:
    assert ttnn.device.IsProgramRealtimeProfilerActive() is False


def test_cores_of_one_device_on_its_network(mesh: ttnn.MeshDevice) -> None:
    where = ttnn._ttnn.multi_device.experimental.worker_core_from_logical_core
    core = ttnn.CoreCoord(1, 2)
    assert where(mesh, ttnn.MeshCoordinate(1, 3), core) == mesh.worker_core_from_logical_core(core)
    with pytest.raises(
        RuntimeError, match=r"MeshCoordinate\(\[0, 5\]\) not found in mesh MeshShape\(\[2, 4\]\)"
    ):
        where(mesh, ttnn.MeshCoordinate(0, 5), core)
