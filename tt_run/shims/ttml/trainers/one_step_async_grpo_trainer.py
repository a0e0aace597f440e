"""`ttml.trainers.one_step_async_grpo_trainer`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.trainers.async_grpo": "OneStepAsyncGRPOTrainer",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
