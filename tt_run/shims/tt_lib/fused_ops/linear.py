"""`tt_lib.fused_ops.linear`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.tools.fallback.composed": "Linear"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
