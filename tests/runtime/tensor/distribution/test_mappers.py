"""Mappers: which device gets what (reference library 0.81.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.configs import MeshMapperConfig
from tt_run.runtime.tensor.distribution.grid import chunk_bounds
from tt_run.runtime.tensor.distribution.mappers import (
    ReplicateTensorToMesh,
    ShardTensor2dMesh,
    ShardTensorToMesh,
    create_mesh_mapper,
    distribute_tensor,
    replicate_tensor_to_mesh_mapper,
    shard_tensor_to_mesh_mapper,
)
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, PlacementShard
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.dtypes import convert


def ar(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def mapped(array: np.ndarray, mapper: Any, **options: Any) -> Tensor:
    tensor = from_torch(array, mesh_mapper=mapper, **options)
    assert tensor is not None
    return tensor


def held(tensor: Tensor) -> list[Any]:
    return [None if shard is None else shard.tolist() for shard in tensor.shards.each()]


def topology(tensor: Tensor) -> tuple[str, str, list[tuple[int, ...]]]:
    found = tensor.tensor_topology()
    return (
        str(found.placements()),
        str(found.distribution_shape()),
        [tuple(c) for c in found.mesh_coords()],
    )


def test_one_dimension_over_all_devices_row_major(mesh: MeshDevice) -> None:
    tensor = mapped(ar(16, 2), ShardTensorToMesh(mesh, dim=0))
    assert held(tensor) == [ar(16, 2)[2 * i : 2 * i + 2].tolist() for i in range(8)]
    assert topology(tensor) == (
        "[PlacementShard(0)]",
        "MeshShape([8])",
        [(r, c) for r in range(2) for c in range(4)],
    )
    assert tensor.shape == [2, 2]


def test_a_negative_dimension_is_kept_in_the_text(mesh: MeshDevice) -> None:
    tensor = mapped(ar(2, 16), shard_tensor_to_mesh_mapper(mesh, -1))
    assert tensor.shape == (2, 2)
    assert topology(tensor)[0] == "[PlacementShard(-1)]"


def test_replication_stores_one_copy(mesh: MeshDevice) -> None:
    for mapper in (ReplicateTensorToMesh(mesh), replicate_tensor_to_mesh_mapper(mesh)):
        tensor = mapped(ar(4, 4), mapper)
        assert tensor.shards.data.nbytes == ar(4, 4).nbytes
        assert held(tensor) == [ar(4, 4).tolist()] * 8
        assert topology(tensor)[:2] == ("[PlacementReplicate()]", "MeshShape([8])")
    assert ReplicateTensorToMesh(mesh).unwrap().config().placements == [PlacementReplicate()]


def test_two_dimensions_are_row_axis_then_column_axis(mesh: MeshDevice) -> None:
    array = ar(4, 8)
    tensor = mapped(array, ShardTensor2dMesh(mesh, (2, 4), dims=(0, 1)))
    expected = [array[2 * r : 2 * r + 2, 2 * c : 2 * c + 2].tolist() for r in range(2) for c in range(4)]
    assert held(tensor) == expected
    assert topology(tensor)[:2] == ("[PlacementShard(0), PlacementShard(1)]", "MeshShape([2, 4])")


def test_none_replicates_along_an_axis(mesh: MeshDevice) -> None:
    array = ar(2, 8)
    tensor = mapped(array, ShardTensor2dMesh(mesh, (2, 4), dims=(None, 1)))
    assert held(tensor) == [array[:, 2 * c : 2 * c + 2].tolist() for _ in range(2) for c in range(4)]
    assert len(tensor.shards.data) == 4
    assert topology(tensor)[0] == "[PlacementReplicate(), PlacementShard(1)]"


@pytest.mark.parametrize(("rows", "chunks"), [(10, 5), (5, 5), (1, 1), (16, 8), (2, 2)])
def test_a_line_may_use_fewer_devices(mesh: MeshDevice, rows: int, chunks: int) -> None:
    tensor = mapped(ar(rows, 2), ShardTensorToMesh(mesh, 0))
    assert [shard is not None for shard in held(tensor)] == [i < chunks for i in range(8)]
    assert topology(tensor)[1] == f"MeshShape([{chunks}])"
    assert len(topology(tensor)[2]) == chunks


@pytest.mark.parametrize("rows", [9, 15, 17])
def test_uneven_chunks_are_refused(mesh: MeshDevice, rows: int) -> None:
    with pytest.raises(
        RuntimeError, match=r"Shard shape mismatch: expected Shape\(\[\d, 4\]\) but got Shape"
    ) as error:
        mapped(ar(rows, 4), ShardTensorToMesh(mesh, 0))
    assert f"dimension 0 has {rows} elements for 8 devices: pad it to {-(-rows // 8) * 8}" in str(error.value)


def test_only_the_dimension_that_does_not_divide_is_to_be_padded(mesh: MeshDevice) -> None:
    with pytest.raises(RuntimeError, match="Shard shape mismatch") as error:
        mapped(ar(4, 7), ShardTensor2dMesh(mesh, (2, 4), dims=(0, 1)))
    assert "help: dimension 1 has 7 elements for 4 devices: pad it to 8\ninfo:" in str(error.value)


def test_grids_need_every_chunk(mesh: MeshDevice) -> None:
    mapper = ShardTensor2dMesh(mesh, (2, 4), dims=(0, 1))
    with pytest.raises(
        RuntimeError, match="ND sharding requires the number of chunks 6 to match the mesh dimension size 8"
    ) as caught:
        mapped(ar(4, 3), mapper)
    assert "help: dimension 1 has 3 elements for 4 devices: choose a multiple\ninfo:" in str(caught.value)


def test_an_override_that_fits_is_the_corner_of_the_mesh(mesh: MeshDevice) -> None:
    array = ar(2, 2)
    config = MeshMapperConfig(0, 1, MeshShape(2, 2))
    tensor = mapped(array, create_mesh_mapper(mesh, config))
    assert held(tensor) == [[[0.0]], [[1.0]], None, None, [[2.0]], [[3.0]], None, None]
    assert topology(tensor)[2] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    moved = MeshMapperConfig(0, 1, MeshShape(2, 2), MeshCoordinate(0, 1))
    tensor = mapped(array, create_mesh_mapper(mesh, moved))
    assert held(tensor) == [None, [[0.0]], [[1.0]], None, None, [[2.0]], [[3.0]], None]
    assert topology(tensor)[2] == [(0, 1), (0, 2), (1, 1), (1, 2)]
    last = MeshMapperConfig(0, 1, MeshShape(2, 2), MeshCoordinate(0, 2))
    assert topology(mapped(array, create_mesh_mapper(mesh, last)))[2] == [(0, 2), (0, 3), (1, 2), (1, 3)]


def test_other_overrides_read_the_mesh_row_major(mesh: MeshDevice) -> None:
    tensor = mapped(ar(4, 2), ShardTensor2dMesh(mesh, (4, 2), dims=(0, 1)))
    assert held(tensor) == [[[float(i)]] for i in range(8)]
    line = create_mesh_mapper(mesh, MeshMapperConfig([PlacementShard(0)], MeshShape([4])))
    assert topology(mapped(ar(4), line))[2] == [(0, 0), (0, 1), (0, 2), (0, 3)]


def test_mappers_that_do_not_fit_the_mesh(mesh: MeshDevice) -> None:
    with pytest.raises(
        RuntimeError, match=r"mesh shape MeshShape\(\[2, 4\]\) does not match the number of placements"
    ):
        create_mesh_mapper(mesh, MeshMapperConfig([PlacementShard(0)]))
    with pytest.raises(
        RuntimeError, match=r"supplied mesh shape MeshShape\(\[9\]\) does not match the device shape"
    ):
        create_mesh_mapper(mesh, MeshMapperConfig([PlacementShard(0)], MeshShape([9])))
    offset = MeshMapperConfig([PlacementShard(0)], MeshShape([4]), MeshCoordinate(0, 1))
    with pytest.raises(
        RuntimeError, match="mesh_offset_override is only supported when the distribution fits"
    ):
        create_mesh_mapper(mesh, offset)
    for corner in (MeshCoordinate(1, 0), MeshCoordinate(0, 3), MeshCoordinate([0])):
        outside = MeshMapperConfig(0, 1, MeshShape(2, 2), corner)
        with pytest.raises(RuntimeError, match="does not fit within the mesh"):
            create_mesh_mapper(mesh, outside)
    with pytest.raises(RuntimeError, match=r"a mesh_shape of at most 8 devices, such as \(2, 4\)"):
        create_mesh_mapper(mesh, MeshMapperConfig(0, 1, MeshShape(3, 3)))
    with pytest.raises(TypeError, match="a mesh mapper or composer needs a MeshDevice first, got int"):
        ShardTensor2dMesh(3, (2, 4), dims=(0, 1))  # type: ignore[arg-type]


def test_a_mapper_over_a_shape_makes_every_shard_on_the_host() -> None:
    config = MeshMapperConfig(0, 1)
    for mapper in (
        create_mesh_mapper(MeshShape(2, 4), config),
        create_mesh_mapper(config=config, mesh_shape=MeshShape(2, 4)),
    ):
        tensor = mapped(ar(2, 4), mapper)
        assert held(tensor) == [[[float(i)]] for i in range(8)] and tensor.device() is None


def test_nothing_is_not_cut(mesh: MeshDevice) -> None:
    with pytest.raises(RuntimeError, match="No chunks were produced"):
        mapped(ar(0, 4), ShardTensorToMesh(mesh, 0))
    assert mapped(ar(0, 4), ReplicateTensorToMesh(mesh)).shape == [0, 4]


@pytest.mark.parametrize("dtype", [DataType.BFLOAT16, DataType.FLOAT32, DataType.UINT16])
def test_shards_are_in_the_form_of_their_type(mesh: MeshDevice, dtype: DataType) -> None:
    array = ar(8, 3) * np.float32(1.001)
    for found in (
        held(mapped(array, ShardTensorToMesh(mesh, 0), dtype=dtype)),
        held(from_torch(array, dtype)),
    ):
        assert np.concatenate(found).tolist() == convert(array, dtype).tolist()


def test_a_number_is_on_every_device(mesh: MeshDevice) -> None:
    tensor = mapped(np.array(3.0, np.float32), ReplicateTensorToMesh(mesh))
    assert (tensor.shape, held(tensor)) == ([], [3.0] * 8)


def test_dimensions_are_checked_when_used(mesh: MeshDevice) -> None:
    mapper = ShardTensorToMesh(mesh, 2)
    with pytest.raises(
        RuntimeError,
        match=r"(?s)each of dims is one of 0, 1, .*Invalid dimension index; got dims: \{2\}, tensor dimension: 2",
    ):
        mapped(ar(8, 8), mapper)
    with pytest.raises(RuntimeError, match="dims must be unique"):
        mapped(ar(8, 8), ShardTensor2dMesh(mesh, (2, 4), dims=(0, 0)))
    with pytest.raises(RuntimeError, match="dims must be unique"):
        mapped(ar(8, 8), ShardTensor2dMesh(mesh, (2, 4), dims=(1, -1)))


def test_shards_are_rounded_as_shards(mesh: MeshDevice) -> None:
    """Blocks of a block float start anew in every shard, though 16 columns of the whole span four shards."""
    array = np.tile(np.array([1.0, 1000.0], np.float32).repeat(4), (1, 4))
    tensor = mapped(array, ShardTensorToMesh(mesh, 1), dtype=DataType.BFLOAT8_B, layout=Layout.TILE)
    assert held(tensor)[0] == [[1.0] * 4]
    assert held(tensor)[1] == [[1000.0] * 4]


def test_the_callers_array_stays_the_callers(mesh: MeshDevice) -> None:
    array = ar(8, 2)
    tensors = [
        mapped(array, ShardTensorToMesh(mesh, 0)),
        mapped(array, ReplicateTensorToMesh(mesh)),
        mapped(array, ShardTensorToMesh(mesh, 0), device=mesh),
        from_torch(array),
    ]
    array[:] = -1
    for tensor in tensors:
        assert tensor is not None
        assert min(shard.min() for shard in tensor.shards.each() if shard is not None) == 0


def test_distribute_tensor_spreads_host_tensors(mesh: MeshDevice) -> None:
    host = from_torch(ar(16, 2), dtype=DataType.BFLOAT16, layout=Layout.TILE)
    assert host is not None
    spread = distribute_tensor(host, ShardTensorToMesh(mesh, 0))
    assert (spread.shape, spread.dtype, spread.layout, spread.device()) == (
        [2, 2],
        DataType.BFLOAT16,
        Layout.TILE,
        None,
    )
    assert distribute_tensor(host, ShardTensorToMesh(mesh, 0), mesh).device() is mesh
    with pytest.raises(
        RuntimeError,
        match=r"Can't get a single buffer from host storage distributed over mesh shape MeshShape\(\[2, 4\]\)",
    ):
        distribute_tensor(spread, ShardTensorToMesh(mesh, 0))
    with pytest.raises(RuntimeError, match="TensorToMesh only supports host tensors"):
        distribute_tensor(spread.to(mesh), ShardTensorToMesh(mesh, 0))


@pytest.mark.parametrize(("size", "parts", "bounds"), [
    (8, 4, [(0, 2), (2, 4), (4, 6), (6, 8)]),
    (10, 8, [(0, 2), (2, 4), (4, 6), (6, 8), (8, 10)]),
    (9, 8, [(0, 2), (2, 4), (4, 6), (6, 8), (8, 9)]),
    (0, 4, []),
    (7, 1, [(0, 7)]),
])  # fmt: skip
def test_chunk_bounds(size: int, parts: int, bounds: list[tuple[int, int]]) -> None:
    assert chunk_bounds(size, parts) == bounds


def test_wrong_keywords_name_the_right_ones(mesh: MeshDevice) -> None:
    with pytest.raises(TypeError, match=r"'dims': did you mean 'dim'\?"):
        ShardTensorToMesh(mesh, dims=0)  # type: ignore[call-arg]


def test_large_transposed_arrays_are_copied_right(mesh: MeshDevice) -> None:
    array = np.random.default_rng(0).standard_normal((3, 600, 1024)).astype(np.float32)
    turned = array.swapaxes(1, 2)
    tensor = mapped(turned, ShardTensorToMesh(mesh, 2))
    assert np.array_equal(np.concatenate(list(tensor.shards.data), axis=2), turned)
    assert tensor.shards.data.flags.c_contiguous
    assert np.array_equal(mapped(turned, ReplicateTensorToMesh(mesh)).shards.data[0], turned)


def test_wrong_kinds_of_arguments(mesh: MeshDevice) -> None:
    with pytest.raises(TypeError, match=r"create_mesh_mapper\(\): incompatible function arguments"):
        create_mesh_mapper(mesh, [PlacementShard(0)])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"create_mesh_mapper\(\): incompatible function arguments"):
        create_mesh_mapper(None, MeshMapperConfig())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"distribute_tensor\(\): incompatible function arguments"):
        distribute_tensor(from_torch(ar(8)), ReplicateTensorToMesh(mesh))  # type: ignore[arg-type]
    with pytest.raises(IndexError, match="tuple index out of range"):
        ShardTensor2dMesh(mesh, (2, 4), dims=(0,))
