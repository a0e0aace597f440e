"""Readers of the operations' log: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.profiler_logs": (
        "get_device_data_generate_report import_tracy_op_logs append_device_data generate_reports process_ops"
    )
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
