"""`ttml.models.linear_regression`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.models.linear_regression": "create_linear_regression_model"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
