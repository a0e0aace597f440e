"""`ttml.trainers.rollout.device_utils`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.trainers.job": "deallocate_tensors async_read_to_host"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
