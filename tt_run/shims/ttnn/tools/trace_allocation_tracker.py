"""`ttnn.tools.trace_allocation_tracker`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tools.absent_tools": """
        acknowledge_corruptible corruptible_allocation_scope TRACE_ALLOC_DIAGNOSTICS TRACE_ALLOC_REFERRER_DEPTH
        TRACE_ALLOC_TRACKING get_all_unsafe_tracked_ids get_unsafe_tracked_ids remove_unsafe_tracked_id
        trace_allocation_diagnostics_enabled trace_allocation_tracking_enabled
    """,
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
