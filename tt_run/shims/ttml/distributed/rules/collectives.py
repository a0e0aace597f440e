"""`ttml.distributed.rules.collectives`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.dispatch.rules": "broadcast_rule all_gather_rule all_reduce_rule scatter_rule",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
