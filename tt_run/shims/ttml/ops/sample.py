"""`ttml.ops.sample`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.ops.sample": "sample_op"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
