"""`ttnn._ttnn.global_circular_buffer`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.descriptors.global_buffers": "create_global_circular_buffer global_circular_buffer=GlobalCircularBuffer",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
