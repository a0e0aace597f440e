"""What a tensor says of itself, and the forms of its constructor (reference library 0.81.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tt_run.runtime.cores import CoreCoord, CoreRange, CoreRangeSet
from tt_run.runtime.enums import (
    BufferType,
    DataType,
    Layout,
    ShardOrientation,
    StorageType,
    TensorMemoryLayout,
)
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.coordinate import MeshCoordinate
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.mesh.opening import open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.borders.files import dump_tensor
from tt_run.runtime.tensor.distribution.mappers import (
    ReplicateTensorToMesh,
    ShardTensor2dMesh,
    ShardTensorToMesh,
)
from tt_run.runtime.tensor.distribution.per_device import get_device_tensors
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    ShardSpec,
)
from tt_run.runtime.tensor.spec.tensor_spec import Shape, TensorSpec, Tile
from tt_run.runtime.tensor.tensor import Tensor, next_tensor_id, observe
from tt_run.runtime.values.scratch_arrays import BLOCK
from tt_run.runtime.values.shards import Shards

FORMS = "incompatible function arguments. The following argument types are supported"


def host(array: Any, **options: Any) -> Tensor:
    made = from_torch(np.asarray(array), **options)
    assert made is not None
    return made


def test_an_undistributed_tensor() -> None:
    tensor = host(np.zeros((3, 5), np.float32))
    assert (tensor.shape, tensor.dtype, tensor.layout) == ([3, 5], DataType.FLOAT32, Layout.ROW_MAJOR)
    assert (tensor.get_dtype(), tensor.get_layout(), tensor.get_tile()) == (
        tensor.dtype,
        tensor.layout,
        tensor.tile,
    )
    assert tensor.storage_type() is StorageType.HOST
    assert (tensor.device(), tensor.devices(), tensor.is_allocated(), tensor.is_sharded()) == (
        None,
        [None],
        True,
        False,
    )
    assert (tensor.logical_volume(), tensor.volume(), tensor.element_size()) == (15, 15, 4)
    assert tensor.memory_config() == DRAM_MEMORY_CONFIG
    assert str(tensor.tensor_topology()) == (
        "TensorTopology(distribution_shape=MeshShape([1]), placements=SmallVector([PlacementReplicate()]), "
        "mesh_coords=MeshCoordinate([0, 0]))"
    )
    assert tensor.host_buffer().shape() == MeshShape(1, 1)
    with pytest.raises(RuntimeError, match="StorageType::HOST doesn't support buffer_address method"):
        tensor.buffer_address()


@pytest.mark.parametrize(("shape", "padded"), [
    ((7,), [32, 32]), ((3, 5), [32, 32]), ((2, 33, 64), [2, 64, 64]), ((1, 1, 32, 32), [1, 1, 32, 32]), ((0, 4), [0, 32]),
])  # fmt: skip
def test_tiles_pad_the_last_two_dimensions(shape: tuple[int, ...], padded: list[int]) -> None:
    tensor = host(np.zeros(shape, np.float32), layout=Layout.TILE)
    assert tensor.shape == shape
    assert tensor.padded_shape == padded
    assert tensor.volume() == int(np.prod(padded))


def test_rank_0() -> None:
    tensor = host(np.float32(3).reshape(()))
    assert (str(tensor.shape), str(tensor.padded_shape), tensor.item()) == ("Shape([])", "Shape([1])", 3.0)


def test_other_tiles() -> None:
    tensor = host(np.zeros((3, 5), np.float32), layout=Layout.TILE, tile=Tile((16, 32)))
    assert tensor.padded_shape == [16, 32]
    assert str(tensor.tile) == "Tile with shape: [16, 32]"
    with pytest.raises(RuntimeError, match="Tile size is not valid for our hardware"):
        Tile((7, 7))


def test_item_and_list() -> None:
    assert host([[3]]).item() == 3
    assert host(np.array([[1, 2], [3, 4]], np.int32)).to_list() == [[1, 2], [3, 4]]
    with pytest.raises(
        RuntimeError, match=r"tensor.item\(\) requires tensor to have exactly one element, but got 2 elements"
    ):
        host([1, 2]).item()


def test_device_tensors(mesh: MeshDevice) -> None:
    tensor = host(np.arange(4, dtype=np.float32), device=mesh, memory_config=L1_MEMORY_CONFIG)
    assert tensor.storage_type() is StorageType.DEVICE
    assert tensor.device() is mesh
    assert tensor.devices() == [mesh]
    assert tensor.memory_config() == L1_MEMORY_CONFIG
    assert len(tensor.device_coords()) == 8
    assert isinstance(tensor.buffer_address(), int)
    with pytest.raises(RuntimeError, match="Tensor must be on host to access host_buffer"):
        tensor.host_buffer()
    back = tensor.cpu()
    assert back.storage_type() is StorageType.HOST
    assert str(back.tensor_topology()) == str(tensor.tensor_topology())
    assert back.host_buffer().shape() == MeshShape(2, 4)


def test_a_device_without_mapper_means_replication(mesh: MeshDevice) -> None:
    tensor = host(np.zeros((4, 4), np.float32), device=mesh)
    assert str(tensor.tensor_topology().placements()) == "[PlacementReplicate()]"
    assert tensor.tensor_topology().distribution_shape() == MeshShape([8])
    assert tensor.shards.data.nbytes == 64


def test_replication_over_32_devices_takes_the_memory_of_one(
    monkeypatch: pytest.MonkeyPatch, mesh: MeshDevice
) -> None:
    from tt_run.runtime.tensor.spec.site import local_site

    site: Any = local_site((8, 4))
    tensor = host(np.zeros((64, 64), np.float32), mesh_mapper=ReplicateTensorToMesh(site))
    assert len(tensor.shards.index) == 32
    assert tensor.shards.data.nbytes == 64 * 64 * 4


def test_to_moves_and_lays_out(mesh: MeshDevice) -> None:
    tensor = host(np.zeros((4, 4), np.float32))
    assert tensor.to(Layout.TILE).layout is Layout.TILE
    assert tensor.to(mesh).device() is mesh
    assert tensor.to(mesh, L1_MEMORY_CONFIG).memory_config() == L1_MEMORY_CONFIG


def test_a_tensor_of_another_mesh_shape_does_not_move(mesh: MeshDevice, row: MeshDevice) -> None:
    tensor = host(np.zeros(8, np.float32), mesh_mapper=ShardTensorToMesh(mesh, 0))
    with pytest.raises(RuntimeError, match=r"distributed over mesh shape MeshShape\(\[2, 4\]\)"):
        tensor.to(row)


def test_host_tensors_outlive_their_mesh() -> None:
    device = open_mesh_device(MeshShape(1, 2))
    tensor = host(
        np.arange(4, dtype=np.float32), mesh_mapper=ShardTensorToMesh(device, 0), device=device
    ).cpu()
    device.close()
    buffer = tensor.host_buffer()
    row = buffer.get_shard(MeshCoordinate(0, 1))
    assert row is not None
    assert np.from_dlpack(row).view(np.float32).tolist() == [2, 3]
    assert len(row) == 8 and len(type(row)()) == 0
    with pytest.raises(
        RuntimeError,
        match=r"(?s)help: from MeshCoordinate\(\[0, 0\]\) to MeshCoordinate\(\[0, 1\]\)\n.*"
        r"MeshCoordinate\(\[1, 0\]\) is out of bounds for shape MeshShape",
    ):
        buffer.is_local(MeshCoordinate(1, 0))
    tile = host(np.zeros(4, np.float32), layout=Layout.TILE).host_buffer().get_shard(MeshCoordinate(0, 0))
    assert tile is not None
    assert len(tile) == 32 * 32 * 4


def test_reading_after_deallocate_is_an_error(mesh: MeshDevice) -> None:
    tensor = host(np.zeros(4, np.float32), device=mesh)
    tensor.deallocate()
    assert not tensor.is_allocated()
    assert tensor.shape == [4]
    for read in (tensor.to_list, tensor.cpu, lambda: tensor[0], lambda: tensor.reshape([2, 2])):
        with pytest.raises(RuntimeError, match="Tensor is not allocated"):
            read()
    on_host = host([1.0], dtype=DataType.FLOAT32)
    on_host.deallocate()
    assert on_host.item() == 1.0


def test_a_closed_mesh_gives_nothing_and_takes_nothing(tmp_path: Path) -> None:
    device = open_mesh_device(MeshShape(1, 2))
    tensor = host(np.zeros(4, np.float32), device=device)
    device.close()
    file = tmp_path / "a.tensorbin"
    for use in (
        tensor.cpu,
        tensor.to_numpy,
        lambda: dump_tensor(file, tensor),
        lambda: host([1.0], dtype=DataType.FLOAT32).to(device),
    ):
        with pytest.raises(RuntimeError, match="is closed"):
            use()


def test_what_a_tensor_shares_with_others(mesh: MeshDevice) -> None:
    tensor = host(np.zeros(4, np.float32), device=mesh)
    assert tensor.buffer_unique_id() == tensor.alias().buffer_unique_id() is not None
    assert not tensor.shared()  # the other one is gone
    other = tensor.alias()
    assert tensor.shared() and other.shared() and other.buffer_address() == tensor.buffer_address()
    tensor.deallocate()
    assert tensor.is_allocated()
    tensor.deallocate(force=True)
    assert not other.is_allocated() and other.buffer_unique_id() is None
    on_host = host(np.zeros(4, np.float32))
    on_host.deallocate(force=True)
    assert on_host.is_allocated() and on_host.buffer_unique_id() is None
    twin = on_host.twin()
    assert twin.storage is on_host.storage and twin.tensor_id == on_host.tensor_id + 1
    twin.tensor_id = 7
    assert twin.tensor_id == 7 and next_tensor_id() + 1 == host(np.ones(1, np.float32)).tensor_id


def test_addresses_of_each_core_are_those_of_the_buffer(mesh: MeshDevice) -> None:
    memory = MemoryConfig(buffer_type=L1_MEMORY_CONFIG.buffer_type)
    plain = host(np.zeros(4, np.float32), device=mesh, memory_config=L1_MEMORY_CONFIG)
    assert not plain.is_per_core_allocated() and not plain.is_range_lockstep_allocated()
    memory.experimental_set_per_core_allocation(True)
    own = host(np.zeros(4, np.float32), device=mesh, memory_config=memory)
    assert own.is_per_core_allocated() and not own.is_range_lockstep_allocated()
    address = own.experimental_per_core_buffer_address(MeshCoordinate(0, 0), CoreCoord(0, 0))
    assert address == own.buffer_address()


def test_who_asks_is_told_of_every_tensor() -> None:
    seen: list[Tensor] = []
    other: list[Tensor] = []
    leave, leave_other = observe(seen.append), observe(other.append)
    first = host(np.ones(1, np.float32))
    leave()
    second = host(np.ones(1, np.float32))
    leave_other()
    host(np.ones(1, np.float32))
    assert seen == [first] and other == [first, second]


def test_bits_are_there_for_bfloat16_that_nobody_else_sees(mesh: MeshDevice) -> None:
    values = np.arange(1 << 17, dtype=np.float32).astype(ml_dtypes.bfloat16)
    tensor = host(values.astype(np.float32), dtype=DataType.BFLOAT16, device=mesh, layout=Layout.TILE)
    assert tensor.bits_at_rest() is None
    tensor.rest()
    bits = tensor.bits_at_rest()
    assert bits is not None and np.array_equal(bits.reshape(-1), values.view(np.uint16))
    assert tensor.shard_index == (0,) * 8
    bits[...] = 0x4000
    tensor.written_at_rest()
    assert set(get_device_tensors(tensor)[7].to_numpy().tolist()) == {2.0}
    other = host(np.zeros(1 << 17, np.int32), device=mesh)
    other.rest()
    assert other.bits_at_rest() is None and not get_device_tensors(other)[0].to_numpy().any()


@pytest.mark.parametrize(
    ("corner", "memory", "text"),
    [
        ((7, 7), "L1", ""),
        ((8, 0), "L1", "has no L1 bank"),
        ((11, 0), "DRAM", ""),
        ((12, 0), "DRAM", "has no DRAM bank"),
    ],
)
def test_pieces_lie_on_cores_that_there_are(
    mesh: MeshDevice, corner: tuple[int, int], memory: str, text: str
) -> None:
    cores = CoreRangeSet([CoreRange(CoreCoord(*corner), CoreCoord(*corner))])
    spec = ShardSpec(cores, [32, 32], ShardOrientation.ROW_MAJOR)
    config = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType[memory], spec)
    array = np.zeros((32, 32), np.float32)
    tensor = host(array, layout=Layout.TILE, device=mesh)
    for make in (
        lambda: host(array, layout=Layout.TILE, device=mesh, memory_config=config),
        lambda: tensor.derive(tensor.shards, memory_config=config),
        lambda: Tensor.of(
            tensor.shards,
            dtype=tensor.dtype,
            layout=Layout.TILE,
            device=mesh,
            memory_config=config,
            fits=True,
        ),
    ):
        if text:
            with pytest.raises(RuntimeError, match=text):
                make()
        else:
            assert make().memory_config() == config and make().is_sharded()
    assert not host(array, layout=Layout.TILE, memory_config=config).is_sharded()  # the host has no cores


def test_shards_that_name_no_cores_lie_where_the_operand_does(mesh: MeshDevice) -> None:
    tensor = host(np.zeros((256, 64), np.float32), layout=Layout.TILE, device=mesh)
    made = tensor.derive(
        tensor.shards, memory_config=MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1)
    )
    spec = made.memory_config().shard_spec
    assert spec is not None and (spec.shape, spec.num_cores()) == ([32, 64], 8)
    rows = host(np.zeros((3, 64), np.float32), device=mesh)
    made = rows.derive(
        rows.shards, memory_config=MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1)
    )
    spec = made.memory_config().shard_spec
    assert spec is not None and (spec.shape, spec.num_cores()) == ([1, 64], 3)


def test_tensors_are_told_apart_as_objects() -> None:
    a, b = host([1], dtype=DataType.INT32), host([1], dtype=DataType.INT32)
    assert a.tensor_id != b.tensor_id
    assert len({a, b, a}) == 2


def test_constructor_from_values() -> None:
    tensor = Tensor([1.0, 2.0, 3.0, 4.0], [2, 2], DataType.BFLOAT16, Layout.TILE)
    assert (tensor.shape, tensor.padded_shape, tensor.to_list()) == ([2, 2], [32, 32], [[1, 2], [3, 4]])
    assert Tensor([1, 2], [2], DataType.UINT32, Layout.ROW_MAJOR).to_list() == [1, 2]
    with pytest.raises(RuntimeError, match="Buffer size 3 differs from shape volume 4"):
        Tensor([1.0, 2.0, 3.0], [2, 2], DataType.FLOAT32, Layout.ROW_MAJOR)


def test_constructor_from_arrays_and_tensors(mesh: MeshDevice) -> None:
    array = np.arange(8, dtype=np.float32)
    tensor = Tensor(
        tensor=array, data_type=DataType.BFLOAT16, device=mesh, mesh_mapper=ShardTensorToMesh(mesh, 0)
    )
    assert (tensor.shape, tensor.dtype, tensor.device()) == ([1], DataType.BFLOAT16, mesh)
    assert Tensor(array).to_list() == array.tolist()
    twin = Tensor(tensor)
    assert twin.storage is tensor.storage


@pytest.mark.parametrize("arguments", [
    {"tensor": [[1.0, 2.0]]},
    {"tensor": np.zeros(2, np.float32), "dtype": DataType.BFLOAT16},
    {},
])  # fmt: skip
def test_constructor_lists_its_forms(arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=FORMS):
        Tensor(**arguments)


def test_element_types_of_arrays() -> None:
    for source, dtype in (
        (np.zeros(1, np.int64), DataType.UINT32),
        (np.zeros(1, np.int16), DataType.UINT16),
        (np.zeros(1, bool), DataType.UINT8),
        (np.zeros(1, ml_dtypes.bfloat16), DataType.BFLOAT16),
    ):
        assert host(source).dtype is dtype
    for unknown in (np.complex64, np.float16):
        with pytest.raises(RuntimeError, match="ndarray_import failed"):
            host(np.zeros(1, unknown))


def test_numpy_types_that_come_back() -> None:
    names = {
        DataType.BFLOAT16: "float32",
        DataType.BFLOAT8_B: "float32",
        DataType.UINT16: "uint16",
        DataType.INT32: "int32",
    }
    for dtype, name in names.items():
        assert host(np.ones((2, 2), np.float32), dtype=dtype, layout=Layout.TILE).to_numpy().dtype == name


def test_from_torch_options() -> None:
    array = np.arange(4, dtype=np.float32).reshape(2, 2)
    spec = TensorSpec(Shape([2, 2]), DataType.BFLOAT16, Layout.TILE)
    assert host(array, spec=spec).spec == spec
    assert from_torch(None) is None
    for name, value in {
        "dtype": DataType.BFLOAT16,
        "layout": Layout.TILE,
        "memory_config": DRAM_MEMORY_CONFIG,
    }.items():
        with pytest.raises(RuntimeError, match=f"{name} must be None when spec is specified"):
            host(array, spec=spec, **{name: value})
    with pytest.raises(RuntimeError, match="must be the same as tensor shape"):
        host(array[:1], spec=spec)
    with pytest.raises(RuntimeError, match="Shard spec must not be None for sharded tensors"):
        host(array, memory_config=MemoryConfig(type(DRAM_MEMORY_CONFIG.memory_layout).HEIGHT_SHARDED))
    for numbers in ([1, 2], (1, 2), 1, 1.5):
        with pytest.raises(TypeError, match=r"a NumPy array, got \w+\nhelp: write numpy\.array\(values"):
            from_torch(numbers)
    with pytest.raises(TypeError, match=r"a NumPy array, got dict$"):
        from_torch({})
    with pytest.raises(
        RuntimeError, match=r"(?s)a NumPy array of float16 is not taken.*ndarray_import failed"
    ):
        host(np.zeros(2, np.float16))
    with pytest.raises(RuntimeError, match="Layout must be Layout::TILE for bfloat8_b or bfloat4_b!"):
        host(array, dtype=DataType.BFLOAT8_B, layout=Layout.ROW_MAJOR)


def test_col_tilize_swaps_the_last_dimensions() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensor = host(array, dtype=DataType.BFLOAT8_B, col_tilize=True)
    assert tensor.to_list() == array.T.tolist()
    assert host(array, dtype=DataType.BFLOAT4_B, layout=Layout.TILE, col_tilize=True).shape == [3, 2]
    spec = TensorSpec(Shape([2, 3]), DataType.BFLOAT8_B, Layout.TILE)
    for options, text in (
        ({}, "requires BFP dtype"),
        ({"dtype": DataType.BFLOAT16}, "requires BFP dtype"),
        (
            {"dtype": DataType.BFLOAT8_B, "layout": Layout.ROW_MAJOR},
            "requires layout to be None or ttnn.TILE_LAYOUT",
        ),
        ({"dtype": DataType.BFLOAT8_B, "spec": spec}, "col_tilize=True is not supported with spec"),
    ):
        with pytest.raises(RuntimeError, match=text):
            host(array, col_tilize=True, **options)
    with pytest.raises(RuntimeError, match=r"requires tensor\.ndim >= 2"):
        host(array[0], dtype=DataType.BFLOAT8_B, col_tilize=True)
    many = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    made = Tensor(many, data_type=DataType.FLOAT32, col_tilize=True)
    assert made.to_list() == many.swapaxes(1, 2).tolist()


def test_to_torch_without_torch_gives_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    from tt_run.runtime.tensor.borders import arrays

    monkeypatch.setattr(arrays.importlib.util, "find_spec", lambda name: None)
    tensor = host(np.ones((1, 1, 2), np.float32), dtype=DataType.BFLOAT16)
    values = arrays.to_torch(tensor, torch_rank=1)
    assert (type(values), values.dtype, values.shape) == (np.ndarray, np.float32, (2,))
    assert arrays.to_torch(tensor, np.float64).dtype == np.float64
    assert (
        arrays.to_torch(tensor, torch_rank=3).shape
        == arrays.to_torch(tensor, torch_rank=4).shape
        == (1, 1, 2)
    )
    with pytest.raises(RuntimeError, match="ttnn: Unable to squeeze to desired rank!"):
        arrays.to_torch(host(np.ones((2, 2), np.float32)), torch_rank=1)


@pytest.mark.parametrize(
    ("placements", "hint"),
    [
        ((None, None), "every device holds a copy: ttnn.get_device_tensors(tensor)[0] is the first"),
        ((None, 1), "mesh_composer=ttnn.ConcatMeshToTensor(mesh_device, dim=1), or ttnn.get_device_tensors"),
        (
            (0, 1),
            "mesh_composer=ttnn.ConcatMesh2dToTensor(mesh_device, dims=(0, 1), mesh_shape=mesh_device.shape), or",
        ),
    ],
)
def test_reading_several_shards_names_what_puts_them_together(
    mesh: MeshDevice, placements: Any, hint: str
) -> None:
    tensor = host(np.zeros((2, 4), np.float32), mesh_mapper=ShardTensor2dMesh(mesh, (2, 4), placements))
    with pytest.raises(RuntimeError) as refused:
        tensor.to_numpy()
    assert f"help: {hint}" in str(refused.value)


@pytest.mark.parametrize("more", [0, 1])
def test_bfloat16_elements_are_taken_as_they_are(mesh: MeshDevice, more: int) -> None:
    """From a block of elements on they stay in their 16 bits."""
    values = np.arange(BLOCK + more).astype(ml_dtypes.bfloat16)
    tensor = host(values)
    assert (tensor.dtype, tensor.shards.bfloat16 is not None) == (DataType.BFLOAT16, bool(more))
    values[:] = 1
    assert tensor.to_numpy()[:3].tolist() == [0, 1, 2] and len(tensor.to_numpy()) == BLOCK + more
    assert host(values, dtype=DataType.FLOAT32).shards.bfloat16 is None


def test_scalars_over_a_mesh(mesh: MeshDevice) -> None:
    scalar = np.float32(2.5).reshape(())
    tensor = host(scalar, mesh_mapper=ReplicateTensorToMesh(mesh), device=mesh, dtype=DataType.BFLOAT16)
    assert (tensor.shape, tensor.shards.data.shape) == ([], (1,))


def test_options_of_another_kind(mesh: MeshDevice) -> None:
    array = np.zeros((2, 2), np.float32)
    with pytest.raises(
        TypeError, match=r"dtype must be a ttnn\.DataType such as ttnn\.bfloat16, got 'bfloat16'"
    ):
        host(array, dtype="bfloat16")
    with pytest.raises(TypeError, match=r"layout must be ttnn\.TILE_LAYOUT"):
        host(array, layout="tile")
    with pytest.raises(
        TypeError, match=r"expected a MeshDevice as device, got int\nhelp: give what ttnn\.open"
    ):
        host(array, device=0)


def test_a_tile_of_its_own_needs_tile_layout() -> None:
    assert host(np.zeros((2, 2), np.float32), tile=Tile((32, 32))).layout is Layout.ROW_MAJOR
    for make in (
        lambda: host(np.zeros((2, 2), np.float32), tile=Tile((16, 32))),
        lambda: TensorSpec([2, 2], DataType.BFLOAT16, Layout.ROW_MAJOR, tile=Tile((16, 32))),
    ):
        with pytest.raises(RuntimeError, match="a ROW MAJOR page config with a custom tile"):
            make()


@pytest.mark.parametrize(("memory", "addresses"), [
    (DRAM_MEMORY_CONFIG, [1049024, 1051072]), (L1_MEMORY_CONFIG, [1497088, 1495040]),
])  # fmt: skip
def test_a_buffer_given_back_leaves_its_address_to_the_next(
    mesh: MeshDevice, memory: MemoryConfig, addresses: list[int]
) -> None:
    def tiles(*shape: int) -> Tensor:
        array = np.zeros(shape, ml_dtypes.bfloat16)
        return host(array, device=mesh, layout=Layout.TILE, memory_config=memory)

    first, second = tiles(64, 64), tiles(32, 32)
    assert [first.buffer_address(), second.buffer_address()] == addresses
    first.storage.write(second.storage.shards)
    assert first.buffer_address() == addresses[0]
    first.deallocate()
    with pytest.raises(RuntimeError, match="Tensor is not allocated"):
        first.buffer_address()
    larger = tiles(512, 512)
    assert larger.buffer_address() not in addresses
    assert tiles(64, 64).buffer_address() == addresses[0]


def test_devices_without_a_new_shard_keep_theirs(mesh: MeshDevice) -> None:
    tensor = from_torch(
        np.arange(8, dtype=np.float32), device=mesh, mesh_mapper=ShardTensorToMesh(mesh, dim=0)
    )
    tensor.overwrite(Shards(np.full((1, 1), 9, np.float32), (-1, 0, *[-1] * 6)))
    assert [np.array(tensor.shards.of(position)).tolist() for position in range(8)] == [
        [n if n != 1 else 9] for n in range(8)
    ]


def test_tensors_follow_their_devices_through_a_reshape() -> None:
    device = open_mesh_device(MeshShape(2, 2))
    tensor = host(np.arange(4, dtype=np.float32), mesh_mapper=ShardTensorToMesh(device, 0), device=device)
    part, seen = get_device_tensors(tensor)[3], tensor.alias()
    device.reshape(MeshShape(1, 4))
    order = [0, 1, 3, 2]  # along the snake
    assert [one.item() for one in get_device_tensors(tensor)] == list(range(4))
    assert [int(shard.item()) for shard in tensor.shards.each() if shard is not None] == order
    assert [int(shard.item()) for shard in seen.shards.each() if shard is not None] == order  # moved once
    assert part.item() == 3 and part.device_coords() == [MeshCoordinate(0, 2)]
    assert tensor.tensor_topology().mesh_coords() == [MeshCoordinate(0, column) for column in (0, 1, 3, 2)]
    device.close()
