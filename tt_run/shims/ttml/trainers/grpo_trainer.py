"""`ttml.trainers.grpo_trainer`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.trainers.grpo": "GRPOTrainer",
    "tt_run.runtime.train.trainers.grpo_config": "GRPOConfig get_grpo_config",
    "tt_run.runtime.train.trainers.completion": "GRPOCompleter ModelCompleter",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
