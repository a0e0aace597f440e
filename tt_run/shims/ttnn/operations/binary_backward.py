"""`ttnn.operations.binary_backward`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.tools.golden_helpers": "golden_compute_gradients golden_prepare_grad_inputs"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
