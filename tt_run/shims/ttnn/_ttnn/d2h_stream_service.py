"""`ttnn._ttnn.d2h_stream_service`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.sockets.services.device_to_host": "D2HStreamService",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
