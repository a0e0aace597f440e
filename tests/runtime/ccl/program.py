"""Every collective over a 2x4 mesh, checked against NumPy on the devices of this rank; prints a digest per case and device."""

import hashlib
import sys
import zlib

import numpy as np
import ttnn

from tests.runtime.ccl import reference
from tt_run.runtime.ccl.exchange import sums, window
from tt_run.runtime.comm.world import Group

MESH = (2, 4)
# The last takes several pieces of the memory that ranks share, which are a sixteenth of their size here.
SHAPES = [(1, 1, 32, 64), (1, 3, 7, 24), (40, 33 * 8), (1, 1, 64, 1024), (8, 100, 56)]
window.PIECE = sums.PIECE = 1 << 16
ROUNDINGS = {ttnn.float32: None, ttnn.bfloat16: reference.bfloat16}


def chunk(shape, position):
    """The shard of a device, the same on every rank."""
    seed = zlib.crc32(repr((shape, position)).encode())
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def in_rows(tensor):
    """The tensor without tiles, whose borders a partition has to keep."""
    return ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT)


def cases(shape, axis):
    """(name, dim, call) of what fits a shape."""
    members = {None: 8, 0: 2, 1: 4}[axis]
    for dim in (0, len(shape) - 1):
        yield "all_gather", dim, lambda t, d=dim: ttnn.all_gather(t, dim=d, cluster_axis=axis)
        if shape[dim] % members == 0:
            yield "reduce_scatter", dim, lambda t, d=dim: ttnn.reduce_scatter(t, dim=d, cluster_axis=axis)
            yield "mesh_partition", dim, lambda t, d=dim: ttnn.mesh_partition(in_rows(t), d, axis)
    yield "all_reduce", None, lambda t: ttnn.all_reduce(t, cluster_axis=axis)
    yield "all_broadcast", None, lambda t: ttnn.all_broadcast(t, cluster_axis=axis)


def check(label, mesh_device, results, wanted):
    """Compare this rank's shards with NumPy's, and print them as digests."""
    digests = {p: hashlib.sha256() for p in mesh_device.local_positions}
    for i, result in enumerate(results):
        for p, shard in zip(mesh_device.local_positions, result.shards.each(), strict=True):
            expected = np.ascontiguousarray(wanted[p][i] if len(results) > 1 else wanted[p])
            assert shard.shape == expected.shape == tuple(result.shape), (
                label,
                p,
                shard.shape,
                expected.shape,
            )
            assert shard.tobytes() == expected.tobytes(), (label, p)
            digests[p].update(shard.tobytes())
    for p, digest in digests.items():
        print("digest", label, p, digest.hexdigest()[:12])


def distributed(mesh_device, shape, dtype):
    """A tensor with one chunk per device along its last dimension, and the chunks."""
    chunks = [chunk(shape, p) for p in range(8)]
    if ROUNDINGS[dtype] is not None:
        chunks = [ROUNDINGS[dtype](c) for c in chunks]
    tensor = ttnn.from_torch(
        np.concatenate(chunks, -1),
        dtype=dtype,
        layout=ttnn.TILE_LAYOUT,
        device=mesh_device,
        mesh_mapper=ttnn.ShardTensorToMesh(mesh_device, dim=-1),
    )
    return tensor, chunks


def run_cases(mesh_device):
    for shape in SHAPES:
        for dtype in ROUNDINGS:
            tensor, chunks = distributed(mesh_device, shape, dtype)
            for axis in (None, 0, 1):
                for name, dim, call in cases(shape, axis):
                    result = call(tensor)
                    results = result if isinstance(result, list) else [result]
                    wanted = reference.expected(name, MESH, chunks, axis, dim, ROUNDINGS[dtype])
                    label = f"{name}/{shape}/{dtype.name}/{axis}/{dim}".replace(" ", "")
                    check(label, mesh_device, results, wanted)


def run_replicated(mesh_device):
    """Shards that are the same on several devices, in several ranks."""
    values = chunk((1, 1, 40, 24), 99)
    for name, mapper, chunks in (
        ("everywhere", ttnn.ReplicateTensorToMesh(mesh_device), [values] * 8),
        ("rows", ttnn.ShardTensor2dMesh(mesh_device, MESH, (None, 3)), np.split(values, 4, 3) * 2),
        (
            "columns",
            ttnn.ShardTensor2dMesh(mesh_device, MESH, (2, None)),
            [c for c in np.split(values, 2, 2) for _ in range(4)],
        ),
    ):
        tensor = ttnn.from_torch(values, device=mesh_device, mesh_mapper=mapper)
        for axis in (None, 0, 1):
            for collective, call in (
                ("all_gather", lambda t, a=axis: ttnn.all_gather(t, dim=2, cluster_axis=a)),
                ("all_reduce", lambda t, a=axis: ttnn.all_reduce(t, cluster_axis=a)),
                ("reduce_scatter", lambda t, a=axis: ttnn.reduce_scatter(t, dim=2, cluster_axis=a)),
            ):
                if collective == "reduce_scatter" and chunks[0].shape[2] % {None: 8, 0: 2, 1: 4}[axis]:
                    continue
                wanted = reference.expected(
                    collective, MESH, list(map(np.ascontiguousarray, chunks)), axis, 2
                )
                check(f"{collective}/{name}/{axis}", mesh_device, [call(tensor)], wanted)


def run_transfers(mesh_device):
    tensor, chunks = distributed(mesh_device, (8, 40), ttnn.float32)
    sender, receiver = ttnn.MeshCoordinate(0, 1), ttnn.MeshCoordinate(1, 3)
    check("broadcast", mesh_device, [ttnn.broadcast(tensor, sender)], [chunks[1]] * 8)
    row = [chunks[1]] * 4 + chunks[4:]
    check("broadcast/1", mesh_device, [ttnn.broadcast(tensor, sender, cluster_axis=1)], row)
    moved = [np.zeros_like(chunks[0])] * 7 + [chunks[1]]
    check("point_to_point", mesh_device, [ttnn.point_to_point(tensor, sender, receiver)], moved)


def run_submeshes(mesh_device):
    """Submeshes that live on some of the ranks only."""
    for i, submesh in enumerate(mesh_device.create_submeshes(ttnn.MeshShape(2, 2))):
        values = chunk((1, 1, 8, 4 * 6), i)
        tensor = ttnn.from_torch(values, device=submesh, mesh_mapper=ttnn.ShardTensorToMesh(submesh, dim=3))
        gathered = ttnn.all_gather(ttnn.all_reduce(tensor, cluster_axis=0), dim=3, cluster_axis=1)
        parts = np.split(values, 4, 3)
        wanted = np.concatenate([parts[0] + parts[2], parts[1] + parts[3]], 3)
        check(f"submesh{i}", submesh, [gathered], [wanted] * 4)
        assert tuple(gathered.shape) == wanted.shape


if "--apart" in sys.argv:
    # As if every rank were on a host of its own: messages instead of shared memory, bfloat16 in 16 bits on the wire.
    Group.on_one_host = property(lambda group: group.size == 1)

mesh_device = ttnn.open_mesh_device(ttnn.MeshShape(*MESH))
run_cases(mesh_device)
run_replicated(mesh_device)
run_transfers(mesh_device)
run_submeshes(mesh_device)
ttnn.close_mesh_device(mesh_device)
