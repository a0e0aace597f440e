"""`ttnn.graph_tracer_utils`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.graph.tracer_json": "GraphTracerUtils",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
