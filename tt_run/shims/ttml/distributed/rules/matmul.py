"""`ttml.distributed.rules.matmul`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.dispatch.rules": "linear_rule matmul_rule",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
