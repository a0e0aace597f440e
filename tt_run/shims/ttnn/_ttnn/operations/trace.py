"""`ttnn._ttnn.operations.trace`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.tools.absent_tools": """
        get_all_unsafe_tracked_ids get_unsafe_tracked_ids remove_unsafe_tracked_id
        trace_allocation_diagnostics_enabled trace_allocation_tracking_enabled
    """,
    "ttnn": "MeshTraceId begin_trace_capture end_trace_capture execute_trace release_trace",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
