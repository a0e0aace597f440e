"""`ttnn.operations.core`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "from_torch to_torch load_tensor dump_tensor as_tensor",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
