"""`ttml.models.qwen38.config`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.qwen38_config": "Qwen38Config",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
