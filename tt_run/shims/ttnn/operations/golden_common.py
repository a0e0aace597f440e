"""`ttnn.operations.golden_common`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tools.golden_helpers": "golden_to_output_dtype golden_prepare_grad_inputs golden_compute_gradients",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
