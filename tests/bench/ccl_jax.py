"""Collectives of one process with eight devices: ours, with a physical copy per device, and JAX's, alternating.

Argument: JSON list of (name, shard bytes, target). Prints for each entry a JSON object with the (ours, JAX) seconds of every round, by
the wall and in CPU time of the process: both sides compute on threads of their own.
"""

import json
import sys
import time
from functools import partial

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tt_run.runtime.ccl.collectives import all_gather, all_reduce
from tt_run.runtime.enums import DataType
from tt_run.runtime.kernels.device_sums import SPREAD
from tt_run.runtime.kernels.workers import run_tasks, thread_count
from tt_run.runtime.mesh import MeshShape, open_mesh_device
from tt_run.runtime.tensor.tensor import Tensor
from tt_run.runtime.values.shards import Shards

DEVICES, ROUNDS = 8, 9
mesh = Mesh(np.array(jax.devices()), ("d",))
device = open_mesh_device(MeshShape(2, 4))


def ours(name, stack):
    """One call, then copies of its result until there is one for each device, as JAX has them."""
    tensor = Tensor.of(Shards(stack, tuple(range(DEVICES))), dtype=DataType.FLOAT32, device=device)
    shape = (DEVICES * stack.shape[1], *stack.shape[2:]) if name == "all_gather" else stack.shape[1:]
    copies = np.empty((DEVICES - 1, *shape), np.float32)
    threads = thread_count() if copies[0].size >= SPREAD else 1

    def copy(result, first):
        for one in copies[first::threads]:
            one[...] = result

    def call():
        result = all_gather(tensor, 0) if name == "all_gather" else all_reduce(tensor)
        run_tasks([partial(copy, result.shards.data[0], first) for first in range(threads)])

    return call


def peer(name, stack):
    """The same under jit with explicit shardings."""
    whole = jax.device_put(stack.reshape(-1, *stack.shape[2:]), NamedSharding(mesh, PartitionSpec("d")))
    if name == "all_gather":
        function = jax.jit(lambda x: x, out_shardings=NamedSharding(mesh, PartitionSpec()))
    else:
        function = jax.jit(
            lambda x: x.reshape(DEVICES, -1, *x.shape[1:]).sum(0),
            out_shardings=NamedSharding(mesh, PartitionSpec()),
        )
    return lambda: function(whole).block_until_ready()


def pairs(first, second, repeat):
    found = {"wall": [], "cpu": []}
    for turn in range(ROUNDS + 2):
        wall, cpu = [], []
        for call in (first, second):
            started, worked = time.perf_counter(), time.process_time()
            for _ in range(repeat):
                call()
            wall.append((time.perf_counter() - started) / repeat)
            cpu.append((time.process_time() - worked) / repeat)
        if turn >= 2:
            found["wall"].append(wall)
            found["cpu"].append(cpu)
    return found


for name, nbytes, _ in json.loads(sys.argv[1]):
    stack = np.random.default_rng(0).random((DEVICES, nbytes // 4096, 1024)).astype(np.float32)
    print(json.dumps(pairs(ours(name, stack), peer(name, stack), 100 if nbytes < 1 << 20 else 1)), flush=True)
device.close()
