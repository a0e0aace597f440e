"""`ttml.distributed.module_rules`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.parallel.layouts": "_infer_bias_layout=bias_layout",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
