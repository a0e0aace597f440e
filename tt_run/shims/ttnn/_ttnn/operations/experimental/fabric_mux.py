"""`ttnn._ttnn.operations.experimental.fabric_mux`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "Config",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
