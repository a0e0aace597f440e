"""`ttml.modules.linear`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.modules.linear": "LinearLayer ColumnParallelLinear RowParallelLinear",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
