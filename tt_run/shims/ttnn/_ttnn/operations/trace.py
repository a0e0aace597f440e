"""`ttnn._ttnn.operations.trace`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "MeshTraceId begin_trace_capture end_trace_capture execute_trace release_trace",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
