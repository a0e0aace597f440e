"""`ttnn.operations.reduction`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.enums": "ReduceType",
    "tt_run.runtime.tools.golden_helpers": "golden_prepare_grad_inputs golden_compute_gradients",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
