"""`ttml.sharding`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.parallel.sharding": "Sharding ReplicaMismatchError"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
