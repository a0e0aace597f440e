"""`ttnn._ttnn.operations.loss`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "LossReductionMode l1_loss mse_loss",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
