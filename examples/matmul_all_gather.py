"""Matrix product with a sharded right operand, then all-gather: TT-NN next to its PyTorch twin, matmul_all_gather_torch.py.

    tt-run --emulate --system n300 python examples/matmul_all_gather.py
    tt-run --emulate --system n300 --split 1x2 python examples/matmul_all_gather.py

Section 9.2 of "Programming Mesh of Devices with TT-NN". The document gathers along `cluster_axis=0`, on which a 1x2 mesh has one
device only; its two devices lie along axis 1.
"""

import numpy as np
import ttnn
from arrays import as_array, as_user_tensor, correlation, digest

# Open a 1x2 MeshDevice
mesh_device = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))

# Create input tensors; seeded: every rank holds the same
rng = np.random.default_rng(9)
values_a = rng.standard_normal((1, 1, 128, 128), np.float32)
values_b = rng.standard_normal((1, 1, 128, 256), np.float32)

# Replicate input A and shard input B (each device gets 128x128)
# Supplying `device` argument implicitly transfers the tensor to device
input_a = ttnn.from_torch(
    as_user_tensor(values_a),
    dtype=ttnn.bfloat16,
    layout=ttnn.TILE_LAYOUT,
    device=mesh_device,
    mesh_mapper=ttnn.ReplicateTensorToMesh(mesh_device),
)

input_b = ttnn.from_torch(
    as_user_tensor(values_b),
    dtype=ttnn.bfloat16,
    layout=ttnn.TILE_LAYOUT,
    device=mesh_device,
    mesh_mapper=ttnn.ShardTensorToMesh(mesh_device, dim=3),
)

# Perform matrix multiplication - done in parallel on 2 devices
output = ttnn.matmul(input_a, input_b)

# All-gather to collect results from all devices
# The gathered tensor stores a copy of the concatenated tensor on each device
gathered = ttnn.all_gather(output, dim=3, cluster_axis=1)

assert tuple(output.shape) == (1, 1, 128, 128)
assert tuple(gathered.shape) == (1, 1, 128, 256)
# Ranks that host none of the two devices have nothing to read.
if mesh_device.get_device_ids():
    copies = as_array(ttnn.to_torch(gathered, mesh_composer=ttnn.ConcatMeshToTensor(mesh_device, dim=0)))
    assert np.array_equal(copies[0], copies[1])
    pcc = correlation(values_a @ values_b, copies[:1])
    assert pcc > 0.999, pcc
    print(
        f"2 devices hold {gathered.shape} each, correlation with NumPy float32 {pcc:.6f}  sha256 {digest(copies)}"
    )

ttnn.close_mesh_device(mesh_device)
