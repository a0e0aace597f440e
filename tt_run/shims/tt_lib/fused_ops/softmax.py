"""`tt_lib.fused_ops.softmax`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.tools.fallback.composed": "softmax"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
