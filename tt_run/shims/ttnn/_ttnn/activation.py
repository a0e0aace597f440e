"""`ttnn._ttnn.activation`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.kernels.activations": "UnaryOpType UnaryWithParam EltwiseUnaryWithParam=UnaryWithParam",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
