"""Where the profiler's files would lie: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.profiler_logs": (
        "TT_METAL_HOME PROFILER_DEVICE_SIDE_LOG PROFILER_HOST_SIDE_LOG PROFILER_HOST_DEVICE_SYNC_INFO PROFILER_CPP_DEVICE_PERF_REPORT "
        "PROFILER_DEFAULT_OP_SUPPORT_COUNT PROFILER_SCRIPTS_ROOT PROFILER_ARTIFACTS_DIR PROFILER_BIN_DIR PROFILER_LOGS_DIR "
        "PROFILER_OUTPUT_DIR TRACY_OPS_TIMES_FILE_NAME TRACY_OPS_DATA_FILE_NAME TRACY_MODULE_PATH TRACY_FILE_NAME TRACY_CAPTURE_TOOL "
        "TRACY_CSVEXPROT_TOOL generate_logs_folder generate_reports_folder rm clear_profiler_runtime_artifacts"
    )
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
