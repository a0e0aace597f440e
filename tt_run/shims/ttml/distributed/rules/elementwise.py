"""`ttml.distributed.rules.elementwise`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.dispatch.rules": "elementwise_binary_rule elementwise_unary_rule dropout_rule",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
