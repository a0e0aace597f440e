"""`ttnn._ttnn.operations.uniform`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "uniform",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
