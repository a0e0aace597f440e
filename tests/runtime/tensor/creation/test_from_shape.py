"""Tensors from a shape (reference library 0.81.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.creation.from_shape import (
    arange,
    empty,
    empty_like,
    from_buffer,
    full,
    full_like,
    ones,
    ones_like,
    rand,
    zeros,
    zeros_like,
)
from tt_run.runtime.tensor.distribution.composers import ConcatMeshToTensor
from tt_run.runtime.tensor.distribution.configs import MeshMapperConfig
from tt_run.runtime.tensor.distribution.mappers import ShardTensorToMesh
from tt_run.runtime.tensor.distribution.per_device import get_device_tensors
from tt_run.runtime.tensor.spec.memory_config import MemoryConfig, ShardSpec
from tt_run.runtime.values.dtypes import convert


def test_defaults_are_host_bfloat16_row_major() -> None:
    for tensor, value in ((zeros([2, 3]), 0), (ones([2, 3]), 1), (full([2, 3], 2.5), 2.5)):
        assert (tensor.dtype, tensor.layout, tensor.device()) == (DataType.BFLOAT16, Layout.ROW_MAJOR, None)
        assert tensor.to_list() == [[value] * 3] * 2


def test_values_are_converted() -> None:
    assert full([1], 3.14159).item() == 3.140625
    assert full([1], -1.5, DataType.UINT32).item() == 2**32 - 1
    assert full([1], 7, DataType.INT32).item() == 7
    assert zeros([3, 3], DataType.BFLOAT8_B).layout is Layout.TILE
    with pytest.raises(RuntimeError, match="Layout must be Layout::TILE"):
        zeros([3, 3], DataType.BFLOAT8_B, Layout.ROW_MAJOR)


def test_on_a_mesh_every_device_has_the_same_stored_once(mesh: MeshDevice) -> None:
    tensor = full([64, 64], 2.0, device=mesh)
    assert str(tensor.tensor_topology().placements()) == "[PlacementReplicate()]"
    assert tensor.tensor_topology().distribution_shape() == MeshShape([8])
    assert tensor.shards.data.shape == (1, 64, 64)
    assert [p.shape for p in get_device_tensors(tensor)] == [[64, 64]] * 8


def test_from_the_numbers_of_a_list(mesh: MeshDevice) -> None:
    made = from_buffer([1.0, 2.5, 3.14159, 4, 5, 6], [2, 3], dtype=DataType.BFLOAT16, device=mesh)
    assert (made.layout, made.shape, made.device()) == (Layout.ROW_MAJOR, [2, 3], mesh)
    assert get_device_tensors(made)[7].to_list() == [[1.0, 2.5, 3.140625], [4.0, 5.0, 6.0]]
    ids = from_buffer(
        buffer=[7, 8], shape=(1, 1, 1, 2), dtype=DataType.UINT32, device=mesh, layout=Layout.TILE
    )
    assert (ids.dtype, ids.layout) == (DataType.UINT32, Layout.TILE)
    assert from_buffer([0.5] * 4, (2, 2), DataType.BFLOAT8_B, mesh).layout is Layout.TILE
    with pytest.raises(RuntimeError, match=r"the buffer has 3 elements, shape \[2, 2\] has 4"):
        from_buffer([1, 2, 3], [2, 2], DataType.INT32, mesh)


def test_optional_tensor_is_written(mesh: MeshDevice) -> None:
    target = zeros([2], DataType.INT32, device=mesh)
    assert full([2], 9, optional_tensor=target).storage is target.storage
    assert target.shards.of(3).tolist() == [9, 9]  # type: ignore[union-attr]
    with pytest.raises(RuntimeError, match="Optional output tensor has shape"):
        full([3], 9, optional_tensor=target)


def test_a_tensor_for_the_result_is_filled_whatever_its_shape(mesh: MeshDevice) -> None:
    like = zeros([2, 3], DataType.FLOAT32, layout=Layout.TILE, device=mesh)
    for dims in ([5], [1, 2, 3], [3, 40]):
        target = zeros(dims, DataType.BFLOAT16, layout=Layout.TILE, device=mesh)
        assert full_like(like, 7.0, optional_tensor=target).storage is target.storage
        assert np.asarray(target.shards.of(1), np.float32).tolist() == np.full(dims, 7.0).tolist()
    alike = zeros([5], DataType.FLOAT32, layout=Layout.TILE, device=mesh)
    with pytest.raises(RuntimeError, match=r"has shape Shape\(\[5\]\), expected Shape\(\[2, 3\]\)"):
        full_like(like, 7.0, optional_tensor=alike)


def test_a_tensor_for_the_result_keeps_its_type(mesh: MeshDevice) -> None:
    target = full([2], 0, dtype=DataType.BFLOAT16, device=mesh)
    written = full_like(target, 1.001, dtype=DataType.FLOAT32, layout=Layout.TILE, optional_tensor=target)
    assert written.storage is target.storage
    assert (written.dtype, written.layout) == (DataType.BFLOAT16, Layout.ROW_MAJOR)
    assert np.asarray(written.shards.of(0), np.float32).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("arguments", [(5,), (2, 7), (2, 9, 3), (9, 2, -2), (3, 3)])
def test_arange(arguments: tuple[int, ...]) -> None:
    tensor = arange(*arguments, dtype=DataType.INT32)
    assert tensor.to_list() == np.arange(*arguments).tolist()
    assert arange(*arguments).dtype is DataType.BFLOAT16
    assert arange(end=3).to_list() == [0.0, 1.0, 2.0]
    with pytest.raises(TypeError, match="an end is required"):
        arange()


def test_bad_ranges() -> None:
    with pytest.raises(RuntimeError, match="Step must be nonzero"):
        arange(0, 5, 0)
    for first, last, step, hint in ((5, 0, 1, "step=-1,"), (0, 5, -1, "step=1,")):
        with pytest.raises(RuntimeError, match=f"(?s){hint}.*does not lead from {first} to {last}"):
            arange(first, last, step)
    assert arange(3, 3, -1).shape == [0]
    with pytest.raises(RuntimeError, match="Unsupported dtype"):
        arange(3, dtype=DataType.UINT8)


def test_empty_and_rand_need_a_device(mesh: MeshDevice) -> None:
    with pytest.raises(TypeError, match="a device is required"):
        empty([2, 2])
    with pytest.raises(TypeError, match="device"):
        rand([2, 2])  # type: ignore[call-arg]
    tensor = empty([2, 2], DataType.FLOAT32, Layout.TILE, mesh)
    assert (tensor.shape, tensor.dtype, tensor.device()) == ([2, 2], DataType.FLOAT32, mesh)
    assert empty([2, 2], device=mesh).device() is mesh


def test_rand(mesh: MeshDevice) -> None:
    tensor = rand([32, 32], mesh, seed=3, low=-2.0, high=5.0)
    assert (tensor.dtype, tensor.layout) == (DataType.BFLOAT16, Layout.TILE)
    assert str(tensor.tensor_topology().placements()) == "[PlacementReplicate(), PlacementReplicate()]"
    assert tensor.tensor_topology().distribution_shape() == MeshShape(2, 4)
    values = tensor.shards.data
    assert -2 <= values.min() < 0 < 3 < values.max() <= 5
    again = rand([32, 32], mesh, seed=3, low=-2.0, high=5.0)
    assert np.array_equal(values, again.shards.data)
    assert not np.array_equal(rand([9], mesh).shards.data, rand([9], mesh).shards.data)
    integers = rand([100], mesh, dtype=DataType.INT32, layout=Layout.ROW_MAJOR, low=3, high=6, seed=1)
    assert set(integers.shards.data.ravel().tolist()) == {3, 4, 5}


@pytest.mark.parametrize("dtype", [DataType.BFLOAT16, DataType.FLOAT32])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (2.1, 9.0), (-5.1, 1.2), (-3.0, 4.0)])
def test_rand_stays_below_its_upper_bound_when_it_is_rounded(
    mesh: MeshDevice, dtype: DataType, low: float, high: float
) -> None:
    values = rand([64, 512], mesh, dtype=dtype, low=low, high=high, seed=2024).shards.data
    first, end = convert(np.array([low, high], np.float32), dtype)
    assert first <= values.min() and values.max() < end


def test_types_of_rand(mesh: MeshDevice) -> None:
    rows = rand([64, 64], mesh, dtype=DataType.BFLOAT8_B, layout=Layout.ROW_MAJOR)
    assert (rows.dtype, rows.layout) == (DataType.BFLOAT16, Layout.ROW_MAJOR)
    for dtype, layout, words in (
        (DataType.UINT8, Layout.TILE, r"\[ttnn::rand\] Output dtype DataType::UINT8 is not supported."),
        (DataType.BFLOAT4_B, Layout.ROW_MAJOR, "Only TILE layout is supported for BFLOAT8_B dtype!"),
    ):
        with pytest.raises(RuntimeError, match=words):
            rand([64, 64], mesh, dtype=dtype, layout=layout)


@pytest.mark.parametrize("seed", [-1, 1 << 32, 1.5, "x"])
def test_seeds_of_rand(mesh: MeshDevice, seed: Any) -> None:
    with pytest.raises(TypeError, match="seed must be a whole number from 0 to 4294967295"):
        rand([4, 4], mesh, seed=seed)


def test_rand_needs_room_between_its_bounds(mesh: MeshDevice) -> None:
    for dtype in (DataType.BFLOAT16, DataType.INT32):
        with pytest.raises(RuntimeError, match=r"must be less than upper bound, got \[1, 0\)"):
            rand([4, 4], mesh, dtype=dtype, low=1, high=0)


def test_rows_of_rand_in_pieces_that_are_no_tiles(mesh: MeshDevice) -> None:
    cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(1, 0))])
    place = MemoryConfig(
        TensorMemoryLayout.HEIGHT_SHARDED,
        BufferType.L1,
        ShardSpec(cores, [20, 64], ShardOrientation.ROW_MAJOR),
    )
    with pytest.raises(RuntimeError, match=r"Physical shard shape \(20, 64\) must be tile"):
        rand((40, 64), mesh, layout=Layout.ROW_MAJOR, memory_config=place)
    assert zeros((40, 64), layout=Layout.ROW_MAJOR, device=mesh, memory_config=place).is_sharded()


def test_rand_over_a_mapper_has_distinct_shards(mesh: MeshDevice) -> None:
    tensor = rand([16, 4], mesh, seed=1, mesh_mapper=MeshMapperConfig(0, 1))
    assert tensor.shape == [8, 1]
    assert len(np.unique(tensor.shards.data.reshape(8, -1), axis=0)) == 8


def test_like(mesh: MeshDevice) -> None:
    source = from_torch(
        np.zeros((8, 32), np.float32), dtype=DataType.BFLOAT16, layout=Layout.TILE,
        mesh_mapper=ShardTensorToMesh(mesh, 0), device=mesh,
    )  # fmt: skip
    assert source is not None
    for tensor, value in (
        (zeros_like(source), 0),
        (ones_like(source), 1),
        (full_like(source, 3), 3),
        (empty_like(source), 0),
    ):
        assert tensor.spec == source.spec
        assert tensor.device() is mesh
        assert str(tensor.tensor_topology()) == str(source.tensor_topology())
        assert np.array_equal(tensor.to_numpy(ConcatMeshToTensor(mesh, 0)), np.full((8, 32), value))
    other = ones_like(source, dtype=DataType.FLOAT32, layout=Layout.ROW_MAJOR)
    assert (other.dtype, other.layout, str(other.tensor_topology().placements())) == (
        DataType.FLOAT32,
        Layout.ROW_MAJOR,
        "[PlacementReplicate()]",
    )
    assert ones_like(zeros([2])).device() is None
    far = from_torch(
        np.zeros((8, 32), np.float32), dtype=DataType.BFLOAT16, layout=Layout.TILE, mesh_mapper=ShardTensorToMesh(mesh, 0)
    )  # fmt: skip
    moved = ones_like(far, device=mesh)
    assert str(moved.tensor_topology().placements()) == "[PlacementReplicate()]"
    assert all(np.all(np.asarray(moved.shards.of(rank), np.float32) == 1) for rank in range(8))
