"""`ttml.trainers.fully_async_grpo_trainer`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.trainers.async_grpo": "FullyAsyncGRPOTrainer FullyAsyncRolloutBatch",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
