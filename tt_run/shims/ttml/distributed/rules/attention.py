"""`ttml.distributed.rules.attention`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.dispatch.rules": "sdpa_rule",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
