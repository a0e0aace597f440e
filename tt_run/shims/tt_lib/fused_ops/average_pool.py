"""`tt_lib.fused_ops.average_pool`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.tools.fallback.composed": "run_global_avg_pool_on_device_wrapper"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
