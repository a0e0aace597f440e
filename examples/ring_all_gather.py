"""All-gather over a whole 2x4 mesh: every device gets the concatenation of all eight shards.

    tt-run --emulate --system t3000 python examples/ring_all_gather.py
    tt-run --emulate --system t3000 --split 1x2 python examples/ring_all_gather.py

Section 5.2.1 of "Programming Mesh of Devices with TT-NN".
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

# Execute All-Gather on the tensor; `num_links=1` specifies the number of ethernet links to use
output_tensor = ttnn.all_gather(mesh_tensor, dim=3, num_links=1)

sent = as_array(ttnn.to_torch(mesh_tensor, mesh_composer=ttnn.ConcatMeshToTensor(mesh_device, dim=3)))
copies = as_array(ttnn.to_torch(output_tensor, mesh_composer=ttnn.ConcatMeshToTensor(mesh_device, dim=0)))
assert tuple(output_tensor.shape) == (1, 1, 32, 256)
assert copies.shape == (8, 1, 32, 256)
assert all(np.array_equal(copy, sent[0]) for copy in copies)
print(f"8 devices hold {output_tensor.shape} each  sha256 {digest(copies)}")

ttnn.close_mesh_device(mesh_device)
