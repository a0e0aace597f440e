"""Tensor files of the reference: `reference_files/` holds what the reference library 0.81.1 wrote on a machine without devices."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tt_run.runtime.enums import (
    BufferType,
    DataType,
    Layout,
    ShardDistributionStrategy,
    ShardOrientation,
    TensorMemoryLayout,
)
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.mesh.geometry.shape import MeshShape
from tt_run.runtime.tensor.borders import tensorbin
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.borders.files import (
    dump_tensor,
    dump_tensor_flatbuffer,
    load_tensor,
    load_tensor_flatbuffer,
)
from tt_run.runtime.tensor.borders.flatbuffer import (
    Fields,
    Numbers,
    ScalarField,
    Struct,
    Table,
    Tables,
    flatbuffer_bytes,
)
from tt_run.runtime.tensor.borders.stored import StoredTensor
from tt_run.runtime.tensor.distribution.configs import MeshMapperConfig
from tt_run.runtime.tensor.distribution.mappers import create_mesh_mapper
from tt_run.runtime.tensor.distribution.per_device import get_device_tensors
from tt_run.runtime.tensor.spec.memory_config import (
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    MemoryConfig,
    NdShardSpec,
    ShardSpec,
)
from tt_run.runtime.tensor.spec.tensor_spec import Tile
from tt_run.runtime.tensor.spec.topology import PlacementReplicate, PlacementShard
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values import shapes

FILES = Path(__file__).with_name("reference_files")
GRID = CoreRangeSet(
    [CoreRange(CoreCoord(0, 0), CoreCoord(1, 1)), CoreRange(CoreCoord(3, 2), CoreCoord(3, 4))]
)
COLUMNS = ShardOrientation.COL_MAJOR


def ar(*shape: int, start: int = -7) -> np.ndarray:
    return np.arange(start, start + int(np.prod(shape)), dtype=np.float32).reshape(shape)


def distributed(shape: tuple[int, int], *placements: PlacementShard | PlacementReplicate) -> Any:
    return create_mesh_mapper(MeshShape(2, 4), MeshMapperConfig(list(placements), MeshShape(*shape)))


def cases() -> dict[str, tuple[np.ndarray, dict[str, Any]]]:
    width = MemoryConfig(TensorMemoryLayout.WIDTH_SHARDED, BufferType.L1, ShardSpec(GRID, [4, 8], COLUMNS))
    any_rank = MemoryConfig(BufferType.L1, NdShardSpec([1, 4, 8], GRID, COLUMNS))
    tiles = {"layout": Layout.TILE}
    return {
        "rows": (ar(2, 3, 4), {"dtype": DataType.FLOAT32}),
        "number": (np.array(3.5, np.float32), {"dtype": DataType.BFLOAT16}),
        "int8": (ar(3, 5), {"dtype": DataType.INT8}),
        "low_tiles": (ar(3, 40), {"dtype": DataType.BFLOAT16, "tile": Tile((2, 32)), **tiles}),
        "transposed": (ar(2, 4, 18), {"dtype": DataType.BFLOAT16, "tile": Tile((16, 16), True), **tiles}),
        "bfloat8_b": (ar(3, 20), {"dtype": DataType.BFLOAT8_B, "tile": Tile((4, 32)), **tiles}),
        "bfloat4_b": (ar(3, 20), {"dtype": DataType.BFLOAT4_B, **tiles}),
        "width_sharded": (ar(4, 20, start=0), {"dtype": DataType.UINT16, "memory_config": width}),
        "nd_sharded": (ar(2, 4, 10), {"dtype": DataType.INT32, "memory_config": any_rank}),
        "over_a_mesh": (
            ar(8, 2, 5),
            {"dtype": DataType.BFLOAT16, "mesh_mapper": distributed((2, 4), PlacementShard(1), PlacementShard(0))},
        ),
        "on_some_devices": (
            ar(4, 3),
            {"dtype": DataType.FLOAT32, "mesh_mapper": distributed((2, 2), PlacementShard(0), PlacementReplicate())},
        ),
    }  # fmt: skip


def made(array: np.ndarray, options: dict[str, Any]) -> Tensor:
    tensor = from_torch(array, **options)
    assert tensor is not None
    return tensor


def payload(path: Path) -> bytes:
    data = path.read_bytes()
    return data[8 + int.from_bytes(data[:8], "little") :]


def same(first: Tensor, second: Tensor) -> None:
    assert first.spec == second.spec
    assert str(first.memory_config()) == str(second.memory_config())
    assert str(first.tensor_topology()) == str(second.tensor_topology())
    assert first.shards.index == second.shards.index
    assert np.array_equal(first.shards.data, second.shards.data)


@pytest.mark.parametrize("name", cases())
def test_what_the_reference_wrote_is_read_and_written_alike(tmp_path: Path, name: str) -> None:
    expected = made(*cases()[name])
    theirs = load_tensor(FILES / f"{name}.tensorbin")
    same(theirs, expected)
    path = tmp_path / "x.tensorbin"
    dump_tensor(path, expected)
    assert payload(path) == payload(FILES / f"{name}.tensorbin")
    same(load_tensor(path), expected)


@pytest.mark.parametrize("name", cases())
@pytest.mark.parametrize("own", [False, True], ids=["theirs", "own"])
def test_a_run_in_shapes_reads_no_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, own: bool
) -> None:
    expected = load_tensor(FILES / f"{name}.tensorbin")
    path = tmp_path / "x.tensorbin"
    shutil.copy(FILES / f"{name}.tensorbin", path)
    if own:
        record = StoredTensor(
            expected.spec, expected.shards, tuple(expected.site.shape), expected.tensor_topology()
        )
        with path.open("wb") as file:
            tensorbin.write_own(file, record)
    monkeypatch.delattr(np, "fromfile")
    with shapes.only():
        found = load_tensor(path)
        assert len(found.shards.data) == 0 and found.shards.index == shapes.whole(expected.shards.index)
        assert (found.spec, found.tensor_topology()) == (expected.spec, expected.tensor_topology())
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(RuntimeError, match="instead of"):
            load_tensor(path)


def test_every_file_has_a_case() -> None:
    assert {path.stem for path in FILES.iterdir()} == set(cases())


def test_a_file_without_a_topology_is_one_copy_on_each_of_its_devices(tmp_path: Path) -> None:
    path = tmp_path / "old.tensorbin"
    halves = MeshMapperConfig([PlacementReplicate(), PlacementShard(1)])
    values = np.repeat(np.float32([11, 29]), 32).reshape(1, 64)
    dump_tensor(path, from_torch(values, mesh_mapper=create_mesh_mapper(MeshShape(1, 2), halves)))
    data = bytearray(path.read_bytes())
    root = 8 + int.from_bytes(data[8:12], "little")
    slot = root - int.from_bytes(data[root : root + 4], "little", signed=True) + 4 + 2 * 3
    data[slot : slot + 2] = bytes(2)
    path.write_bytes(data)

    found = load_tensor(path)
    topology = found.tensor_topology()
    assert list(topology.distribution_shape()) == [2] and topology.placements() == [PlacementReplicate()]
    assert [list(coord) for coord in topology.mesh_coords()] == [[0, 0], [0, 1]]
    assert [shard.to_numpy().flat[0] for shard in get_device_tensors(found)] == [11, 29]


def test_a_file_of_the_reference_goes_onto_a_device(tmp_path: Path, mesh: MeshDevice) -> None:
    tensor = load_tensor(FILES / "over_a_mesh.tensorbin", device=mesh)
    assert tensor.device() is mesh
    dump_tensor(tmp_path / "x.tensorbin", tensor)
    assert payload(tmp_path / "x.tensorbin") == payload(FILES / "over_a_mesh.tensorbin")


@pytest.mark.parametrize("options", [
    {"dtype": DataType.FP8_E4M3},
    {"dtype": DataType.BFLOAT8_B, "layout": Layout.TILE, "tile": Tile((32, 16), True)},
    {"dtype": DataType.FLOAT32, "rows": 0},
])  # fmt: skip
def test_what_the_reference_has_no_form_for_is_kept_in_our_own(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    tensor = made(ar(options.pop("rows", 3), 20), options)
    path = tmp_path / "x.tensorbin"
    dump_tensor(path, tensor)
    assert path.read_bytes().startswith(tensorbin.MAGIC)
    same(load_tensor(path), tensor)


def test_how_pieces_lie_over_cores_survives(tmp_path: Path) -> None:
    spec = NdShardSpec([2, 8], GRID, COLUMNS, ShardDistributionStrategy.GRID_2D)
    tensor = made(ar(4, 20), {"memory_config": MemoryConfig(BufferType.L1, spec)})
    dump_tensor(tmp_path / "x.tensorbin", tensor)
    loaded = load_tensor(tmp_path / "x.tensorbin").memory_config()
    assert loaded.nd_shard_spec == spec
    assert str(loaded) == str(tensor.memory_config())


@pytest.mark.parametrize(
    "dtype", [DataType.BFLOAT16, DataType.FP8_E4M3]
)  # a file of theirs, and one of our own
@pytest.mark.parametrize("any_rank", [False, True])
def test_a_file_says_what_pieces_were_made_of(tmp_path: Path, dtype: DataType, any_rank: bool) -> None:
    cut = NdShardSpec([1, 4, 8], GRID, COLUMNS) if any_rank else ShardSpec(GRID, [4, 8], COLUMNS)
    words: tuple[Any, ...] = (
        (BufferType.L1, cut) if any_rank else (TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, cut)
    )
    tensor = made(ar(4, 4, 8), {"memory_config": MemoryConfig(*words), "dtype": dtype})
    dump_tensor(tmp_path / "x.tensorbin", tensor)
    loaded = load_tensor(tmp_path / "x.tensorbin").memory_config()
    assert tensor.memory_config().created_with_nd_shard_spec is any_rank
    assert str(loaded) == str(tensor.memory_config())


@pytest.mark.parametrize("name", ["width_sharded", "transposed", "on_some_devices"])
def test_damage_is_told_and_nothing_else(tmp_path: Path, name: str) -> None:
    """Every third byte of the header turned over, one at a time: the file is refused or read, and never takes the reader elsewhere."""
    whole = (FILES / f"{name}.tensorbin").read_bytes()
    refused = 0
    for place in range(0, 8 + int.from_bytes(whole[:8], "little"), 3):
        path = tmp_path / "x.tensorbin"
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            load_tensor(path)
        except RuntimeError as error:
            assert "Unable to load the tensor from" in str(error), place
            refused += 1
    assert refused > 25


def test_a_table_takes_no_more_room_than_its_fields() -> None:
    """Where it begins; lengths and places of its fields, 0 for one that is not there; how far back those are; the fields, each at its width."""
    made = flatbuffer_bytes(Fields([ScalarField("B", 7), None, ScalarField("I", 9)]))
    assert made.hex(" ", 4) == "10000000 0a000c00 04000000 08000000 0c000000 07000000 09000000"


@pytest.mark.parametrize(
    ("length", "says"),
    [(0, ", or it is none of the reference"), (1, ": "), (5, ": "), (6, ", or it is none of the reference")],
)
def test_a_header_of_a_length_that_cannot_be(tmp_path: Path, length: int, says: str) -> None:
    path = tmp_path / "x.tensorbin"
    path.write_bytes(length.to_bytes(8, "little") + bytes(5))
    with pytest.raises(RuntimeError, match=f"The file is truncated or corrupt{says}"):
        load_tensor(path)


def test_a_cut_file_says_how_much_is_there(tmp_path: Path) -> None:
    path = tmp_path / "x.tensorbin"
    shutil.copy(FILES / "rows.tensorbin", path)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(RuntimeError, match="The file is truncated or corrupt: 92 bytes instead of 96"):
        load_tensor(path)


def test_a_written_buffer_reads_as_it_was_meant() -> None:
    inner = Fields([None, ScalarField("H", 7), Struct([1, 2**40], "Q"), Numbers([3, 4], "i")])
    root = Table.root(flatbuffer_bytes(Fields([Tables([inner, Fields([])]), ScalarField("B", 5), inner])))
    first, second = root.tables(0)
    for table in (first, root.needed(2)):
        assert (table.number(0, "I", 9), table.number(1, "H")) == (9, 7)
        assert (table.struct(2, "QQ"), table.numbers(3, "i")) == ((1, 2**40), [3, 4])
    assert (second.number(1, "H"), second.numbers(3), second.table(0), root.number(1, "B")) == (
        0,
        [],
        None,
        5,
    )
    with pytest.raises(ValueError, match="field 2 is missing"):
        second.struct(2, "QQ")


def test_the_native_functions_take_any_name_and_a_device_by_its_place(
    tmp_path: Path, mesh: MeshDevice
) -> None:
    tensor = made(*cases()["over_a_mesh"])
    dump_tensor_flatbuffer(filename=str(tmp_path / "x.bin"), tensor=tensor)
    same(load_tensor_flatbuffer(str(tmp_path / "x.bin")), tensor)
    assert load_tensor_flatbuffer(str(tmp_path / "x.bin"), mesh).device() is mesh
    with pytest.raises(RuntimeError, match="The file does not exist"):
        load_tensor_flatbuffer(str(tmp_path / "y.bin"))
