"""`ttnn._ttnn.h2d_stream_service`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.sockets.services.host_to_device": "H2DStreamService",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
