"""A program whose predicted operations tt-perf-report reads; it prints nothing."""

from __future__ import annotations

import ttnn

mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
x = ttnn.ones((1, 1, 128, 1024), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
w = ttnn.ones((1024, 1024), dtype=ttnn.bfloat8_b, layout=ttnn.TILE_LAYOUT, device=mesh)
for _ in range(2):
    x = ttnn.add(x, ttnn.linear(x, w))
ttnn.close_mesh_device(mesh)
