"""`ttnn._ttnn.operations.reduction`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.enums": "ReduceType",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
