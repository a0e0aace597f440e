"""`ttnn.reflection`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.tools.popping": "pop_argument"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
