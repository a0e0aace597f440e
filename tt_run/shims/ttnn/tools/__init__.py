"""`ttnn.tools`: names only."""

from tt_run.runtime.exports import publish as _publish

__getattr__, __dir__ = _publish(globals(), {}, ("trace_allocation_tracker",))
