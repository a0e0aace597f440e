"""Tests of a multi-device program, as a project would have them.

    pytest -p tt_run.pytest examples/testing

A fixture is a mesh; a mark runs the test over so many ranks and reports it as one.
"""

import numpy as np
import pytest
import ttnn


def row(device, columns):
    """32 equal rows 0, 1, 2, …, their columns cut over the devices of a mesh."""
    values = np.broadcast_to(np.arange(columns, dtype=np.float32), (1, 1, 32, columns))
    tensor = ttnn.Tensor(np.ascontiguousarray(values), ttnn.bfloat16)
    shards = ttnn.distribute_tensor(tensor, ttnn.ShardTensorToMesh(device, dim=3), device)
    return ttnn.to_layout(shards, ttnn.TILE_LAYOUT)


def test_one_device(device):
    tensor = ttnn.to_layout(
        ttnn.Tensor(np.ones((32, 32), np.float32), ttnn.bfloat16).to(device), ttnn.TILE_LAYOUT
    )
    assert ttnn.add(tensor, tensor).cpu().to_numpy().sum() == 2 * 32 * 32


@pytest.mark.parametrize("mesh_device", [(2, 4)], indirect=True)
def test_a_mesh_in_one_process(mesh_device):
    assert ttnn.all_gather(row(mesh_device, 256), dim=3).shape == (1, 1, 32, 256)


@pytest.mark.ranks(2)
def test_over_two_ranks():
    """Each rank runs this; it passes when it passes on both."""
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
    gathered = ttnn.all_gather(row(mesh, 256), dim=3)
    for shard in ttnn.get_device_tensors(gathered.cpu()):
        assert shard.to_numpy()[0, 0, 0].tolist()[:3] == [0, 1, 2]
    ttnn.close_mesh_device(mesh)
