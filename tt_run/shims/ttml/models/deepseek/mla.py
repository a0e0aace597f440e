"""`ttml.models.deepseek.mla`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.deepseek": "MultiHeadLatentAttention",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
