"""`ttnn._ttnn.activation`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.kernels.activations": "UnaryOpType UnaryWithParam EltwiseUnaryWithParam=UnaryWithParam",
    "tt_run.runtime.tuning.activation_words": "string_to_unary_with_param",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
