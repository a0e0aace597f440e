"""`ttml.ops.rmsnorm`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.ops.norms": "rmsnorm rmsnorm_composite"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
