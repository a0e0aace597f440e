"""Raw MPI collectives and ours, alternating in one job: one device per rank, float32. Prints a JSON line per comparison.

Runs on the ranks of `bench_runtime_ccl`: a submesh with one device of every rank is cut out of the system mesh.
"""

import json
import sys
import time

import numpy as np
import ttnn

from tt_run.runtime.comm.world import world
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards

ROUNDS = 15
MIB = 1 << 20
CACHED = 1 << 16  # elements that stay in the cache

mesh_device = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
ranks = world().size
# The middle columns hold one device of each rank, for two halves and for four quarters alike.
one_each = mesh_device.create_submesh(ttnn.MeshShape(ranks // 2, 2), ttnn.MeshCoordinate(0, 1))
comm, mpi = one_each.group.comm, world().mpi


def on_devices(array):
    return Tensor.of(Shards(array[None], (0,)), dtype=ttnn.float32, device=one_each)


def compare(name, ours, raw, repeat=1):
    """Time both in turn; a round counts with its slowest rank."""
    pairs = []
    for turn in range(ROUNDS + 2):
        seconds = [0.0, 0.0]
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            call = (ours, raw)[which]
            comm.Barrier()
            started = time.perf_counter()
            for _ in range(repeat):
                call()
            seconds[which] = comm.allreduce((time.perf_counter() - started) / repeat, op=mpi.MAX)
        if turn >= 2:
            pairs.append(seconds)
    if world().rank == 0:
        print(json.dumps({"name": name, "pairs": pairs}), flush=True)


def run(nbytes, repeat=1):
    """All three collectives of a buffer of `nbytes`: the result of an all-gather, the input of the others."""
    elements = max(nbytes // 4, ranks)
    whole = np.random.default_rng(world().rank).random((ranks, elements // ranks)).astype(np.float32)
    part = whole[:1].copy()
    gathered, reduced, scattered = np.empty_like(whole), np.empty_like(whole), np.empty_like(part)
    x, p = on_devices(whole), on_devices(part)
    label = f"{nbytes // MIB} MiB" if nbytes >= MIB else f"{nbytes} B"
    compare(
        f"all_gather {label}", lambda: ttnn.all_gather(p, 0), lambda: comm.Allgather(part, gathered), repeat
    )
    compare(f"all_reduce {label}", lambda: ttnn.all_reduce(x), lambda: comm.Allreduce(whole, reduced), repeat)
    compare(
        f"reduce_scatter {label}",
        lambda: ttnn.reduce_scatter(x, 0),
        lambda: comm.Reduce_scatter_block(whole, scattered),
        repeat,
    )
    # No reduce_scatter can be faster than adding what every rank already has, without any exchange; and none of arrays that lie in
    # memory of each rank's own than reading once, in parts that stay in the cache, what the others have.
    halves, total = whole.reshape(2, -1), np.empty(whole.size // 2, np.float32)
    near = np.empty(min(CACHED, total.size), np.float32)

    def read_and_add():
        for start in range(0, total.size, near.size):
            part = slice(start, start + near.size)
            there = near[: total[part].size]
            np.copyto(there, halves[1][part])
            np.add(halves[0][part], there, total[part])

    bounds = {
        "additions alone": lambda: np.add(halves[0], halves[1], total),
        "additions of what is read": read_and_add,
    }
    for name, bound in bounds.items():
        compare(f"{name} {label}", bound, lambda: comm.Reduce_scatter_block(whole, scattered), repeat)
    assert np.array_equal(np.asarray(ttnn.all_gather(p, 0).shards.of(0)), gathered)
    assert np.allclose(np.asarray(ttnn.all_reduce(x).shards.of(0)), reduced)


for size in map(int, sys.argv[1:]):
    run(size, repeat=200 if size < 4096 else 1)
one_each.close()
mesh_device.close()
