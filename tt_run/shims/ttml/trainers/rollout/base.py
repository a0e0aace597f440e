"""`ttml.trainers.rollout.base`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.trainers.rollouts": "RolloutBatch RolloutSampler check_new_weight_version"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
