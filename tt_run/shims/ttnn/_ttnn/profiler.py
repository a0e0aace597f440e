"""`ttnn._ttnn.profiler`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.mesh.device_queries": """
        get_all_programs_perf_data=latest_programs_perf_data get_latest_programs_perf_data=latest_programs_perf_data
        get_all_kernel_duration_summary=latest_programs_perf_data get_latest_kernel_duration_summary=latest_programs_perf_data
    """,
    "tt_run.runtime.marks": "start_tracy_zone stop_tracy_zone tracy_frame tracy_message",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
