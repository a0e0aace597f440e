"""`ttml.models.llama.autograd_ops`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.models.decoders.qwen3": "ConcatLastDim",
    "tt_run.runtime.train.ops.prefix": "SliceLastDim",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
