"""`ttnn.operations.unary`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "GeluVariant SigmoidMode",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
