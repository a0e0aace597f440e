"""Comparison of reports: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.profiler_logs": ("compare_ops_logs")}

__getattr__, __dir__ = _publish(globals(), _TABLE)
