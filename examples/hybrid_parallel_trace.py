"""Hybrid tensor and data parallelism: one replica of a model per row of a 2x4 mesh, all replicas replayed by one trace.

    tt-run --emulate --system t3000 python examples/hybrid_parallel_trace.py
    tt-run --emulate --system t3000 --split 1x2 python examples/hybrid_parallel_trace.py

Section 8.3 of "Programming Mesh of Devices with TT-NN": submeshes from the main mesh, the model compiled on each, one capture on
the main mesh, then new activations written into the same buffers before every replay.
"""

import numpy as np
import ttnn
from arrays import as_array, as_user_tensor, correlation, digest, gelu

HIDDEN, TOKENS, STEPS = 256, 32, 3
rng = np.random.default_rng(83)  # seeded: every rank holds the same
weight_up = rng.standard_normal((HIDDEN, 4 * HIDDEN), np.float32) * np.float32(HIDDEN**-0.5)
weight_down = rng.standard_normal((4 * HIDDEN, HIDDEN), np.float32) * np.float32((4 * HIDDEN) ** -0.5)


class Model:
    """A tensor-parallel MLP: the first weight cut by columns, the second by rows, partial results summed over the devices."""

    def __init__(self, device):
        def on_device(weight, dim):
            return ttnn.from_torch(
                as_user_tensor(weight),
                dtype=ttnn.bfloat16,
                layout=ttnn.TILE_LAYOUT,
                device=device,
                mesh_mapper=ttnn.ShardTensorToMesh(device, dim=dim),
            )

        self.up, self.down = on_device(weight_up, 1), on_device(weight_down, 0)

    def forward(self, activations):
        hidden = ttnn.gelu(ttnn.linear(activations, self.up))
        return ttnn.all_reduce(ttnn.linear(hidden, self.down))


def on_host(values, device):
    return ttnn.from_torch(
        as_user_tensor(values),
        dtype=ttnn.bfloat16,
        layout=ttnn.TILE_LAYOUT,
        mesh_mapper=ttnn.ReplicateTensorToMesh(device),
    )


def batch(step, replica):
    return np.random.default_rng((step, replica)).standard_normal((1, 1, TOKENS, HIDDEN)).astype(np.float32)


mesh_device = ttnn.open_mesh_device(ttnn.MeshShape(2, 4), trace_region_size=1 << 20)
submesh_devices = mesh_device.create_submeshes(ttnn.MeshShape(1, 4))

# Compile & run the model on each submesh
models = [Model(submesh_device) for submesh_device in submesh_devices]
activations = [
    ttnn.to_device(on_host(batch(0, i), submesh_device), submesh_device)
    for i, submesh_device in enumerate(submesh_devices)
]
for model, x in zip(models, activations, strict=True):
    model.forward(x)

# Capture the model trace on the main mesh
trace_id = ttnn.begin_trace_capture(mesh_device, cq_id=0)
outputs = [model.forward(x) for model, x in zip(models, activations, strict=True)]
ttnn.end_trace_capture(mesh_device, trace_id, cq_id=0)

digests = []
for step in range(1, STEPS + 1):
    for i, submesh_device in enumerate(submesh_devices):
        ttnn.copy_host_to_device_tensor(on_host(batch(step, i), submesh_device), activations[i])
    # Execute model trace across all submeshes in parallel
    ttnn.execute_trace(mesh_device, trace_id, cq_id=0, blocking=False)
    for i, submesh_device in enumerate(submesh_devices):
        # Ranks that host no device of this replica have nothing to read.
        if not submesh_device.get_device_ids():
            continue
        copies = as_array(
            ttnn.to_torch(outputs[i], mesh_composer=ttnn.ConcatMeshToTensor(submesh_device, dim=0))
        )
        assert all(np.array_equal(copy, copies[0]) for copy in copies)
        pcc = correlation(gelu(batch(step, i) @ weight_up) @ weight_down, copies[:1])
        assert pcc > 0.999, (step, i, pcc)
        digests.append((step, i, digest(copies)))
ttnn.release_trace(mesh_device, trace_id)

for step, replica, text in digests:
    print(f"step {step}, replica {replica}: sha256 {text}")
ttnn.close_mesh_device(mesh_device)
