"""`ttml.distributed.ddp`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.parallel.data_parallel": "DistributedDataParallel"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
