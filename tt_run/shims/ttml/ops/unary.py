"""`ttml.ops.unary`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.ops.unary": "relu gelu silu exp clip mean log_softmax log_softmax_moreh=log_softmax broadcast_batch",
    "tt_run.runtime.train.ops.pieces": "sigmoid",
    "tt_run.runtime.train.ops.along": "sum_over_dim cumsum softplus l2_norm shift_along_dim transpose",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
