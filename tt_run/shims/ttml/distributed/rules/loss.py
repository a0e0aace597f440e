"""`ttml.distributed.rules.loss`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.dispatch.rules": "cross_entropy_loss_rule",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
