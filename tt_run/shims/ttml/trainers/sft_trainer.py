"""`ttml.trainers.sft_trainer`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.trainers.sft": "SFTTrainer",
    "tt_run.runtime.train.trainers.sft_config": "SFTConfig",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
