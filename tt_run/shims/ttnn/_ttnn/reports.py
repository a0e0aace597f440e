"""`ttnn._ttnn.reports`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.memory.views": "BufferInfo BufferPageInfo DeviceInfo get_buffers get_buffer_pages get_device_info",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
