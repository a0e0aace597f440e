"""`ttnn.operations.complex_unary_backward`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {}

__getattr__, __dir__ = _publish(globals(), _TABLE)
