"""`ttml.models.qwen38.flops`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.qwen38_flops": "Qwen38Flops qwen38_flops flops_per_token",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
