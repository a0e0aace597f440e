"""Readers of a device's log: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.profiler_logs": ("import_log_run_stats extract_device_info")}

__getattr__, __dir__ = _publish(globals(), _TABLE)
