"""`ttml.models.wan2_2.attention`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.wan.transformer": "SplitHeads WanAttention _RMSNorm=WanRMSNorm",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
