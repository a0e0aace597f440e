"""`ttml.trainers.rollout`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.trainers.sampler": "TTMLRolloutSampler",
    "tt_run.runtime.train.trainers.rollouts": "RolloutBatch RolloutSampler",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
