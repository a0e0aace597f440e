"""`ttml.distributed.dispatch`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.dispatch.calls": "dispatch register_op _RAW_OPS=RAW _get_raw=get_raw _hashable_kwargs=hashable",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
