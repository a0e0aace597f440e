"""`ttml.trainers.grpo_monitor`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.trainers.grpo_monitor": "GRPOMonitor"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
