"""`ttml.models.qwen38.checkpoint`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.runner": "recompute=memory_efficient_runner",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
