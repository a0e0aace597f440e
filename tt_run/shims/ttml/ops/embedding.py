"""`ttml.ops.embedding`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.ops.embedding": "embedding"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
