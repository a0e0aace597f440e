"""`ttml.common.logs`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.common.logs": "TrainingLog"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
