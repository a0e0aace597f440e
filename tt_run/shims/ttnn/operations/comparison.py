"""`ttnn.operations.comparison`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "pearson_correlation_coefficient",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
