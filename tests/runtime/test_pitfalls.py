"""What surprises programmers of the reference must surprise them here first (reference library 0.81.1): one test each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tt_run.runtime.ops as ops
from tests.runtime.mpi import run_ranks
from tt_run.runtime.ccl.collectives import all_gather, all_reduce, reduce_scatter
from tt_run.runtime.enums import DataType, Layout
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.composers import ConcatMeshToTensor
from tt_run.runtime.tensor.distribution.mappers import (
    ReplicateTensorToMesh,
    ShardTensor2dMesh,
    ShardTensorToMesh,
)
from tt_run.runtime.tensor.distribution.per_device import get_device_tensors
from tt_run.runtime.tensor.spec.tensor_spec import Shape
from tt_run.runtime.tensor.spec.topology import PlacementShard
from tt_run.runtime.tensor.tensor import Tensor


@pytest.fixture(scope="module")
def mesh() -> Iterator[MeshDevice]:
    device = open_mesh_device(MeshShape(2, 4))
    yield device
    device.close()


def rows(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def first(tensor: Tensor) -> np.ndarray[Any, Any]:
    """What the first device holds."""
    return np.asarray(get_device_tensors(tensor)[0].cpu().to_numpy())


def test_the_shape_is_that_of_one_device(mesh: MeshDevice) -> None:
    assert from_torch(rows(8, 4), mesh_mapper=ShardTensorToMesh(mesh, 0)).shape == (1, 4)


def test_composers_keep_replicas(mesh: MeshDevice) -> None:
    tensor = from_torch(rows(2, 4), mesh_mapper=ReplicateTensorToMesh(mesh), device=mesh)
    assert tensor.to_numpy(ConcatMeshToTensor(mesh, 0)).shape == (16, 4)


def test_two_dims_are_those_for_rows_and_columns_of_the_mesh(mesh: MeshDevice) -> None:
    tensor = from_torch(rows(4, 2), mesh_mapper=ShardTensor2dMesh(mesh, (2, 4), (1, 0)))
    assert tensor.shape == (1, 1)
    assert [t.to_numpy().item() for t in get_device_tensors(tensor)] == [0, 2, 4, 6, 1, 3, 5, 7]


def test_chunks_leave_devices_empty_or_do_not_come_out_even(mesh: MeshDevice) -> None:
    tensor = from_torch(rows(10, 2), mesh_mapper=ShardTensorToMesh(mesh, 0))
    assert len(get_device_tensors(tensor)) == 5
    with pytest.raises(
        RuntimeError, match=r"Shard shape mismatch: expected Shape\(\[2, 2\]\) but got Shape\(\[1, 2\]\)"
    ):
        from_torch(rows(9, 2), mesh_mapper=ShardTensorToMesh(mesh, 0))


def test_placements_are_told_apart_by_identity() -> None:
    shard = PlacementShard(1)
    assert shard == shard
    assert (PlacementShard(1) == PlacementShard(1)) is False


def test_a_tuple_is_a_shape_of_a_tensor_but_not_of_a_mesh() -> None:
    assert Shape([2, 4]) == (2, 4)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _ = MeshShape(2, 4) == (2, 4)


def test_ids_come_in_the_order_of_the_mesh_and_a_line_is_a_snake(mesh: MeshDevice) -> None:
    assert mesh.get_device_ids() == [4, 0, 2, 6, 5, 1, 3, 7]
    assert open_mesh_device(MeshShape(1, 8)).get_device_ids() == [4, 0, 2, 6, 7, 3, 1, 5]


def test_collectives_of_replicas_duplicate_and_multiply(mesh: MeshDevice) -> None:
    tensor = from_torch(rows(1, 2), mesh_mapper=ReplicateTensorToMesh(mesh), device=mesh)
    assert first(all_gather(tensor, 1)).tolist() == [[0, 1] * 8]
    assert first(all_reduce(tensor, cluster_axis=1)).tolist() == [[0, 4]]


def test_padding_takes_no_part(mesh: MeshDevice) -> None:
    values = rows(5, 5) + 1
    tensor = from_torch(values, layout=Layout.TILE, device=mesh)
    assert first(ops.min(tensor)).item() == 1
    assert first(ops.mean(tensor)).item() == 13
    assert first(ops.softmax(tensor, -1)).sum(axis=-1) == pytest.approx(np.ones(5))
    negative = from_torch(-values, layout=Layout.TILE, device=mesh)
    assert first(ops.max(negative)).item() == -1
    assert first(ops.argmax(negative, 1)).tolist() == [0] * 5


def test_text_shows_the_logical_shape() -> None:
    tensor = from_torch(rows(1, 3), layout=Layout.TILE)
    assert (tensor.padded_shape, str(tensor)) == (
        (32, 32),
        "ttnn.Tensor([[ 0.0000,  1.0000,  2.0000]], shape=Shape([1, 3]), dtype=DataType::FLOAT32, layout=Layout::TILE)",
    )


def test_distribute_reaches_the_whole_process() -> None:
    program = """
