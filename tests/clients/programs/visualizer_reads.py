"""What ttnn-visualizer reads in a report of an emulated program, by its own queries."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from pathlib import Path

import ttnn
from ttnn.graph_report import import_report
from ttnn_visualizer.queries import DatabaseQueries

folder = Path(tempfile.mkdtemp())
device = ttnn.open_mesh_device(ttnn.MeshShape(1, 1))
x = ttnn.ones((64, 64), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
cores = ttnn.create_sharded_memory_config((64, 64), ttnn.CoreGrid(y=2, x=1), ttnn.ShardStrategy.HEIGHT)
with ttnn.graph.full_graph_capture(str(folder / "report.json")):
    held = ttnn.to_memory_config(ttnn.add(x, x), cores)
    ttnn.deallocate(held)
ttnn.close_mesh_device(device)

database = import_report(folder / "report.json", folder)
queries = DatabaseQueries(connection=sqlite3.connect(database))
operations = list(queries.query_operations())
chunks = list(queries.query_buffer_chunks())
print(
    json.dumps(
        {
            "operations": [each.name for each in operations],
            "arguments": len(list(queries.query_operation_arguments())),
            "lines": [
                each.stack_trace.split("line ")[1].split(",")[0] for each in queries.query_stack_traces()
            ],
            "tensors": len(list(queries.query_tensors())),
            "layouts": sorted({each.buffer_layout for each in queries.query_buffers()}),
            "cores": sorted({(each.core_x, each.core_y) for each in chunks}),
            "devices": [each.num_x_compute_cores for each in queries.query_devices()],
            "sources": [Path(each.path).name for each in queries.query_source_files()],
            "errors": len(list(queries.query_error_records())),
        }
    )
)
