"""Sockets between parts of one mesh, whoever hosts them: what each receives, as hashes that are the same on any split."""

import hashlib

import numpy as np
import ttnn

MEMORY = ttnn.SocketMemoryConfig(ttnn.BufferType.L1, 4096)
STRAIGHT = [((row, column), (row, column)) for row in range(2) for column in range(2)]
CASES = {
    # shape of both parts, where they begin, which devices are connected
    "apart": ((2, 2), ((0, 0), (0, 2)), STRAIGHT),
    "overlapping": ((2, 2), ((0, 1), (0, 0)), STRAIGHT),
    "crossed": ((2, 2), ((0, 0), (0, 2)), [(a, (1 - a[0], 1 - a[1])) for a, _ in STRAIGHT]),
    "rows": ((1, 4), ((0, 0), (1, 0)), [((0, column), (0, 3 - column)) for column in range(4)]),
    "some": ((2, 4), ((0, 0), (0, 0)), [((0, 1), (1, 2)), ((1, 3), (0, 0))]),
}


def core(place: tuple[int, int]) -> ttnn.MeshCoreCoord:
    return ttnn.MeshCoreCoord(ttnn.MeshCoordinate(*place), ttnn.CoreCoord(0, 0))


def main() -> None:
    mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
    random = np.random.default_rng(7)
    for name, (shape, starts, ways) in CASES.items():
        source, target = (
            mesh.create_submesh(ttnn.MeshShape(*shape), ttnn.MeshCoordinate(*s)) for s in starts
        )
        connections = [ttnn.SocketConnection(core(a), core(b)) for a, b in ways]
        sender, receiver = ttnn.create_socket_pair(source, target, ttnn.SocketConfig(connections, MEMORY))
        mapper = ttnn.ShardTensor2dMesh(source, dims=(0, 1), mesh_shape=shape)
        sent = [
            ttnn.from_torch(
                random.standard_normal((64, 128)).astype(np.float32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT,
                device=source, mesh_mapper=mapper,
            )
            for _ in range(2)
        ]  # fmt: skip
        received = [
            ttnn.zeros(x.shape, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=target) for x in sent
        ]
        ttnn.experimental.recv_async(received[0], receiver)
        ttnn.experimental.send_async(sent[0], sender)
        ttnn.experimental.send_async(sent[1], sender)
        ttnn.experimental.recv_async(received[1], receiver)
        ttnn.synchronize_device(mesh)
        if target.get_device_ids():
            composer = ttnn.ConcatMesh2dToTensor(target, dims=(0, 1), mesh_shape=shape)
            sums = [ttnn.typecast(ttnn.add(x, 1.0), ttnn.float32) for x in received]
            bits = [ttnn.to_torch(x, mesh_composer=composer) for x in sums]
            print(
                name, hashlib.sha256(b"".join(np.asarray(x, np.float32).tobytes() for x in bits)).hexdigest()
            )
    ttnn.close_mesh_device(mesh)


main()
