"""`ttml.trainers.grpo_trainer.distributed`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.trainers.job": "init_distributed_training is_rollout_rank"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
