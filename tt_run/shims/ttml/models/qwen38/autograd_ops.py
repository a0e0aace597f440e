"""`ttml.models.qwen38.autograd_ops`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.ops.pieces": "autograd_slice=cut autograd_concat=concat autograd_split=split",
    "tt_run.runtime.train.ops.triangles": "tril_ones causal_mask identity",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
