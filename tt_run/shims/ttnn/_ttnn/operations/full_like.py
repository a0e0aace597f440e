"""`ttnn._ttnn.operations.full_like`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "moreh_full_like",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
