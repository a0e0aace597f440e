"""All-gather along cluster axis 0 of a 2x4 mesh: four lines of two devices, at the same time.

    tt-run --emulate --system t3000 python examples/line_all_gather.py
    tt-run --emulate --system t3000 --split 2x1 python examples/line_all_gather.py

Section 5.2.2 of "Programming Mesh of Devices with TT-NN".
"""

import numpy as np
import ttnn
from arrays import as_array, as_user_tensor, digest

mesh_device = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))

# Construct test tensor of data; 8 chunks of 32x32. Seeded: every rank holds the same.
values = np.random.default_rng(5).random((1, 1, 32, 256), np.float32)

# Convert to ttnn.Tensor, tilize and move onto devices across mesh DRAM
mesh_tensor = ttnn.from_torch(
    as_user_tensor(values),
    dtype=ttnn.bfloat16,
    layout=ttnn.TILE_LAYOUT,
    device=mesh_device,
    mesh_mapper=ttnn.ShardTensorToMesh(mesh_device, dim=3),
)

# Execute Line All-Gather on the tensor
output_tensor = ttnn.all_gather(
    mesh_tensor,
    dim=3,
    cluster_axis=0,
    mesh_device=mesh_device,
    topology=ttnn.Topology.Linear,
)

chunks = np.split(
    as_array(ttnn.to_torch(mesh_tensor, mesh_composer=ttnn.ConcatMeshToTensor(mesh_device, dim=3))), 8, 3
)
found = as_array(ttnn.to_torch(output_tensor, mesh_composer=ttnn.ConcatMeshToTensor(mesh_device, dim=0)))
assert tuple(output_tensor.shape) == (1, 1, 32, 64)
for device, shard in enumerate(found):
    column = device % 4
    assert np.array_equal(shard, np.concatenate([chunks[column], chunks[column + 4]], 3)[0])
print(f"each column of 2 devices holds {output_tensor.shape}  sha256 {digest(found)}")

ttnn.close_mesh_device(mesh_device)
