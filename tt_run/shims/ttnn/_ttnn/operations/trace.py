"""`ttnn._ttnn.operations.trace`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.trace": "MeshTraceId",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
