"""Reports of a model's run under the profiler: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.profiler_logs": (
        "get_profiler_folder get_latest_ops_log_filename post_process_ops_log run_device_profiler get_samples_per_s PROFILER_ARTIFACTS_DIR "
        "PROFILER_DEFAULT_OP_SUPPORT_COUNT generate_reports_folder"
    )
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
