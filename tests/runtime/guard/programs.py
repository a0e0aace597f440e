"""Programs in which one rank does something else: each mistake that hangs a cluster, written with the collectives of `ttnn`.

Every program is run with the number of ranks as its world; rank 1 makes the mistake, on the line that ends in `# here`.
"""

from __future__ import annotations

HEAD = """
import sys
import numpy as np
import ttnn
ttnn.init_distributed_context()
rank, size = int(ttnn.distributed_context_get_rank()), int(ttnn.distributed_context_get_size())
mesh = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))

def tensor(*shape, dtype=ttnn.bfloat16):
    return ttnn.zeros(shape, dtype=dtype, layout=ttnn.TILE_LAYOUT, device=mesh)

x = tensor(1, 1, 32, 32)
ttnn.all_gather(x, dim=3, cluster_axis=1)
"""

TAIL = """
ttnn.all_gather(x, dim=3, cluster_axis=1)
ttnn.close_mesh_device(mesh)
"""

PROGRAMS: dict[str, str] = {
    "skipped-call": """
if rank != 1:
    ttnn.all_reduce(x, cluster_axis=1)
ttnn.all_gather(x, dim=2, cluster_axis=1)  # here
""",
    "swapped-order": """
if rank == 1:
    ttnn.all_gather(x, dim=2, cluster_axis=1)  # here
    ttnn.all_reduce(x, cluster_axis=1)
else:
    ttnn.all_reduce(x, cluster_axis=1)
    ttnn.all_gather(x, dim=2, cluster_axis=1)
""",
    "wrong-shape": """
y = tensor(1, 1, 32, 64 if rank == 1 else 32)
ttnn.all_gather(y, dim=3, cluster_axis=1)  # here
""",
    "wrong-dtype": """
y = tensor(1, 1, 32, 32, dtype=ttnn.float32 if rank == 1 else ttnn.bfloat16)
ttnn.all_gather(y, dim=3, cluster_axis=1)  # here
""",
    "wrong-axis": """
ttnn.all_gather(x, dim=3, cluster_axis=0 if rank == 1 else 1)  # here
""",
    "wrong-root": """
ttnn.broadcast(x, ttnn.MeshCoordinate(0, 2 if rank == 1 else 0), cluster_axis=1)  # here
""",
    "wrong-topology": """
ttnn.all_gather(x, dim=3, cluster_axis=1, topology=ttnn.Topology.Ring if rank == 1 else ttnn.Topology.Linear)  # here
""",
    "wrong-links": """
ttnn.all_reduce(x, cluster_axis=1, num_links=2 if rank == 1 else 1)  # here
""",
    "wrong-memory": """
memory = ttnn.L1_MEMORY_CONFIG if rank == 1 else ttnn.DRAM_MEMORY_CONFIG
ttnn.all_gather(x, dim=3, cluster_axis=1, memory_config=memory)  # here
""",
    "input-elsewhere": """
y = ttnn.to_memory_config(x, ttnn.L1_MEMORY_CONFIG) if rank == 1 else x
ttnn.all_reduce(y, cluster_axis=1)  # here
""",
    "early-exit": """
if rank == 1:
    sys.exit(0)  # here
""",
    "exception": """
if rank == 1:
    raise ValueError("bad batch")  # here
""",
    "endless-loop": """
while rank == 1: pass  # here
""",
    "point-to-point-cycle": """
data = ttnn.distributed_context_recv_bytes(8, (rank - 1) % size)  # here
ttnn.distributed_context_send_bytes(b"8 bytes!", (rank + 1) % size)
""",
    "wrong-submesh": """
halves = mesh.create_submeshes(ttnn.MeshShape(1, 4))
half = halves[1 if rank == 1 else 0]
y = ttnn.zeros((1, 1, 32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=half)
ttnn.all_gather(y, dim=3)  # here
""",
    "different-operation": """
if rank == 1:
    ttnn.reduce_scatter(tensor(1, 1, 32, 256), dim=3, cluster_axis=1)  # here
else:
    ttnn.all_gather(tensor(1, 1, 32, 256), dim=3, cluster_axis=1)
""",
}


def source(name: str) -> str:
    """The whole program of a mistake."""
    return HEAD + PROGRAMS[name] + TAIL


def line_of_mistake(name: str) -> int:
    """The line that ends in `# here`."""
    lines = source(name).splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith("# here"))
