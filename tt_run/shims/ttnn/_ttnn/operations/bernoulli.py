"""`ttnn._ttnn.operations.bernoulli`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "bernoulli",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
