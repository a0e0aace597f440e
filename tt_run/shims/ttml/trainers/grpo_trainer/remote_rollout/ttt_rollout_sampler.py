"""`ttml.trainers.grpo_trainer.remote_rollout.ttt_rollout_sampler`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.trainers.ttt_sampler": "TTTRolloutSampler"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
