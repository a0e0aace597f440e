"""`ttml.models.qwen3.rmsnorm`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.models.decoders.qwen3": "Qwen3RMSNorm RMSNormFunction"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
