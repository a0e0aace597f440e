"""`ttml.trainers.rollout.ttml_rollout_sampler`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.trainers.sampler": "TTMLRolloutSampler"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
