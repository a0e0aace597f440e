"""Indexing, reshape, padding, layouts and element types of existing tensors (reference library 0.81.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import basic_indices

from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.conversion.framing import frame_of
from tt_run.runtime.tensor.conversion.layouts import to_dtype, to_layout, to_memory_config, typecast
from tt_run.runtime.tensor.conversion.shaping import take
from tt_run.runtime.tensor.distribution.composers import ConcatMeshToTensor
from tt_run.runtime.tensor.distribution.mappers import ShardTensorToMesh
from tt_run.runtime.tensor.spec.memory_config import L1_MEMORY_CONFIG
from tt_run.runtime.tensor.tensor import Tensor


def ar(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def made(array: Any, **options: Any) -> Tensor:
    tensor = from_torch(array, **options)
    assert tensor is not None
    return tensor


def has_steps(key: Any) -> bool:
    keys = key if isinstance(key, tuple) else (key,)
    return any(isinstance(k, slice) and k.step not in (None, 1) for k in keys)


def counts_back(key: Any) -> bool:
    keys = key if isinstance(key, tuple) else (key,)
    return any(isinstance(k, slice) and min(k.start or 0, k.stop or 0) < 0 for k in keys)


@given(
    basic_indices((4, 5, 6), allow_newaxis=False).filter(
        lambda key: not has_steps(key) and not counts_back(key)
    )
)
def test_host_indexing_is_numpys(key: Any) -> None:
    assert np.array_equal(take(made(ar(4, 5, 6)), key).to_numpy(), ar(4, 5, 6)[key])


def test_indexing_acts_on_each_shard(mesh: MeshDevice) -> None:
    tensor = made(ar(16, 3), mesh_mapper=ShardTensorToMesh(mesh, 0), device=mesh)
    first = tensor[0]
    assert first.shape == [3]
    assert np.array_equal(first.to_numpy(ConcatMeshToTensor(mesh, 0)).reshape(8, 3), ar(16, 3)[::2])
    strided = tensor[:, ::2]
    assert np.array_equal(strided.to_numpy(ConcatMeshToTensor(mesh, 0)), ar(16, 3)[:, ::2])


def test_bad_indices() -> None:
    tensor = made(ar(2, 3))
    with pytest.raises(RuntimeError, match="Host tensors cannot be accessed with non-unit stride"):
        tensor[::2]
    with pytest.raises(TypeError, match="counts from the start: write 1:3 for dimension 1"):
        tensor[:, -2:]
    with pytest.raises(IndexError, match="Too many indices for tensor of dimension 2"):
        tensor[0, 0, 0]
    with pytest.raises(
        IndexError, match=r"Index 5 \(converted to 5\) is out of bounds for dimension 1 of size 3"
    ):
        tensor[0, 5]
    with pytest.raises(ValueError, match="Only one ellipsis"):
        tensor[..., ...]
    with pytest.raises(TypeError, match="Invalid slice type"):
        tensor["a"]
    assert tensor[1, -1].to_list() == 5.0 and tensor[-2, 0].to_list() == 0.0
    for key in (2, -3):
        with pytest.raises(IndexError, match=f"Index {key} .* is out of bounds for dimension 0 of size 2"):
            take(tensor, key)
    with pytest.raises(TypeError, match="'NoneType' object is not iterable"):
        take(tensor, None)
    with pytest.raises(TypeError, match="counts from the start: write 0:1 for dimension 0"):
        take(tensor, slice(None, -1))
    assert take(tensor, (..., slice(0, 1))).to_list() == [[0], [3]]
    with pytest.raises(IndexError, match="Too many indices for tensor of dimension 2"):
        take(tensor, (0, 0, ..., 0))


def test_iteration_ends() -> None:
    assert [row.to_list() for row in made(ar(2, 2))] == [[0, 1], [2, 3]]


@given(st.sampled_from([(4, 6), (24,), (2, 3, 4), (2, -1), (-1,), (1, 24, 1)]))
def test_reshape_keeps_the_elements(shape: tuple[int, ...]) -> None:
    tensor = made(ar(4, 6), dtype=DataType.BFLOAT16, layout=Layout.TILE)
    found = tensor.reshape(shape)
    assert np.array_equal(found.to_numpy(), ar(4, 6).reshape(shape))
    assert np.array_equal(tensor.reshape(list(shape)).to_numpy(), found.to_numpy())
    assert (found.dtype, found.layout) == (tensor.dtype, tensor.layout)


def test_bad_reshapes() -> None:
    tensor = made(ar(4, 6))
    with pytest.raises(RuntimeError, match="more than 1 elements that is set to -1"):
        tensor.reshape([-1, -1])
    with pytest.raises(RuntimeError, match="elements"):
        tensor.reshape([5, 5])
    for shape in ([5, -1], [0, -1]):
        with pytest.raises(RuntimeError, match="lengths beside -1 must divide 24"):
            tensor.reshape(shape)
    with pytest.raises(RuntimeError, match=r"shape \[2, 13\] has 26 elements, tensor has 24"):
        tensor.reshape([2, 13])
    assert made(ar(0, 3)).reshape([-1, 2]).shape == [0, 2]


def test_reshape_rounds_block_floats_anew() -> None:
    values = np.array([[1.0] * 8 + [1000.0] * 8, [1.0] * 16], np.float32)
    tensor = made(values, dtype=DataType.BFLOAT8_B)
    assert tensor.to_list()[0][0] == 0.0
    assert tensor.reshape([4, 8]).to_list()[2] == [1.0] * 8


def test_padding_and_cropping() -> None:
    tensor = made(ar(1, 1, 3, 3), dtype=DataType.UINT16)
    padded = tensor.pad([1, 1, 5, 5], [0, 0, 1, 1], 7)
    around = np.pad(ar(3, 3), 1, constant_values=7)
    assert padded.shape == [1, 1, 3, 3]
    assert padded.padded_shape == [1, 1, 5, 5]
    # The logical part begins at the origin, as in the reference: what lies beyond it is padding.
    assert np.array_equal(padded.to_numpy()[0, 0], around[:3, :3])
    assert padded.unpad([0, 0, 0, 0], [1, 1, 5, 5]).to_list() == [[around.tolist()]]
    assert padded.unpad([0, 0, 1, 1], [1, 1, 4, 4]).to_list() == tensor.to_list()
    tiled = tensor.pad_to_tile(0)
    assert (tiled.shape, tiled.padded_shape) == ([1, 1, 3, 3], [1, 1, 32, 32])
    assert tiled.unpad_from_tile([1, 1, 3, 3]).to_list() == tensor.to_list()
    for wrong, shape, said in (
        (tensor, [1, 1, 3, 3], "input shape must be multiples of 32"),
        (tiled.to(Layout.TILE), [1, 1, 3, 3], "layout must be ROW_MAJOR"),
        (tensor.pad_to_tile(0).pad([1, 1, 64, 32], [0] * 4, 0), [1, 1, 3, 3], "within range"),
    ):
        with pytest.raises(RuntimeError, match=said):
            wrong.unpad_from_tile(shape)
    assert tensor.pad([1, 1, 3, 3], [0, 0, 0, 0], 7).padded_shape == [1, 1, 3, 3]


def test_pages_of_a_buffer(mesh: MeshDevice) -> None:
    tiles = made(ar(1, 1, 40, 70), dtype=DataType.BFLOAT16, layout=Layout.TILE, device=mesh)
    assert (tiles.buffer_num_pages(), tiles.buffer_page_size(), tiles.buffer_aligned_page_size()) == (
        6,
        2048,
        2048,
    )
    rows = made(ar(1, 1, 40, 71), dtype=DataType.BFLOAT16, device=mesh)
    assert (rows.buffer_num_pages(), rows.buffer_page_size(), rows.buffer_aligned_page_size()) == (
        40,
        142,
        160,
    )
    assert rows.buffer_unique_id() != tiles.buffer_unique_id() != made(ar(2, 2)).buffer_unique_id()
    with pytest.raises(RuntimeError, match="Expected Tensor with DeviceStorage"):
        made(ar(2, 2)).buffer_num_pages()
    rows.deallocate()
    for ask in (rows.buffer_num_pages, rows.buffer_page_size, rows.buffer_aligned_page_size):
        with pytest.raises(RuntimeError, match="Tensor is not allocated"):
            ask()


def test_padding_needs_the_host_and_room(mesh: MeshDevice) -> None:
    with pytest.raises(RuntimeError, match="needs a tensor in host memory"):
        made(ar(2, 2), device=mesh).pad([3, 3], [0, 0], 0)
    for shape, starts in (([2, 2], [1, 0]), ([3, 3], [-1, 0]), ([3, 3], [0, 2]), ([3, 3, 3], [0, 0])):
        with pytest.raises(RuntimeError, match="does not fit"):
            made(ar(2, 2)).pad(shape, starts, 0)
    for starts, ends in (([0, 0], [3, 2]), ([-1, 0], [1, 1]), ([1, 0], [0, 1]), ([0], [1])):
        with pytest.raises(RuntimeError, match="is not inside"):
            made(ar(2, 2)).unpad(starts, ends)
    assert made(ar(2, 2)).unpad([1, 1], [1, 2]).shape == [0, 1]


def test_to_layout(mesh: MeshDevice) -> None:
    tensor = made(ar(3, 5))
    tiled = to_layout(tensor, Layout.TILE)
    assert (tiled.padded_shape, tiled.to_list()) == ([32, 32], tensor.to_list())
    assert to_layout(tiled, Layout.TILE).to_list() == tiled.to_list()
    assert (
        to_layout(tensor, Layout.TILE, DataType.BFLOAT16).dtype is DataType.FLOAT32
    )  # a host tensor keeps its own
    blocks = made(ar(3, 5), dtype=DataType.BFLOAT8_B)
    stayed = to_layout(blocks, Layout.ROW_MAJOR)  # block floats cannot leave their tiles on the host
    assert (stayed.dtype, stayed.layout) == (DataType.BFLOAT8_B, Layout.TILE)
    assert to_layout(blocks.to(mesh), Layout.ROW_MAJOR).dtype is DataType.BFLOAT16
    assert to_layout(tensor.to(mesh), Layout.TILE, DataType.BFLOAT8_B).dtype is DataType.BFLOAT8_B


def test_to_dtype(mesh: MeshDevice) -> None:
    tensor = made(ar(32, 32) + 0.3)
    assert to_dtype(tensor, DataType.INT32).to_list() == ar(32, 32).tolist()
    blocks = to_dtype(tensor, DataType.BFLOAT8_B)
    assert (blocks.dtype, blocks.layout) == (DataType.BFLOAT8_B, Layout.TILE)
    assert to_dtype(blocks, DataType.FLOAT32).to_list() == blocks.to_list()
    with pytest.raises(
        RuntimeError, match="to_dtype: Converting layout to Layout::TILE implicitly changed physical shape"
    ):
        to_dtype(made(ar(3, 5)), DataType.BFLOAT8_B)
    with pytest.raises(RuntimeError, match="to_dtype: Tensor must be on host"):
        to_dtype(tensor.to(mesh), DataType.BFLOAT16)


def test_the_padding_of_a_block_float_takes_no_part_in_its_exponents() -> None:
    values = np.arange(1, 16, dtype=np.float32).reshape(1, 1, 3, 5) * 1e-6
    tiled = to_layout(from_torch(values), Layout.TILE)
    assert np.allclose(to_dtype(tiled, DataType.BFLOAT8_B).to_numpy(), values, rtol=0.05)


def test_typecast_and_memory(mesh: MeshDevice) -> None:
    tensor = made(ar(2, 2) + 0.7, device=mesh)
    assert typecast(tensor, DataType.UINT16).dtype is DataType.UINT16
    assert typecast(tensor, DataType.FLOAT32, DataType.INT32).dtype is DataType.INT32
    with pytest.raises(RuntimeError, match="does not match the tensor's"):
        typecast(tensor, DataType.BFLOAT16, DataType.INT32)
    target = made(np.zeros((2, 2), np.int32), device=mesh)
    assert typecast(tensor, DataType.INT32, output_tensor=target).storage is target.storage
    assert target.shards.of(0).tolist() == [[0, 1], [2, 3]]  # type: ignore[union-attr]
    assert to_memory_config(tensor, L1_MEMORY_CONFIG).memory_config() == L1_MEMORY_CONFIG


@pytest.mark.parametrize("shape", [(3, 5), (32, 33), (32, 64)])
def test_a_frame_has_the_padding_of_its_tiles(shape: tuple[int, int]) -> None:
    tensor = made(ar(*shape) + 1, layout=Layout.TILE)
    (frame,) = frame_of(tensor).data
    assert frame.shape == tuple(tensor.padded_shape)
    assert np.array_equal(frame[: shape[0], : shape[1]], ar(*shape) + 1) and np.count_nonzero(
        frame
    ) == np.prod(shape)
    assert frame_of(made(ar(*shape))).data.shape[1:] == shape
