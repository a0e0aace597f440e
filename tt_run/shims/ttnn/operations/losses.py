"""`ttnn.operations.losses`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.ops.reduction.losses": "LossReductionMode"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
