"""`ttml.core.utils`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.memory": "MemoryUsageTracker DRAMUsage L1UsagePerCore"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
