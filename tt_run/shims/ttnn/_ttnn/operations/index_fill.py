"""`ttnn._ttnn.operations.index_fill`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "index_fill",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
