"""`ttml.distributed.utils`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.parallel.layouts": "is_distributed",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
