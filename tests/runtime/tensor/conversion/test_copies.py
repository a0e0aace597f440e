"""Copies between host and device into tensors that exist, and giving their buffers back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.tensor.made import ar, made, sharded
from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.ops.data_movement.conversions import to_memory_config
from tt_run.runtime.ops.data_movement.movement import unsqueeze
from tt_run.runtime.ops.data_movement.padding import copy_host_to_device_tensor_partial
from tt_run.runtime.tensor.conversion.copies import (
    copy_device_to_host_tensor,
    copy_host_to_device_tensor,
    deallocate,
    deallocate_buffers,
)
from tt_run.runtime.tensor.conversion.devices import from_device, moved_to, to_device, to_one_device
from tt_run.runtime.tensor.conversion.layouts import to_layout
from tt_run.runtime.tensor.creation.allocation import allocate_tensor_on_host
from tt_run.runtime.tensor.distribution.composers import ConcatMeshToTensor
from tt_run.runtime.tensor.distribution.per_device import (
    get_device_tensors,
)
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    NdShardSpec,
    ShardSpec,
)


def test_copy_host_to_device_checks_specs(mesh: MeshDevice) -> None:
    device = sharded(mesh)
    with pytest.raises(RuntimeError, match="Host tensor has different shape"):
        copy_host_to_device_tensor(made(ar(3)), device)
    with pytest.raises(RuntimeError, match="Host tensor has different dtype"):
        copy_host_to_device_tensor(made(ar(1).astype(np.int32)), device)
    with pytest.raises(
        RuntimeError, match=r"(?s)ttnn.ROW_MAJOR_LAYOUT.*Host tensor has different page config"
    ):
        copy_host_to_device_tensor(to_layout(made(ar(1)), Layout.TILE), device)
    with pytest.raises(RuntimeError, match="Destination tensor is not on device"):
        copy_host_to_device_tensor(made(ar(1)), made(ar(1)))
    with pytest.raises(RuntimeError, match="Source tensor is not on host"):
        copy_host_to_device_tensor(device, device)
    copy_host_to_device_tensor(made(ar(1) + 5), device)
    assert device.to_numpy(ConcatMeshToTensor(mesh, 0)).tolist() == [5] * 8


ROWS, COLUMNS = ShardOrientation.ROW_MAJOR, ShardOrientation.COL_MAJOR


def _matrix(
    kind: str, cores: tuple[int, int], piece: tuple[int, int], order: ShardOrientation = ROWS
) -> MemoryConfig:
    grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(cores[0] - 1, cores[1] - 1))])
    spec = ShardSpec(grid, piece, order)
    return MemoryConfig(TensorMemoryLayout[f"{kind}_SHARDED"], BufferType.L1, spec)


@pytest.mark.parametrize(
    ("memory", "written"),
    [
        (_matrix("HEIGHT", (2, 1), (32, 64)), [[0, 0], [1, 1]]),
        (_matrix("HEIGHT", (1, 2), (32, 64)), [[0, 0], [0, 0]]),
        (_matrix("WIDTH", (2, 1), (64, 32)), [[0, 1], [0, 1]]),
        (_matrix("BLOCK", (4, 1), (64, 32)), [[0, 1], [0, 1]]),
        (_matrix("BLOCK", (4, 2), (32, 32)), [[0, 1], [0, 0]]),
        (_matrix("BLOCK", (2, 2), (32, 32), COLUMNS), [[0, 0], [1, 0]]),
        (
            NdShardSpec([1, 32, 32], CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 0))])),
            [[0, 1], [0, 1]],
        ),
    ],
)
@pytest.mark.parametrize("layout", list(Layout)[:2])
def test_copy_to_some_cores(mesh: MeshDevice, memory: Any, written: list[list[int]], layout: Layout) -> None:
    ones, two = np.ones((1, 64, 64), np.float32), np.full((1, 64, 64), 2, np.float32)
    pieces_of_any_rank: Any = MemoryConfig  # of its forms the one that its fields do not have
    place = memory if isinstance(memory, MemoryConfig) else pieces_of_any_rank(BufferType.L1, memory)
    device = to_memory_config(to_layout(made(ones, device=mesh), layout), place)
    host = to_layout(made(two), layout)
    for cores in (
        [],
        [CoreRange(CoreCoord(3, 3), CoreCoord(3, 3))],
        [CoreRange(CoreCoord(1, 0), CoreCoord(1, 0))],
    ):
        before = ones if not cores or cores[0].start.y else two
        copy_host_to_device_tensor_partial(host, device, CoreRangeSet(cores))
        expected = np.kron(np.array(written), np.ones((32, 32))) * (before[0, 0, 0] - 1) + 1
        for part in get_device_tensors(device):
            assert np.array_equal(np.asarray(part.to_numpy())[0], expected)


def test_copy_to_some_cores_checks_specs(mesh: MeshDevice) -> None:
    some = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(0, 0))])
    whole = made(np.ones((1, 64, 64), np.float32), device=mesh)
    with pytest.raises(RuntimeError, match="sharded buffer"):
        copy_host_to_device_tensor_partial(made(np.ones((1, 64, 64), np.float32)), whole, some)
    device = to_memory_config(whole, _matrix("HEIGHT", (2, 1), (32, 64)))
    with pytest.raises(RuntimeError, match="Host tensor has different shape"):
        copy_host_to_device_tensor_partial(made(np.ones((1, 32, 64), np.float32)), device, some)
    with pytest.raises(RuntimeError, match="Source tensor is not on host"):
        copy_host_to_device_tensor_partial(device, device, some)


def test_copy_device_to_host(mesh: MeshDevice) -> None:
    device = sharded(mesh)
    host = allocate_tensor_on_host(device.spec, mesh)
    copy_device_to_host_tensor(device, host)
    assert [p.item() for p in get_device_tensors(host)] == list(range(8))
    with pytest.raises(RuntimeError, match="Source tensor is not on device"):
        copy_device_to_host_tensor(host, host)
    with pytest.raises(RuntimeError, match="Host tensor has different shape"):
        copy_device_to_host_tensor(device, made(ar(2)))
    single = made(np.zeros(1, np.float32))
    with pytest.raises(RuntimeError, match="Host tensor has one shard, device tensor has several"):
        copy_device_to_host_tensor(device, single)
    copy_device_to_host_tensor(made(np.ones(1, np.float32), device=mesh), single)
    assert single.item() == 1


def test_deallocate_function(mesh: MeshDevice) -> None:
    tensor = sharded(mesh)
    deallocate(tensor)
    assert not tensor.is_allocated()


def test_a_buffer_shared_with_a_result_outlives_the_first_tensor(mesh: MeshDevice) -> None:
    first = sharded(mesh)
    second, third = to_layout(first, first.layout), to_device(first, mesh)
    assert second is not first and second.buffer_address() == first.buffer_address()
    first.deallocate()
    assert second.to_numpy(ConcatMeshToTensor(mesh, 0)).tolist() == list(range(8))
    del first
    second.deallocate()
    assert third.is_allocated()
    del second
    third.deallocate()
    assert not third.is_allocated()


def test_a_tensor_goes_into_dram_unless_told_otherwise(mesh: MeshDevice) -> None:
    host = made(np.zeros((1, 1, 64, 32), np.float32), memory_config=L1_MEMORY_CONFIG)
    assert host.memory_config() == L1_MEMORY_CONFIG
    assert to_device(host, mesh).memory_config() == DRAM_MEMORY_CONFIG
    assert to_device(host, mesh, L1_MEMORY_CONFIG).memory_config() == L1_MEMORY_CONFIG
    assert moved_to(host, mesh).memory_config() == L1_MEMORY_CONFIG


def test_force_takes_a_shared_buffer_from_every_tensor(mesh: MeshDevice) -> None:
    first = sharded(mesh)
    second = to_layout(first, first.layout)
    deallocate(first)
    with pytest.raises(RuntimeError, match="given back by deallocate"):
        second.to_numpy(ConcatMeshToTensor(mesh, 0))


@pytest.mark.parametrize(
    ("which", "force", "left"),
    [
        # What is left of a tensor, its view, and a view of that: captured from reference library 0.81.1.
        (0, True, (False, True, True)),
        (1, True, (False, False, True)),
        (2, True, (False, True, False)),
        (0, False, (True, True, True)),
        (2, False, (True, True, True)),
    ],
)
def test_a_view_that_is_given_back_takes_the_first_tensor_along(
    mesh: MeshDevice, which: int, force: bool, left: tuple[bool, ...]
) -> None:
    first = sharded(mesh)
    second = unsqueeze(first, 0)
    tensors = (first, second, unsqueeze(second, 0))
    tensors[which].deallocate(force)
    assert tuple(tensor.is_allocated() for tensor in tensors) == left


def test_all_buffers_of_a_device(mesh: MeshDevice) -> None:
    first, second, host = sharded(mesh), sharded(mesh), made(ar(3))
    deallocate_buffers(mesh)
    assert [tensor.is_allocated() for tensor in (first, second, host)] == [False, False, True]


def test_a_copy_of_one_device_and_of_replicas_that_differ(mesh: MeshDevice, one: MeshDevice) -> None:
    single = made(np.zeros(3, np.float32))
    copy_device_to_host_tensor(made(ar(3) + 1, device=one), single)
    assert single.to_list() == [1, 2, 3]
    replicas = made(ar(3), device=mesh)
    copy_host_to_device_tensor(made(ar(3) + 7), get_device_tensors(replicas)[5])
    with pytest.raises(RuntimeError, match="Host tensor has one shard, device tensor has several"):
        copy_device_to_host_tensor(replicas, single)


def test_on_one_device_of_a_mesh(mesh: MeshDevice) -> None:
    tensor = to_one_device(made(ar(3), memory_config=L1_MEMORY_CONFIG), mesh, MeshCoordinate(1, 2))
    device = tensor.device()
    assert device is not None and device.get_device_ids() == [3] and device.shape == MeshShape(1, 1)
    assert tensor.memory_config() == L1_MEMORY_CONFIG and tensor.to_list() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="does not fit within parent mesh"):
        to_one_device(made(ar(3)), mesh, MeshCoordinate(2, 0))


def test_what_is_spread_stays_so_on_devices_and_back(mesh: MeshDevice, row: MeshDevice) -> None:
    spread = sharded(mesh, device=False)
    there = to_device(spread, mesh)
    assert there.tensor_topology() == spread.tensor_topology() and there.shards is spread.shards
    back = from_device(there)
    assert back.tensor_topology() == spread.tensor_topology() and from_device(back).storage is back.storage
    with pytest.raises(RuntimeError, match=r"distributed over mesh shape MeshShape\(\[2, 4\]\) does not fit"):
        to_device(spread, row)
    with pytest.raises(TypeError, match=r"incompatible|expected a MeshDevice"):
        to_device(spread, 3)  # type: ignore[arg-type]
    alone = to_device(made(ar(3)), mesh.create_submesh(MeshShape(1, 1)))
    assert alone.tensor_topology() == made(ar(3)).tensor_topology()
    everywhere = to_device(made(ar(3)), mesh).tensor_topology()
    assert everywhere.distribution_shape() == MeshShape([8]) and len(everywhere.mesh_coords()) == 8
