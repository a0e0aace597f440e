"""`ttml.common.trainer`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.common.trainer": "Trainer Placing rates describe",
    "tt_run.runtime.train.common.training_loop": "train get_batch_ttml",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
