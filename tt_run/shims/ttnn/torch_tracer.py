"""`ttnn.torch_tracer`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tools.absent_tools": "disable_tracing get_graph is_tracing_enabled trace=trace_torch visualize",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
