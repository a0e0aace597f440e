"""Two meshes on two ranks: a pipeline of tensors there and back, larger than any eager message, received before it is sent."""

import sys

import numpy as np
import ttnn

from tt_run.runtime.comm.world import Group

SHAPE = (1, 1, 256, 1024)
DTYPE = ttnn.bfloat16 if "apart" in sys.argv else ttnn.float32
if "apart" in sys.argv:
    # As if every rank were on a host of its own: bfloat16 travels in 16 bits.
    Group.on_one_host = property(lambda group: group.size == 1)
ends = {
    "ids": lambda a, b: {"sender_mesh_id": a, "receiver_mesh_id": b},
    "ranks": lambda a, b: {"sender_rank": a, "receiver_rank": b},
}


def values(seed):
    """Whole numbers: twice of them and one are exact in bfloat16 too."""
    return np.random.default_rng(seed).integers(-60, 60, (4, *SHAPE[1:])).astype(np.float32)


def on(mesh_device, array):
    return ttnn.from_torch(
        array,
        dtype=DTYPE,
        layout=ttnn.TILE_LAYOUT,
        device=mesh_device,
        mesh_mapper=ttnn.ShardTensorToMesh(mesh_device, dim=0),
    )


def socket(mesh_device, sender, receiver):
    connections = [
        ttnn.SocketConnection(
            ttnn.MeshCoreCoord(c, ttnn.CoreCoord(0, 0)), ttnn.MeshCoreCoord(c, ttnn.CoreCoord(0, 0))
        )
        for c in ttnn.MeshCoordinateRange(ttnn.MeshShape(2, 2))
    ]
    memory = ttnn.SocketMemoryConfig(ttnn.BufferType.L1, 4096)
    return ttnn.MeshSocket(
        mesh_device, ttnn.SocketConfig(connections, memory, **ends[sys.argv[1]](sender, receiver))
    )


def read(tensor, mesh_device):
    return np.asarray(tensor.to_numpy(ttnn.ConcatMeshToTensor(mesh_device, dim=0)), np.float32)


mesh_device = ttnn.open_mesh_device(ttnn.MeshShape(2, 2))
rank = int(ttnn.distributed_context_get_rank())
forth, back = socket(mesh_device, 0, 1), socket(mesh_device, 1, 0)
empty = [ttnn.allocate_tensor_on_device(on(mesh_device, values(0)).spec, mesh_device) for _ in range(2)]
if rank == 0:
    # Asks first, sends later: neither call waits.
    replies = [ttnn.experimental.recv_async(tensor, back)[0] for tensor in empty]
    for seed in (1, 2):
        assert ttnn.experimental.send_async(on(mesh_device, values(seed)), forth) == []
    ttnn.synchronize_device(mesh_device)
    for seed, reply in zip((1, 2), replies, strict=True):
        assert np.array_equal(read(reply, mesh_device), values(seed) * np.float32(2) + np.float32(1)), seed
else:
    assert str(forth.get_socket_endpoint_type()) == "SocketEndpoint.RECEIVER"
    for tensor in empty:
        (arrived,) = ttnn.experimental.recv_async(tensor, forth)
        ttnn.experimental.send_async(ttnn.add(ttnn.multiply(arrived, 2.0), 1.0), back)
ttnn.distributed_context_barrier()
print("rank", rank, "done")
ttnn.close_mesh_device(mesh_device)
