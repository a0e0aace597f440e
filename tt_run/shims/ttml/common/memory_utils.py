"""`ttml.common.memory_utils`: names only; memory of devices."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.memory": "MemoryUsageTracker",
    "tt_run.runtime.train.memory_snapshots": "MemorySnapshotFunction memory_snapshot memory_tracking_enabled",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
