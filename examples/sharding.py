"""Shard a tensor over the two devices of a 1x2 mesh and look at it, on the host and on the devices.

    tt-run --emulate --system n300 python examples/sharding.py
    tt-run --emulate --system n300 --split 1x2 python examples/sharding.py

Section 3.2 of "Programming Mesh of Devices with TT-NN". Each rank prints its own shards.
"""

import numpy as np
import ttnn
from arrays import as_array, as_user_tensor, digest

# Open our 1x2 MeshDevice
mesh_device = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))

# Initialize a tensor
values = np.zeros((1, 1, 32, 64), np.float32)
values[..., 0:32] = 1.0
values[..., 32:64] = 2.0

# Create a mesh mapper. Given a mesh device shape, placements specify replication or sharding of data per each dimension of the mesh shape.
mesh_mapper = ttnn.create_mesh_mapper(
    mesh_device,
    ttnn.MeshMapperConfig(
        placements=[
            # Replicate data across first dimension of the mesh
            ttnn.PlacementReplicate(),
            # Shard dimension 3 of tensor across second dimension of the mesh
            ttnn.PlacementShard(3),
        ],
    ),
)

# Convert to ttnn.Tensor; MeshTensor holds buffers to two shards in host-memory
mesh_tensor = ttnn.from_torch(as_user_tensor(values), mesh_mapper=mesh_mapper, layout=ttnn.TILE_LAYOUT)
print(mesh_tensor)
ttnn.visualize_tensor(mesh_tensor)

mesh_tensor = ttnn.to_device(mesh_tensor, mesh_device)
print(mesh_tensor)
ttnn.visualize_tensor(mesh_tensor)

assert tuple(mesh_tensor.shape) == (1, 1, 32, 32)
# Ranks that host none of the two devices have nothing to read.
if mesh_device.get_device_ids():
    host_shards = ttnn.get_device_tensors(ttnn.from_device(mesh_tensor))
    shards = [as_array(ttnn.to_torch(shard)) for shard in host_shards]
    assert [np.unique(shard).tolist() for shard in shards] == [[1.0], [2.0]]
    whole = as_array(ttnn.to_torch(mesh_tensor, mesh_composer=ttnn.ConcatMeshToTensor(mesh_device, dim=3)))
    assert np.array_equal(whole, values)
    print(f"one shard of ones, one of twos  sha256 {digest(whole)}")

ttnn.close_mesh_device(mesh_device)
