"""A pipeline of four stages over sockets: each stage is a tensor-parallel layer on its own two devices.

    tt-run --emulate --system t3000 python examples/pipeline_sockets.py
    tt-run --emulate --rank-binding configs/bindings/t3k_2x2_two_meshes.yaml python examples/pipeline_sockets.py
    tt-run --emulate --rank-binding configs/bindings/t3k_1x2_four_meshes.yaml python examples/pipeline_sockets.py

One rank holds all stages, two ranks two each, four ranks one each; the output has the same bits. Stages in one process are joined
by `create_socket_pair`, stages of different ranks by a `MeshSocket` at either end. Micro-batches follow each other without waiting.
"""

import numpy as np
import ttnn
from arrays import as_array, as_user_tensor, correlation, digest, gelu

STAGES, HIDDEN, TOKENS, MICRO_BATCHES = 4, 128, 64, 3
rng = np.random.default_rng(11)  # seeded: every rank holds the same
weights = [
    rng.standard_normal((HIDDEN, HIDDEN), np.float32) * np.float32(1.5 * HIDDEN**-0.5) for _ in range(STAGES)
]
batches = [rng.standard_normal((1, 1, TOKENS, HIDDEN), np.float32) for _ in range(MICRO_BATCHES)]

mesh_device = ttnn.open_mesh_device()
rank, ranks = 0, 1
if ttnn.using_distributed_env():
    rank, ranks = int(ttnn.distributed_context_get_rank()), int(ttnn.distributed_context_get_size())
per_rank = STAGES // ranks
mine = range(rank * per_rank, (rank + 1) * per_rank)
submeshes = dict(zip(mine, mesh_device.create_submeshes(ttnn.MeshShape(1, 2)), strict=False))


def replicated(values, device):
    return ttnn.from_torch(
        as_user_tensor(values),
        dtype=ttnn.bfloat16,
        layout=ttnn.TILE_LAYOUT,
        device=device,
        mesh_mapper=ttnn.ReplicateTensorToMesh(device),
    )


class Stage:
    """gelu(x @ weight), the weight cut by columns over the two devices, the result gathered on both."""

    def __init__(self, number):
        self.device = submeshes[number]
        self.weight = ttnn.from_torch(
            as_user_tensor(weights[number]),
            dtype=ttnn.bfloat16,
            layout=ttnn.TILE_LAYOUT,
            device=self.device,
            mesh_mapper=ttnn.ShardTensorToMesh(self.device, dim=1),
        )

    def forward(self, x):
        return ttnn.all_gather(ttnn.gelu(ttnn.linear(x, self.weight)), dim=3)


def connect():
    """The sockets of this rank: into a stage by its number, and out of it. Every rank goes through the links in the same order."""
    core = ttnn.CoreCoord(0, 0)
    connections = [
        ttnn.SocketConnection(ttnn.MeshCoreCoord(coord, core), ttnn.MeshCoreCoord(coord, core))
        for coord in ttnn.MeshCoordinateRange(ttnn.MeshShape(1, 2))
    ]
    memory = ttnn.SocketMemoryConfig(ttnn.BufferType.L1, 4096)
    into, out_of = {}, {}
    for number in range(STAGES - 1):
        sender, receiver = number // per_rank, (number + 1) // per_rank
        if sender == receiver == rank:
            config = ttnn.SocketConfig(connections, memory)
            out_of[number], into[number + 1] = ttnn.create_socket_pair(
                submeshes[number], submeshes[number + 1], config
            )
        elif rank in (sender, receiver):
            config = ttnn.SocketConfig(connections, memory, sender_rank=sender, receiver_rank=receiver)
            if rank == sender:
                out_of[number] = ttnn.MeshSocket(submeshes[number], config)
            else:
                into[number + 1] = ttnn.MeshSocket(submeshes[number + 1], config)
    return into, out_of


into, out_of = connect()
stages = {number: Stage(number) for number in mine}
outputs = []
for values in batches:
    for number, stage in stages.items():
        if number == 0:
            x = replicated(values, stage.device)
        else:
            empty = replicated(np.zeros_like(values), stage.device)
            (x,) = ttnn.experimental.recv_async(empty, into[number])
        x = stage.forward(x)
        if number in out_of:
            ttnn.experimental.send_async(x, out_of[number])
        else:
            outputs.append(x)

for i, output in enumerate(outputs):
    device = submeshes[STAGES - 1]
    copies = as_array(ttnn.to_torch(output, mesh_composer=ttnn.ConcatMeshToTensor(device, dim=0)))
    assert np.array_equal(copies[0], copies[1])
    expected = batches[i]
    for weight in weights:
        expected = gelu(expected @ weight)
    pcc = correlation(expected, copies[:1])
    assert pcc > 0.99, (i, pcc)
    print(f"micro-batch {i}: correlation with NumPy float32 {pcc:.6f}  sha256 {digest(copies)}")

ttnn.synchronize_device(mesh_device)
ttnn.close_mesh_device(mesh_device)
