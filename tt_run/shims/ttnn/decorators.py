"""`ttnn.decorators`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.ops.dispatch": "FastOperation Operation",
    "tt_run.runtime.golden": "get_golden_function",
    "tt_run.runtime.queues": "command_queue",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
