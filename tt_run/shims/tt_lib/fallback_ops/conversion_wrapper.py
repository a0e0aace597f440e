"""`tt_lib.fallback_ops.conversion_wrapper`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.tools.fallback.crossing": "convert_tt_tensors_wrapper=crossing"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
