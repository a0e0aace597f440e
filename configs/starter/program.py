"""Every rank runs this file: it adds up a tensor that is sharded over all devices of the mesh.

tt-run python program.py
"""

import numpy as np
import ttnn

mesh_device = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))

# The same numbers on all ranks; each device gets one of the eight rows.
values = np.arange(8 * 32 * 32, dtype=np.float32).reshape(8, 1, 32, 32) / 1000
tensor = ttnn.from_torch(
    values,
    dtype=ttnn.float32,
    layout=ttnn.TILE_LAYOUT,
    device=mesh_device,
    mesh_mapper=ttnn.ShardTensorToMesh(mesh_device, dim=0),
)

# Afterwards each device holds the sum of all eight.
total = ttnn.all_reduce(tensor)

copies = np.asarray(ttnn.to_torch(total, mesh_composer=ttnn.ConcatMeshToTensor(mesh_device, dim=0)))
assert np.allclose(copies, values.sum(axis=0), rtol=1e-5)
print(f"{copies.shape[0]} devices hold the sum, {copies[0, 0, 0, 1]:.3f} in its second element")

ttnn.close_mesh_device(mesh_device)
