"""`ttml.models.qwen3.autograd_ops`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.models.decoders.qwen3": "ConcatLastDim RMSNormFunction"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
