"""What hangs on a cluster is an error here: the ranks of one mesh call different collectives.

tt-run --emulate --system t3000 --split 1x2 python examples/diverging_ranks.py
"""

import numpy as np
import ttnn

mesh_device = ttnn.open_mesh_device(ttnn.MeshShape(2, 4))
rank = int(ttnn.distributed_context_get_rank())
tensor = ttnn.from_torch(
    np.ones((1, 1, 32, 256), np.float32),
    dtype=ttnn.bfloat16,
    layout=ttnn.TILE_LAYOUT,
    device=mesh_device,
    mesh_mapper=ttnn.ShardTensorToMesh(mesh_device, dim=3),
)
if rank == 0:
    ttnn.all_gather(tensor, dim=3)
else:
    ttnn.all_reduce(tensor)
