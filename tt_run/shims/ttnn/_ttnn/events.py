"""`ttnn._ttnn.events`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.queues": "MeshEvent record_event wait_for_event event_synchronize",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
