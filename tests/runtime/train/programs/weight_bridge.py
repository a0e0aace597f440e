"""Send tensors of a mesh of four devices to four submeshes of another rank; say what every submesh holds."""

import hashlib

import numpy as np
import ttnn
from ttml.trainers.grpo_trainer.remote_rollout.weight_bridge import (
    RECEIVER_RANK,
    SENDER_RANK,
    HostWeightBridge,
)

SHAPES = {"weight.b": (1, 1, 64, 96), "weight.a": (1, 1, 32, 64), "norm": (1, 1, 1, 40)}

ttnn.init_distributed_context()
rank = int(ttnn.distributed_context_get_rank())
mesh = ttnn.open_mesh_device(mesh_shape=ttnn.MeshShape(1, 4))
if rank == SENDER_RANK:
    draw = np.random.default_rng(3)
    weights = {
        name: ttnn.from_torch(
            draw.standard_normal(shape).astype(np.float32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh,
            memory_config=ttnn.DRAM_MEMORY_CONFIG, mesh_mapper=ttnn.replicate_tensor_to_mesh_mapper(mesh),
        )
        for name, shape in SHAPES.items()
    }  # fmt: skip
    bridge = HostWeightBridge.init_sender(mesh=mesh, peer_rank=RECEIVER_RANK)
    bridge.connect()
    bridge.send_weights(weights)
    bridge.barrier()
    held = [weights]
else:
    submeshes = mesh.create_submeshes(ttnn.MeshShape(1, 1))
    bridge = HostWeightBridge.init_receiver(mesh=mesh, peer_rank=SENDER_RANK, submeshes=submeshes)
    bridge.connect()
    held = bridge.receive_weights()
    bridge.barrier()
    for weights in held:
        for tensor in weights.values():
            assert (tensor.dtype, tensor.layout) == (ttnn.bfloat16, ttnn.TILE_LAYOUT)
            assert tensor.memory_config() == ttnn.DRAM_MEMORY_CONFIG
for weights in held:
    told = hashlib.sha256()
    for name, tensor in sorted(weights.items()):
        told.update(f"{name} {list(tensor.shape)}".encode())
        told.update(ttnn.get_device_tensors(tensor)[0].cpu().to_numpy().tobytes())
    print(f"{len(weights)} holds {told.hexdigest()[:16]}")
ttnn.close_mesh_device(mesh)
