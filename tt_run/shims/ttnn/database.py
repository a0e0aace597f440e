"""`ttnn.database`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tools.absent_tools": "DEVICE_IDS_IN_DATABASE",
}
SQLITE_CONNECTION = None  # suites set it

__getattr__, __dir__ = _publish(globals(), _TABLE)
