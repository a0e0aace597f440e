"""`ttml.models.deepseek.flops`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.flops": "calculate_flops_per_token=deepseek",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
