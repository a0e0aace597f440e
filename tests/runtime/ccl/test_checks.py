"""The bounds of what collectives take: the first and the last dimension, axes of one device, tensors on all devices or fewer."""

import numpy as np
import pytest

from tests.runtime.ops.tensors import put
from tt_run.runtime.ccl import checks
from tt_run.runtime.ccl.collectives import all_gather, reduce_scatter
from tt_run.runtime.ccl.exchange import fabric
from tt_run.runtime.ccl.single_shards import mesh_partition
from tt_run.runtime.enums import DataType, FabricConfig, Layout
from tt_run.runtime.errors import sentence_of
from tt_run.runtime.mesh import MeshDevice, MeshShape, open_mesh_device
from tt_run.runtime.tensor.borders.arrays import from_torch
from tt_run.runtime.tensor.distribution.mappers import ShardTensorToMesh

TILE, ROWS = Layout.TILE, Layout.ROW_MAJOR


@pytest.fixture
def line():
    device = open_mesh_device(MeshShape(1, 2))
    yield device
    device.close()


@pytest.fixture
def fabric_setting(monkeypatch):
    # The meshes of this file are open: a program would have chosen before.
    monkeypatch.setattr(MeshDevice, "any_open", classmethod(lambda _: False))
    yield fabric.set_fabric_config
    fabric.set_fabric_config(FabricConfig.DISABLED)


@pytest.mark.parametrize(
    ("call", "shape", "layout", "dim", "found"),
    [
        (all_gather, (4, 8), TILE, -2, (8, 8)),
        (all_gather, (4, 8), TILE, -3, "Invalid gather dim -3 for 2D input tensor"),
        (all_gather, (4, 8), TILE, 2, "Invalid gather dim 2 for 2D input tensor"),
        (reduce_scatter, (4, 8), ROWS, -2, (2, 8)),
        (reduce_scatter, (4, 8), ROWS, -3, "Invalid scatter dim -3 for rank 2 tensor"),
        (reduce_scatter, (4, 8), ROWS, 2, "Invalid scatter dim 2 for rank 2 tensor"),
        (reduce_scatter, (8,), ROWS, 0, "reduce_scatter currently supports rank 2 tensors at minimum"),
        (reduce_scatter, (3, 1, 33, 33), TILE, 3, "Number of tiles at dimension 3 must be divisible by ring_size"),
        (reduce_scatter, (3, 1, 33, 33), TILE, 2, "Number of tiles at dimension 2 must be divisible by ring_size"),
        (reduce_scatter, (3, 1, 33, 33), TILE, 1, "Dimension 1 must be divisible by ring_size"),
        (reduce_scatter, (3, 1, 33, 33), ROWS, 2, "Dimension 2 must be divisible by ring_size"),
        (mesh_partition, (4, 8), ROWS, -2, (2, 8)),
        (mesh_partition, (4, 8), ROWS, 1, (4, 4)),
        (mesh_partition, (4, 8), ROWS, 2, "ShapeBase[] index out of range. 2 not in [-4, 2)"),
        (mesh_partition, (), ROWS, 0, "ShapeBase[] index out of range. 0 not in [-4, 0)"),
        (mesh_partition, (4, 128), TILE, 1, (4, 64)),
        (mesh_partition, (4, 96), TILE, 1, "Can only slice tilized tensor with width begin index aligned to tiles"),
        (mesh_partition, (32, 128), TILE, 0, "Can only slice tilized tensor with height begin index aligned to tiles"),
        (mesh_partition, (128,), TILE, 0, "Can only slice tilized tensor with height begin index aligned to tiles"),
        (mesh_partition, (2, 32, 32), TILE, 0, (1, 32, 32)),
        (mesh_partition, (0,), TILE, 0, (0,)),
    ],
)  # fmt: skip
def test_dimensions_from_the_first_to_the_last(line, call, shape, layout, dim, found):
    tensor = put(line, np.ones(shape), DataType.BFLOAT16, layout)
    if not isinstance(found, str):
        assert tuple(call(tensor, dim).shape) == found
        return
    with pytest.raises(RuntimeError) as error:
        call(tensor, dim)
    assert sentence_of(error.value) == found


def test_a_part_for_one_device_is_the_whole_wherever_its_tiles_end(line):
    tensor = put(line, np.ones((40, 40)), DataType.BFLOAT16, TILE)
    assert tuple(mesh_partition(tensor, 1, 0).shape) == (40, 40)
    vector = put(line, np.ones(40), DataType.BFLOAT16, TILE)
    assert tuple(mesh_partition(vector, 0, 0).shape) == (40,)


def test_the_dimension_that_would_divide_is_said(line):
    tensor = put(line, np.ones((1, 5)), DataType.BFLOAT16, ROWS)
    with pytest.raises(RuntimeError, match=r"5 elements over 2 devices; 6 would do \(ttnn\.pad adds them\)"):
        reduce_scatter(tensor, 1)


def test_holders_are_named_where_they_are_a_part_of_the_mesh():
    mesh = open_mesh_device(MeshShape(2, 4))
    for count, held in ((8, None), (5, None), (4, {0, 1, 2, 3}), (1, {0})):
        rows = np.ones((count, 4), np.float32)
        tensor = from_torch(rows, device=mesh, layout=ROWS, mesh_mapper=ShardTensorToMesh(mesh, dim=0))
        assert checks.holders(tensor, mesh) == held
    mesh.close()


def test_a_line_is_one_ring_on_a_fabric_of_one_dimension(line, fabric_setting):
    tensor = put(line, np.ones((4, 8)), DataType.BFLOAT16, ROWS)
    fabric_setting(FabricConfig.FABRIC_1D)
    assert tuple(all_gather(tensor, 0).shape) == (8, 8)
    fabric.check_collective([1, 2], None)
    with pytest.raises(RuntimeError, match="requires cluster_axis to be set"):
        fabric.check_collective([2, 2], None)


@pytest.mark.parametrize("config", [1.0, "FABRIC_1D", None, 99])
def test_a_fabric_is_a_member_or_its_number(fabric_setting, config):
    with pytest.raises(TypeError, match="set_fabric_config"):
        fabric_setting(config)
    fabric_setting(FabricConfig.FABRIC_2D.value)
    assert fabric.get_fabric_config() is FabricConfig.FABRIC_2D