import numpy as np, ttnn
from ttnn import from_torch as kept
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
values = np.zeros((8, 1), np.float32)

def elsewhere():
    return [list(make(values).shape) for make in (ttnn.from_torch, kept)]

with ttnn.distribute(ttnn.ShardTensorToMesh(mesh, dim=0)):
    print(elsewhere())
print(elsewhere())
"""
    lines = run_ranks(1, program).check().ranks[0].stdout.splitlines()
    assert lines == ["[[1, 1], [8, 1]]", "[[8, 1], [8, 1]]"]


def test_block_floats_read_back_as_float32() -> None:
    assert from_torch(rows(4, 4), DataType.BFLOAT8_B).to_numpy().dtype == np.float32


def test_negative_floats_wrap_to_32_bits_and_clamp_to_fewer() -> None:
    values = np.array([-1.5, 300.0], np.float32)
    wrapped, clamped = (from_torch(values, dtype).to_numpy() for dtype in (DataType.UINT32, DataType.UINT8))
    assert (wrapped.tolist(), clamped.tolist()) == ([2**32 - 1, 300], [0, 255])


def test_an_exception_does_not_leave_the_other_rank_waiting() -> None:
    result = run_ranks(
        2,
        """
import numpy as np, ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
tensor = ttnn.from_torch(np.ones((1, 2), np.float32), device=mesh)
if int(ttnn.distributed_context_get_rank()) == 1:
    raise ValueError("no more")
ttnn.all_reduce(tensor)
""",
        env={"TT_RUN_SYSTEM": "t3000", "TT_MESH_GRAPH_DESC_PATH": str(descriptor())},
    )
    assert result.returncode not in (0, 124, 137)
    assert "all_reduce" in result.ranks[0].stderr and "rank 1" in result.ranks[0].stderr
    assert "no more" in result.ranks[1].stderr


def descriptor() -> Any:
    from mgd.resources import configs_root

    return configs_root() / "mgd" / "t3k_2x4_two_hosts.textproto"


def test_nothing_is_computed_on_a_closed_mesh() -> None:
    mesh = open_mesh_device(MeshShape(1, 2))
    tensor = from_torch(rows(2, 2), device=mesh)
    mesh.close()
    assert (str(mesh), mesh.get_device_ids()) == ("MeshDevice(1x2 grid, 2 devices)", [4, 0])
    with pytest.raises(RuntimeError, match="is closed"):
        ops.relu(tensor)
    with pytest.raises(RuntimeError, match="is closed"):
        all_gather(tensor, 0)


def on(mesh: MeshDevice, *shape: int, **mapped: Any) -> Tensor:
    return from_torch(rows(*shape), dtype=DataType.BFLOAT16, layout=Layout.TILE, device=mesh, **mapped)


@pytest.mark.parametrize(
    ("hint", "call"),
    [
        (
            "mesh_composer=ttnn.ConcatMeshToTensor(mesh_device, dim=1)",
            lambda mesh: on(mesh, 1, 8, 4, mesh_mapper=ShardTensorToMesh(mesh, 1)).to_numpy(),
        ),
        (
            "mesh_composer=ttnn.ConcatMesh2dToTensor(mesh_device, dims=(0, 1), mesh_shape=mesh_device.shape)",
            lambda mesh: on(mesh, 2, 4, mesh_mapper=ShardTensor2dMesh(mesh, (2, 4), (0, 1))).to_numpy(),
        ),
        ("ttnn.get_device_tensors(tensor)[0] is the first", lambda mesh: on(mesh, 2, 4).to_numpy()),
        (
            "[32, 64] times [96, 64]: transpose_b=True fits",
            lambda mesh: ops.matmul(on(mesh, 32, 64), on(mesh, 96, 64)),
        ),
        (
            "[32, 64] times [32, 96]: transpose_a=True fits",
            lambda mesh: ops.matmul(on(mesh, 32, 64), on(mesh, 32, 96)),
        ),
        (
            "a matrix of m x k is multiplied by one of k x n",
            lambda mesh: ops.matmul(on(mesh, 32, 64), on(mesh, 96, 128)),
        ),
        (
            "100 elements over 8 devices; 104 would do",
            lambda mesh: reduce_scatter(on(mesh, 1, 1, 32, 100), dim=3),
        ),
    ],
)
def test_a_refusal_says_what_to_type(mesh: MeshDevice, hint: str, call: Callable[[MeshDevice], Any]) -> None:
    with pytest.raises(RuntimeError) as refused:
        call(mesh)
    assert hint in str(refused.value)


def test_what_a_hint_says_works(mesh: MeshDevice) -> None:
    assert ops.matmul(on(mesh, 32, 64), on(mesh, 96, 64), transpose_b=True).shape == (32, 96)
    assert reduce_scatter(on(mesh, 1, 1, 32, 104), dim=3).shape == (1, 1, 32, 13)
