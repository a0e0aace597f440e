"""`ttnn._ttnn.operations.conv`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "tt_run.runtime.tuning.conv": "Conv2dConfig PaddingMode",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
