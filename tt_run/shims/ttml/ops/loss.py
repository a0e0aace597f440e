"""`ttml.ops.loss`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.ops.loss": "mse_loss cross_entropy_loss nll_loss ReduceType"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
