"""`ttnn._ttnn.operations.ternary`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "addcdiv addcmul lerp mac snake_beta where",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
