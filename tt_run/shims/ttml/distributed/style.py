"""`ttml.distributed.style`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.train.parallel.parallelize": "ParallelStyle ColwiseParallel RowwiseParallel",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
