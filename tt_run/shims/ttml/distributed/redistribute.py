"""`ttml.distributed.redistribute`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.dispatch.calls": "redistribute",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
