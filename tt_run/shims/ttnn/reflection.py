"""`ttnn.reflection`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.tools.reflection": "pop_argument"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
