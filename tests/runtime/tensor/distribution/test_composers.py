"""Composers, and round trips through a mapper and a composer (reference library 0.81.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.composers import (
    ConcatMesh2dToTensor,
    ConcatMeshToTensor,
    aggregate_tensor,
    concat_mesh_to_tensor_composer,
    create_mesh_composer,
)
from tt_run.runtime.tensor.distribution.configs import MeshComposerConfig, MeshMapperConfig
from tt_run.runtime.tensor.distribution.mappers import (
    ReplicateTensorToMesh,
    ShardTensor2dMesh,
    ShardTensorToMesh,
    create_mesh_mapper,
)
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, PlacementShard
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values import shapes
from tt_run.runtime.values.dtypes import convert


def ar(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def mapped(array: np.ndarray, mapper: Any, **options: Any) -> Tensor:
    tensor = from_torch(array, mesh_mapper=mapper, **options)
    assert tensor is not None
    return tensor


def test_concatenation_undoes_sharding(mesh: MeshDevice) -> None:
    array = ar(1, 1, 32, 256)
    tensor = mapped(array, ShardTensorToMesh(mesh, 3), device=mesh, layout=Layout.TILE)
    assert np.array_equal(tensor.to_numpy(ConcatMeshToTensor(mesh, 3)), array)
    assert np.array_equal(tensor.to_numpy(concat_mesh_to_tensor_composer(mesh, -1)), array)
    assert tensor.to_numpy(ConcatMeshToTensor(mesh, 0)).shape == (8, 1, 32, 32)


def test_replicas_are_repeated(mesh: MeshDevice) -> None:
    tensor = mapped(ar(2, 2), ReplicateTensorToMesh(mesh))
    assert np.array_equal(tensor.to_numpy(ConcatMeshToTensor(mesh, 0)), np.concatenate([ar(2, 2)] * 8))


def test_a_composer_of_a_larger_mesh_reads_what_is_there(mesh: MeshDevice, row: MeshDevice) -> None:
    tensor = mapped(ar(1, 4), ShardTensorToMesh(row, 1), device=row)
    assert np.array_equal(tensor.to_numpy(ConcatMeshToTensor(mesh, 1)), ar(1, 4))


def test_replication_along_rows_doubles_dim_0(mesh: MeshDevice) -> None:
    array = ar(2, 1, 32, 128)
    tensor = mapped(array, ShardTensor2dMesh(mesh, (2, 4), (None, 3)))
    both = tensor.to_numpy(create_mesh_composer(mesh, MeshComposerConfig([0, 3])))
    assert np.array_equal(both, np.concatenate([array, array]))
    first_row = MeshComposerConfig([0, 3], MeshShape(1, 4))
    assert np.array_equal(tensor.to_numpy(create_mesh_composer(mesh, first_row)), array)


def test_overrides_take_a_corner_an_offset_or_the_first_devices(mesh: MeshDevice) -> None:
    tensor = mapped(ar(8), ShardTensorToMesh(mesh, 0))
    grid = mapped(ar(2, 4), ShardTensor2dMesh(mesh, (2, 4), (0, 1)))

    def composed(source: Tensor, *config: Any) -> list[Any]:
        found = source.to_numpy(create_mesh_composer(mesh, MeshComposerConfig(*config)))
        return list(found.tolist())

    assert composed(grid, [0, 1], MeshShape(2, 2)) == [[0, 1], [4, 5]]
    assert composed(grid, [0, 1], MeshShape(2, 2), MeshCoordinate(0, 1)) == [[1, 2], [5, 6]]
    assert composed(grid, [0, 1], MeshShape(4, 2)) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert composed(tensor, [0], MeshShape([3])) == [0, 1, 2]
    assert composed(tensor, [0], MeshShape([1])) == [0]
    tall = [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert composed(grid, [0, 1], MeshShape(4, 2), MeshCoordinate(0, 0)) == tall
    with pytest.raises(RuntimeError, match="only supported when the distribution fits within the mesh"):
        composed(grid, [0, 1], MeshShape(4, 2), MeshCoordinate(0, 1))


def test_fewer_shards_than_devices(mesh: MeshDevice) -> None:
    tensor = mapped(ar(10, 2), ShardTensorToMesh(mesh, 0))
    assert np.array_equal(tensor.to_numpy(ConcatMeshToTensor(mesh, 0)), ar(10, 2))
    with pytest.raises(
        RuntimeError,
        match=r"(?s)mesh_shape_override=…\) of 5 devices.*requires the number of tensors 5 to match the mesh shape MeshShape\(\[2, 4\]\)",
    ):
        tensor.to_numpy(ConcatMesh2dToTensor(mesh, (2, 4), (0, 1)))
    last = create_mesh_composer(mesh, MeshComposerConfig([0, 1], MeshShape(1, 2), MeshCoordinate(1, 2)))
    with pytest.raises(RuntimeError, match="holds no shard at the coordinates that the composer reads"):
        tensor.to_numpy(last)
    one = create_mesh_composer(mesh, MeshComposerConfig([0, 1], MeshShape(1, 2), MeshCoordinate(1, 0)))
    assert tensor.to_numpy(one).tolist() == ar(10, 2)[8:].tolist()  # of two devices one holds a shard


def test_composers_that_do_not_fit(mesh: MeshDevice) -> None:
    with pytest.raises(
        RuntimeError, match=r"number of dimensions in the config MeshComposerConfig\(dims: \[3\]\)"
    ):
        create_mesh_composer(mesh, MeshComposerConfig([3]))
    tensor = mapped(ar(1, 1, 32, 256), ShardTensorToMesh(mesh, 3))
    with pytest.raises(RuntimeError, match="dims must be unique"):
        tensor.to_numpy(ConcatMesh2dToTensor(mesh, (2, 4), (3, 3)))
    with pytest.raises(
        RuntimeError, match=r"Invalid dimension index; got dims: \{0, 9\}, tensor dimension: 4"
    ):
        tensor.to_numpy(ConcatMesh2dToTensor(mesh, (2, 4), (0, 9)))


def test_several_shards_need_a_composer(mesh: MeshDevice) -> None:
    tensor = mapped(ar(8), ShardTensorToMesh(mesh, 0), device=mesh)
    with pytest.raises(RuntimeError, match="Supply a mesh composer to concatenate multi-device shards"):
        tensor.to_numpy()


def test_aggregate_gives_an_undistributed_tensor(mesh: MeshDevice) -> None:
    tensor = mapped(
        ar(8, 32), ShardTensorToMesh(mesh, 0), device=mesh, dtype=DataType.BFLOAT16, layout=Layout.TILE
    )
    whole = aggregate_tensor(tensor, ConcatMeshToTensor(mesh, 0))
    assert (whole.shape, whole.dtype, whole.layout, whole.device()) == (
        [8, 32],
        DataType.BFLOAT16,
        Layout.TILE,
        None,
    )
    assert str(whole.tensor_topology().placements()) == "[PlacementReplicate()]"
    assert np.array_equal(whole.to_numpy(), ar(8, 32))


def test_what_was_read_belongs_to_the_reader(mesh: MeshDevice) -> None:
    single = from_torch(ar(4))
    assert single is not None
    single.to_numpy()[:] = -1
    replica = mapped(ar(4), ReplicateTensorToMesh(mesh))
    one = create_mesh_composer(mesh, MeshComposerConfig([0], MeshShape([1])))
    replica.to_numpy(one)[:] = -1
    assert single.to_numpy().tolist() == replica.to_numpy(one).tolist() == [0, 1, 2, 3]


@st.composite
def sharded(draw: st.DrawFn) -> tuple[tuple[int, ...], list[int], list[bool], tuple[int, ...]]:
    """A shape, a tensor dimension for each axis of the grid, whether the axis cuts it (or replicates), and the grid."""
    grid = draw(st.sampled_from([(8,), (5,), (2, 4), (4, 2), (2, 2), (1, 3), (1, 8)]))
    rank = draw(st.integers(len(grid), 4))
    dims = draw(st.permutations(range(rank)))[: len(grid)]
    cut = [draw(st.booleans()) for _ in dims]
    shape = [draw(st.integers(1, 3)) for _ in range(rank)]
    for size, dim, cuts in zip(grid, dims, cut, strict=True):
        shape[dim] *= size if cuts else 1
    return tuple(shape), list(dims), cut, grid


@settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(80)
)
@given(
    case=sharded(),
    dtype=st.sampled_from([DataType.FLOAT32, DataType.BFLOAT16, DataType.UINT16, DataType.INT32]),
    on_device=st.booleans(),
)
def test_round_trip(mesh: MeshDevice, case: Any, dtype: DataType, on_device: bool) -> None:
    """What comes back is the array, repeated along the dimension of every axis that replicates."""
    shape, dims, cut, grid = case
    array = np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32) * 100
    placements = [
        PlacementShard(d) if cuts else PlacementReplicate() for d, cuts in zip(dims, cut, strict=True)
    ]
    mapper = create_mesh_mapper(mesh, MeshMapperConfig(placements, MeshShape(grid)))
    tensor = mapped(array, mapper, dtype=dtype, device=mesh if on_device else None)
    repeats = [1] * len(shape)
    for size, dim, cuts in zip(grid, dims, cut, strict=True):
        repeats[dim] = 1 if cuts else size
    composer = create_mesh_composer(mesh, MeshComposerConfig(dims, MeshShape(grid)))
    assert np.array_equal(tensor.to_numpy(composer), np.tile(convert(array, dtype), repeats))


def test_in_a_run_in_shapes_what_is_put_together_is_zeros(mesh: MeshDevice) -> None:
    with shapes.only():
        tensor = mapped(ar(8, 3), ShardTensorToMesh(mesh, 0))
        assert (tensor.shape, tensor.shards.data.shape, tensor.shards.index) == ([1, 3], (0, 1, 3), (0,) * 8)
        found = tensor.to_numpy(ConcatMeshToTensor(mesh, 0))
        fewer = mapped(ar(5, 3), ShardTensorToMesh(mesh, 0))
    assert found.shape == (8, 3) and not found.any() and found.flags.writeable
    assert fewer.shards.index == (0,) * 5 + (-1,) * 3


def test_a_composer_tells_its_configuration(mesh: MeshDevice) -> None:
    config = MeshComposerConfig([0, 1], MeshShape(1, 4))
    composer = create_mesh_composer(mesh, config)
    assert composer.config() is config and repr(composer).startswith(
        "<ttnn._ttnn.multi_device.CppMeshToTensor object at"
    )
    with pytest.raises(TypeError, match=r"create_mesh_composer\(\): incompatible"):
        create_mesh_composer(mesh, [0, 1])  # type: ignore[arg-type]
