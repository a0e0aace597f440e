"""Shards as tensors of their own, and one tensor of several."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.tensor.made import ar, made, sharded
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import transfer_rules
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.tensor.borders.arrays import from_torch, to_torch
from tt_run.runtime.tensor.conversion.copies import (
    copy_host_to_device_tensor,
)
from tt_run.runtime.tensor.conversion.devices import to_device
from tt_run.runtime.tensor.conversion.shaping import reshape
from tt_run.runtime.tensor.distribution.composers import ConcatMeshToTensor
from tt_run.runtime.tensor.distribution.mappers import ShardTensorToMesh
from tt_run.runtime.tensor.distribution.per_device import (
    combine_device_tensors,
    from_host_shards,
    get_device_tensors,
)


def test_host_shards_are_host_tensors_of_their_own(mesh: MeshDevice) -> None:
    parts = get_device_tensors(sharded(mesh, device=False))
    assert [p.item() for p in parts] == list(range(8))
    assert all(p.device() is None and p.host_buffer().shape() == MeshShape(1, 1) for p in parts)
    whole = made(ar(2))
    assert get_device_tensors(whole) == [whole] or get_device_tensors(whole)[0] is whole


def test_device_shards_keep_mesh_and_topology(mesh: MeshDevice) -> None:
    tensor = sharded(mesh)
    parts = get_device_tensors(tensor)
    assert [p.item() for p in parts] == list(range(8))
    for part, coord in zip(parts, mesh.coords, strict=True):
        assert part.device() is mesh
        assert part.device_coords() == [coord]
        assert str(part.tensor_topology()) == str(tensor.tensor_topology())
    assert [
        len(t)
        for t in (get_device_tensors(made(ar(5), mesh_mapper=ShardTensorToMesh(mesh, 0), device=mesh)),)
    ] == [5]


def test_device_shards_share_the_buffer(mesh: MeshDevice) -> None:
    tensor = sharded(mesh)
    parts = get_device_tensors(tensor)
    copy_host_to_device_tensor(made(ar(8) + 10, mesh_mapper=ShardTensorToMesh(mesh, 0)), tensor)
    assert parts[3].item() == 13
    copy_host_to_device_tensor(made(np.array([99], np.float32)), parts[3])
    assert tensor.to_numpy(ConcatMeshToTensor(mesh, 0)).tolist() == [10, 11, 12, 99, 14, 15, 16, 17]
    for each in (tensor, parts[0]):
        each.deallocate()
    assert tensor.is_allocated() and parts[0].is_allocated()
    parts[0].deallocate(True)
    assert not tensor.is_allocated() and not parts[1].is_allocated()


def test_another_shape_of_a_device_shard_shares_the_buffer(mesh: MeshDevice) -> None:
    values = np.arange(32, dtype=np.float32).reshape(8, 4)
    tensor = made(values, mesh_mapper=ShardTensorToMesh(mesh, 0), device=mesh)
    seen = ops.reshape(get_device_tensors(tensor)[3], (1, 1, 4))
    assert seen.to_list() == [[[12, 13, 14, 15]]]
    copy_host_to_device_tensor(made(values + 100, mesh_mapper=ShardTensorToMesh(mesh, 0)), tensor)
    assert seen.to_list() == [[[112, 113, 114, 115]]]
    copy_host_to_device_tensor(made(np.zeros((1, 1, 4), np.float32)), seen)
    found = tensor.to_numpy(ConcatMeshToTensor(mesh, 0))
    assert found.tolist() == [*(values[:3] + 100).tolist(), [0] * 4, *(values[4:] + 100).tolist()]
    seen.deallocate(True)
    assert not tensor.is_allocated()


def test_a_tensor_goes_with_the_last_that_has_its_buffer(mesh: MeshDevice) -> None:
    tensor = sharded(mesh)
    parts = get_device_tensors(tensor)
    last = parts[3]
    del tensor, parts
    gc.collect()
    assert last.is_allocated()
    last.deallocate()
    assert not last.is_allocated()


def test_all_device_shards_combine_to_their_buffer(mesh: MeshDevice) -> None:
    tensor = sharded(mesh)
    parts = get_device_tensors(tensor)
    joined = combine_device_tensors(tensors=parts)
    assert joined.buffer_address() == tensor.buffer_address()
    assert combine_device_tensors(tensors=parts[:3]).buffer_address() != tensor.buffer_address()
    del parts
    gc.collect()
    tensor.deallocate()
    assert joined.to_numpy(ConcatMeshToTensor(mesh, 0)).tolist() == list(range(8))
    joined.deallocate(True)
    assert not tensor.is_allocated()


def test_combining_device_shards(mesh: MeshDevice) -> None:
    parts = get_device_tensors(sharded(mesh))
    tensor = combine_device_tensors(tensors=parts[:3])
    found = tensor.tensor_topology()
    assert str(found.placements()) == "[PlacementShard(0)]"
    assert found.distribution_shape() == MeshShape([3])
    assert found.mesh_coords() == [MeshCoordinate(0, i) for i in range(3)]
    assert tensor.to_numpy(ConcatMeshToTensor(mesh, 0)).tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="All tensor shards must be on device"):
        combine_device_tensors(tensors=[parts[0], made(ar(1))])
    for first, second in ((made(ar(1)), parts[0]), (made(ar(1)), made(ar(1)))):
        with pytest.raises(RuntimeError, match="All tensor shards must be on device"):
            combine_device_tensors(tensors=[first, second])
    with pytest.raises(RuntimeError, match="At least one tensor shard must be provided"):
        combine_device_tensors(tensors=[])
    elsewhere = made(ar(1), device=mesh.create_submesh(MeshShape(1, 1)))
    with pytest.raises(RuntimeError, match="All tensor shards must be on the same mesh device"):
        combine_device_tensors(tensors=[parts[0], elsewhere])
    with pytest.raises(RuntimeError, match="All tensor shards must have the same tensor spec"):
        combine_device_tensors(tensors=[parts[0], made(ar(2), device=mesh)])
    with pytest.raises(TypeError, match="incompatible function arguments"):
        combine_device_tensors(parts)  # type: ignore[misc]


def test_parts_of_several_tensors_are_copied_together(mesh: MeshDevice) -> None:
    first, second = (
        get_device_tensors(sharded(mesh)),
        get_device_tensors(made(ar(8) + 10, mesh_mapper=ShardTensorToMesh(mesh, 0), device=mesh)),
    )
    joined = combine_device_tensors(tensors=[*first[:3], *second[3:]])
    assert joined.to_numpy(ConcatMeshToTensor(mesh, 0)).tolist() == [0, 1, 2, 13, 14, 15, 16, 17]
    twice = combine_device_tensors(
        tensors=[*first[:7], first[0]]
    )  # as many as there are devices, not all of them
    assert twice.to_numpy(ConcatMeshToTensor(mesh, 0)).tolist() == list(range(7))
    assert twice.buffer_address() != first[0].buffer_address()


def test_parts_of_a_part_are_that_part(mesh: MeshDevice) -> None:
    part = get_device_tensors(sharded(mesh))[3]
    (again,) = get_device_tensors(part)
    assert again.item() == 3 and again.device_coords() == [MeshCoordinate(0, 3)]
    (on_host,) = get_device_tensors(part.cpu())
    assert on_host.item() == 3 and on_host.host_buffer().shape() == MeshShape(1, 1)


def test_from_host_shards(mesh: MeshDevice) -> None:
    tensor = from_host_shards([made(ar(2) + i) for i in range(8)], MeshShape(2, 4))
    assert str(tensor.tensor_topology().placements()) == "[PlacementShard(0)]"
    assert tensor.tensor_topology().distribution_shape() == MeshShape([8])
    assert tensor.to(mesh).to_numpy(ConcatMeshToTensor(mesh, 0)).tolist() == [
        v for i in range(8) for v in (i, i + 1)
    ]
    with pytest.raises(RuntimeError, match="Number of tensor shards must match mesh size"):
        from_host_shards([made(ar(2))] * 3, MeshShape(2, 4))
    with pytest.raises(RuntimeError, match="All tensor shards must have the same tensor spec"):
        from_host_shards([made(ar(2)), made(ar(3))], MeshShape(1, 2))
    with pytest.raises(RuntimeError, match="All tensor shards must be on host"):
        from_host_shards([made(ar(2)), made(ar(2), device=mesh)], MeshShape(1, 2))


def test_the_same_host_shard_twice_is_stored_once() -> None:
    shard = made(ar(4))
    assert len(from_host_shards([shard] * 8, MeshShape(2, 4)).shards.data) == 1


def test_writes_leave_arrays_that_were_read_alone(mesh: MeshDevice) -> None:
    tensor = sharded(mesh)
    before = tensor.shards
    copy_host_to_device_tensor(made(ar(1) + 5), tensor)
    assert before.of(0).tolist() == [0]  # type: ignore[union-attr]


def test_rules_on_transfers(mesh: MeshDevice) -> None:
    seen: list[tuple[object, str]] = []
    tensor = sharded(mesh)
    end = transfer_rules.add_rule(lambda device, direction: seen.append((device, direction)))
    try:
        tensor.cpu()
        tensor.to_numpy(ConcatMeshToTensor(mesh, 0))
        made(ar(1)).to(mesh)
        made(ar(1)).to_numpy()
    finally:
        end()
    tensor.cpu()
    assert seen == [(mesh, "read"), (mesh, "read"), (mesh, "write")]


@pytest.mark.parametrize("dtype", [DataType.FLOAT32, DataType.BFLOAT16, DataType.INT32])
def test_shards_without_dimensions_stay_arrays(mesh: MeshDevice, dtype: DataType) -> None:
    rows = from_torch(
        np.arange(8, dtype=np.float32), dtype, device=mesh, mesh_mapper=ShardTensorToMesh(mesh, 0)
    )
    scalar = reshape(rows, ())
    parts = get_device_tensors(scalar)
    assert [part.item() for part in parts] == list(range(8))
    found = parts[5].to_numpy()
    assert isinstance(found, np.ndarray) and found.shape == ()
    torch = pytest.importorskip("torch")
    assert to_torch(parts[5]).shape == torch.Size([])


def test_device_tensors_do_not_move_between_meshes(mesh: MeshDevice) -> None:
    tensor = from_torch(ar(2, 2), device=mesh)
    assert to_device(tensor, mesh).buffer_address() == tensor.buffer_address()
    with pytest.raises(RuntimeError, match="the tensor is on another mesh already"):
        to_device(tensor, mesh.create_submesh(MeshShape(1, 2)))
