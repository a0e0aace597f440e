"""`ttnn._ttnn.operations.examples`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {
    "ttnn": "composite_example composite_example_multiple_return",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
