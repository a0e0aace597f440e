"""`ttml.common.generate`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.common.generate": "generate next_token Sampling"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
