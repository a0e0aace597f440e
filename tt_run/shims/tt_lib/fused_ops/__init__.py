"""`tt_lib.fused_ops`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.tools.fallback.composed": "Linear run_global_avg_pool_on_device_wrapper softmax"}

__getattr__, __dir__ = _publish(globals(), _TABLE, ("average_pool", "linear"))
