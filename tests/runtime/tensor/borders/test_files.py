"""Files of tensors and the cache of `as_tensor` (reference library 0.81.1)."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tt_run.runtime.enums import BufferType, DataType, Layout, ShardOrientation, TensorMemoryLayout
from tt_run.runtime.mesh.device import MeshDevice
from tt_run.runtime.tensor.borders import tensorbin
from tt_run.runtime.tensor.borders.arrays import from_torch, read
from tt_run.runtime.tensor.borders.files import as_tensor, dump_tensor, load_tensor
from tt_run.runtime.tensor.borders.stored import StoredTensor
from tt_run.runtime.tensor.distribution.composers import ConcatMeshToTensor
from tt_run.runtime.tensor.distribution.mappers import (
    ReplicateTensorToMesh,
    ShardTensor2dMesh,
    ShardTensorToMesh,
)
from tt_run.runtime.tensor.spec.memory_config import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    MemoryConfig,
    NdShardSpec,
    ShardSpec,
)
from tt_run.runtime.tensor.tensor import Tensor


def ar(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def made(array: Any, **options: Any) -> Tensor:
    tensor = from_torch(array, **options)
    assert tensor is not None
    return tensor


DTYPES = [
    DataType.FLOAT32,
    DataType.BFLOAT16,
    DataType.BFLOAT8_B,
    DataType.UINT32,
    DataType.UINT16,
    DataType.INT32,
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 5), (), (0, 4), (2, 3, 33)])
def test_round_trip(tmp_path: Path, dtype: DataType, shape: tuple[int, ...]) -> None:
    tensor = made(ar(*shape), dtype=dtype, layout=Layout.TILE, memory_config=L1_MEMORY_CONFIG)
    dump_tensor(tmp_path / "x.tensorbin", tensor)
    loaded = load_tensor(str(tmp_path / "x.tensorbin"))
    assert loaded.spec == tensor.spec
    assert np.array_equal(loaded.to_numpy(), tensor.to_numpy())


def test_topology_survives(tmp_path: Path, mesh: MeshDevice) -> None:
    for mapper in (
        ShardTensorToMesh(mesh, 0),
        ShardTensor2dMesh(mesh, (2, 4), (None, 1)),
        ReplicateTensorToMesh(mesh),
    ):
        tensor = made(ar(16, 8), mesh_mapper=mapper, dtype=DataType.BFLOAT16)
        dump_tensor(tmp_path / "x.tensorbin", tensor.to(mesh))
        for loaded in (
            load_tensor(tmp_path / "x.tensorbin"),
            load_tensor(tmp_path / "x.tensorbin", device=mesh),
        ):
            assert str(loaded.tensor_topology()) == str(tensor.tensor_topology())
            composer = ConcatMeshToTensor(mesh, 0)
            assert np.array_equal(loaded.to_numpy(composer), tensor.to_numpy(composer))


def test_replicas_and_bfloat16_take_little_room(tmp_path: Path, mesh: MeshDevice) -> None:
    tensor = made(ar(64, 64), mesh_mapper=ReplicateTensorToMesh(mesh), dtype=DataType.BFLOAT16)
    dump_tensor(tmp_path / "x.tensorbin", tensor)
    assert (tmp_path / "x.tensorbin").stat().st_size < 64 * 64 * 2 + 2048


def test_names_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"File .*x\.bin must have \.tensorbin extension"):
        dump_tensor(tmp_path / "x.bin", made(ar(1)))
    with pytest.raises(RuntimeError, match=r"must have \.tensorbin extension"):
        load_tensor(tmp_path / "x.bin")
    with pytest.raises(RuntimeError, match=r"Unable to load the tensor from .*  The file does not exist\."):
        load_tensor(tmp_path / "no.tensorbin")
    (tmp_path / "folder.tensorbin").mkdir()
    with pytest.raises(RuntimeError, match="not a regular file"):
        load_tensor(tmp_path / "folder.tensorbin")


def in_our_own_format(path: Path, tensor: Tensor) -> None:
    record = StoredTensor(tensor.spec, tensor.shards, tuple(tensor.site.shape), tensor.tensor_topology())
    with path.open("wb") as file:
        tensorbin.write_own(file, record)


def test_files_of_our_own_format_are_read(tmp_path: Path, mesh: MeshDevice) -> None:
    tensor = made(ar(16, 8), mesh_mapper=ShardTensorToMesh(mesh, 0), dtype=DataType.BFLOAT16)
    in_our_own_format(tmp_path / "x.tensorbin", tensor)
    loaded = load_tensor(tmp_path / "x.tensorbin")
    assert (loaded.spec, loaded.shards.index) == (tensor.spec, tensor.shards.index)
    assert np.array_equal(loaded.shards.data, tensor.shards.data)


def damaged(path: Path, **changes: Any) -> None:
    """Rewrite the header of a file with other values (None: without that entry)."""
    data = path.read_bytes()
    length = int.from_bytes(data[8:16], "little")
    header = {**json.loads(data[16 : 16 + length]), **changes}
    text = json.dumps({k: v for k, v in header.items() if v is not None}).encode().ljust(length)
    path.write_bytes(data[:8] + len(text).to_bytes(8, "little") + text + data[16 + length :])


def test_what_a_file_of_before_does_not_say_is_as_it_was(tmp_path: Path) -> None:
    path, grid = tmp_path / "x.tensorbin", CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(3, 0))])
    pieces = ShardSpec(grid, [32, 8], ShardOrientation.ROW_MAJOR)
    memory = MemoryConfig(TensorMemoryLayout.WIDTH_SHARDED, BufferType.L1, pieces)
    in_our_own_format(path, made(ar(32, 32), memory_config=memory))
    damaged(path, created_with_nd_shard_spec=None, transpose_tile=None)
    found = load_tensor(path).memory_config()
    assert found == memory and found.created_with_nd_shard_spec is False


@pytest.mark.parametrize("changes", [
    {"shape": [3, 4]}, {"dtype": "FLOAT64"}, {"dtype": None}, {"index": [7]}, {"rows": "many"}, {"placements": 3}, {"tile": [1]},
])  # fmt: skip
def test_damaged_headers_are_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = tmp_path / "x.tensorbin"
    in_our_own_format(path, made(ar(3, 5)))
    damaged(path, **changes)
    with pytest.raises(RuntimeError, match=r"Unable to load the tensor from .*truncated or corrupt"):
        load_tensor(path)


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00" * 100, tensorbin.MAGIC + b"\xff" * 50, tensorbin.MAGIC + b"\x05" + b"\0" * 7 + b"{{{{{"],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.tensorbin"
    path.write_bytes(content)
    with pytest.raises(RuntimeError, match=r"Unable to load the tensor from .*truncated or corrupt"):
        load_tensor(path)


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.tensorbin"
    in_our_own_format(path, made(ar(3, 5)))
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(RuntimeError, match="14 values instead of 15"):
        load_tensor(path)


def test_as_tensor_needs_a_memory_config_with_a_device(mesh: MeshDevice) -> None:
    with pytest.raises(RuntimeError, match="memory_config must be specified when device is specified"):
        as_tensor(ar(2), device=mesh)
    tensor = as_tensor(
        ar(2), DataType.BFLOAT16, layout=Layout.TILE, device=mesh, memory_config=L1_MEMORY_CONFIG
    )
    assert (tensor.dtype, tensor.layout, tensor.memory_config()) == (
        DataType.BFLOAT16,
        Layout.TILE,
        L1_MEMORY_CONFIG,
    )


def test_as_tensor_reads_its_cache(tmp_path: Path, mesh: MeshDevice) -> None:
    calls = []

    def preprocess(array: Any) -> Any:
        calls.append(1)
        return array + 1

    def cached(device: MeshDevice | None) -> Tensor:
        return as_tensor(
            ar(8), DataType.BFLOAT16, layout=Layout.TILE, device=device, memory_config=DRAM_MEMORY_CONFIG if device else None,
            cache_file_name=tmp_path / "w", preprocess=preprocess, mesh_mapper=ShardTensorToMesh(mesh, 0),
        )  # fmt: skip

    first, second = cached(None), cached(mesh)
    assert len(calls) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["w_dtype_BFLOAT16_layout_TILE.tensorbin"]
    assert second.device() is mesh
    composer = ConcatMeshToTensor(mesh, 0)
    assert first.to_numpy(composer).tolist() == second.to_numpy(composer).tolist() == (ar(8) + 1).tolist()


def test_a_damaged_cache_is_made_again(tmp_path: Path, logged: io.StringIO) -> None:
    path = tmp_path / "w_dtype_None_layout_ROW_MAJOR.tensorbin"
    path.write_bytes(b"junk")
    assert as_tensor(ar(2), cache_file_name=tmp_path / "w").to_list() == [0, 1]
    assert "Making it again" in logged.getvalue()
    assert load_tensor(path).to_list() == [0, 1]


@pytest.mark.parametrize("nd", [False, True])
def test_sharded_memory_survives(tmp_path: Path, nd: bool) -> None:
    grid = CoreRangeSet(
        [CoreRange(CoreCoord(0, 0), CoreCoord(1, 0)), CoreRange(CoreCoord(0, 2), CoreCoord(1, 2))]
    )
    memory = (
        MemoryConfig(
            buffer_type=BufferType.L1, nd_shard_spec=NdShardSpec([1, 32], grid, ShardOrientation.COL_MAJOR)
        )
        if nd
        else MemoryConfig(
            TensorMemoryLayout.WIDTH_SHARDED,
            BufferType.L1,
            ShardSpec(grid, [32, 8], ShardOrientation.ROW_MAJOR),
        )
    )
    dump_tensor(tmp_path / "x.tensorbin", made(ar(32, 32), memory_config=memory))
    assert load_tensor(tmp_path / "x.tensorbin").memory_config() == memory


def test_what_is_read_belongs_to_the_caller_unless_it_only_looks() -> None:
    tensor = from_torch(np.arange(8, dtype=np.float32).reshape(2, 4))
    assert np.shares_memory(read(tensor, copies=False), tensor.shards.data)
    read(tensor)[:] = 7
    assert np.array_equal(read(tensor).reshape(-1), np.arange(8))
