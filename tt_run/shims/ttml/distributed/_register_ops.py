"""`ttml.distributed._register_ops`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.dispatch.published": "init_ops",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
