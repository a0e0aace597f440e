"""`ttml.distributed.training`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.parallel.layouts": "distribute_tensor distribute_batch",
    "tt_run.runtime.train.parallel.parallelize": "distribute_module parallelize_module sync_gradients _match_policy=match_policy",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
