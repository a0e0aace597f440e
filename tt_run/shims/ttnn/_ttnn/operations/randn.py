"""`ttnn._ttnn.operations.randn`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "randn",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
