"""`ttml.models.qwen38.transformer`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.qwen38": "Qwen38RMSNorm Qwen38MLP Qwen38Block Qwen38Transformer",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
