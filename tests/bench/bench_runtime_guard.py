"""What the guard costs: one agreement of two ranks next to MPI's own smallest collective, and a training-size step with and without.

Both sides run in one job and alternate. The opening of a large mesh is timed too: it is what every program does first.
"""

from __future__ import annotations

import json
import subprocess
import sys

from tests.bench.common import Row, summarise
from tests.runtime.mpi import ROOT, run_ranks

PROGRAM = """
import json, time
import numpy as np
import ttnn
from tt_run.runtime import guard
from tt_run.runtime.comm.world import world

mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
everyone = world().everyone
signature = guard.Signature("all_reduce", 1, (1, 1, 32, 32), "BFLOAT16", "")
send, receive = np.ones(1), np.ones(1)
calls = 2000

def timed(action):
    everyone.barrier()
    started = time.perf_counter()
    action()
    return time.perf_counter() - started

def agree():
    for _ in range(calls):
        guard.collective(everyone, signature)

def raw():
    for _ in range(calls):
        everyone.comm.Allreduce(send, receive)

agree(); raw()
small = [(timed(agree) / calls, timed(raw) / calls) for _ in range(9)]

rng = np.random.default_rng(0)
def device(array, mapper):
    return ttnn.from_torch(array.astype(np.float32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh, mesh_mapper=mapper)
x = device(rng.standard_normal((1, 1, 128, 1024)), ttnn.ReplicateTensorToMesh(mesh))
up = device(rng.standard_normal((1, 1, 1024, 4096)), ttnn.ShardTensorToMesh(mesh, dim=3))
down = device(rng.standard_normal((1, 1, 4096, 1024)), ttnn.ShardTensorToMesh(mesh, dim=2))

def step():
    for _ in range(4):
        ttnn.all_reduce(ttnn.linear(ttnn.gelu(ttnn.linear(x, up)), down), cluster_axis=1)

watching = guard._guard
def watched():
    guard._guard = watching
    step()
def unwatched():
    guard._guard = None
    step()
watched(); unwatched()
large = []
for turn in range(10):
    if turn % 2:
        b, a = timed(unwatched), timed(watched)
    else:
        a, b = timed(watched), timed(unwatched)
    large.append((a, b))
guard._guard = watching
if world().rank == 0:
    print(json.dumps([small, large]))
"""

OPENING = """
import time
from tt_run.runtime.mesh import MeshShape, open_mesh_device
started = time.perf_counter()
device = open_mesh_device(MeshShape(32, 4))
print(time.perf_counter() - started)
assert device.get_num_devices() == 128
"""


def run() -> list[Row]:
    """Three rows: microseconds per agreement over raw, the price of the guard in a step, seconds to open 32x4."""
    descriptor = ROOT / "configs" / "mgd" / "t3k_2x4_two_hosts.textproto"
    result = run_ranks(2, PROGRAM, env={"TT_MESH_GRAPH_DESC_PATH": str(descriptor)}, timeout=120).check()
    small, large = (summarise(pairs) for pairs in json.loads(result.ranks[0].stdout))
    seconds = [_open() for _ in range(3)]
    return [
        Row(
            "guard: us per agreement over raw 8-byte Allreduce, 2 ranks",
            small.difference * 1e6,
            10,
            detail=small.detail(),
        ),
        Row(
            "guard: training-size step, with / without",
            large.ratio,
            1.05,
            detail=large.detail("with", "without"),
        ),
        Row("open a 32x4 mesh in one process, seconds", sorted(seconds)[1], 0.3),
    ]


def _open() -> float:
    """Seconds to open a mesh of 128 devices in a new process, descriptor read and checked."""
    text = (ROOT / "configs" / "mgd" / "32x4_quad_galaxy_torus_xy_graph_descriptor.textproto").read_text()
    program = (
        "import os, tempfile, pathlib\n"
        "path = pathlib.Path(tempfile.mkdtemp()) / 'one_host.textproto'\n"
        f"path.write_text({_on_one_host(text)!r})\n"
        "os.environ['TT_MESH_GRAPH_DESC_PATH'] = str(path)\n" + OPENING
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=60, check=True
    )
    return float(done.stdout)


def _on_one_host(text: str) -> str:
    """The same descriptor for a single host."""
    lines = []
    for line in text.splitlines():
        lines.append("host_topology { dims: [ 1, 1 ] }" if line.strip().startswith("host_topology") else line)
    return "\n".join(lines)
