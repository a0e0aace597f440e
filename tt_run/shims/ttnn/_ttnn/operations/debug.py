"""`ttnn._ttnn.operations.debug`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "apply_device_delay",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
