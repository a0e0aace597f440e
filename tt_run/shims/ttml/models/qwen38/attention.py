"""`ttml.models.qwen38.attention`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.qwen38": "Qwen38GatedAttention",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
