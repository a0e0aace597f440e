"""`ttnn.tracer`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tools.absent_tools": "ENABLE_TRACER codegen disable_tracing enable_tracing get_graph is_tracing_enabled trace visualize",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
