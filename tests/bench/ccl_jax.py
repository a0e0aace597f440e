"""Collectives of one process with eight devices: ours, with a physical copy per device, and JAX's, alternating.

Argument: JSON list of (name, shard bytes, target). Prints one JSON list of (ours, JAX) seconds per entry.
"""

import json
import sys
import time

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tt_run.runtime.ccl.collectives import all_gather, all_reduce
from tt_run.runtime.enums import DataType
from tt_run.runtime.mesh import MeshShape, open_mesh_device
from tt_run.runtime.tensor.shards import Shards
from tt_run.runtime.tensor.tensor import Tensor

DEVICES, ROUNDS = 8, 9
mesh = Mesh(np.array(jax.devices()), ("d",))
device = open_mesh_device(MeshShape(2, 4))


def ours(name, stack):
    """One call, then one copy of the result for each device."""
    tensor = Tensor.of(Shards(stack, tuple(range(DEVICES))), dtype=DataType.FLOAT32, device=device)
    shape = (DEVICES * stack.shape[1], *stack.shape[2:]) if name == "all_gather" else stack.shape[1:]
    copies = np.empty((DEVICES, *shape), np.float32)

    def call():
        result = all_gather(tensor, 0) if name == "all_gather" else all_reduce(tensor)
        copies[...] = result.shards.data[0]

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
    found = []
    for turn in range(ROUNDS + 2):
        seconds = []
        for call in (first, second):
            started = time.perf_counter()
            for _ in range(repeat):
                call()
            seconds.append((time.perf_counter() - started) / repeat)
        if turn >= 2:
            found.append(seconds)
    return found


for name, nbytes, _ in json.loads(sys.argv[1]):
    stack = np.random.default_rng(0).random((DEVICES, nbytes // 4096, 1024)).astype(np.float32)
    print(json.dumps(pairs(ours(name, stack), peer(name, stack), 20 if nbytes < 1 << 20 else 1)), flush=True)
device.close()
