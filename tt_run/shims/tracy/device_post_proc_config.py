"""What to read of a device's log: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.profiler_logs": ("default_setup")}

__getattr__, __dir__ = _publish(globals(), _TABLE)
