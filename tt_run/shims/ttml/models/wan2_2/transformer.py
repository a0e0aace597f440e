"""`ttml.models.wan2_2.transformer`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.wan.transformer": "GeluTanh WanFeedForward WanLayerNorm WanTransformerBlock",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
