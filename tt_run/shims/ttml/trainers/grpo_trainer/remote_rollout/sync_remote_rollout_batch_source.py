"""`ttml.trainers.grpo_trainer.remote_rollout.sync_remote_rollout_batch_source`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.trainers.remote_rollout": "SyncRemoteRolloutBatchSource"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
