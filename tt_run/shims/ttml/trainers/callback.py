"""`ttml.trainers.callback`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.trainers.callback": "TrainerCallback",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
