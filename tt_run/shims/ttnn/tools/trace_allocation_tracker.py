"""`ttnn.tools.trace_allocation_tracker`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.tools.absent": "acknowledge_corruptible corruptible_allocation_scope"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
