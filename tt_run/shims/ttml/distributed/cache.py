"""`ttml.distributed.cache`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.dispatch.plans": "PlanCache",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
