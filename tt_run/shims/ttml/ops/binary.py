"""`ttml.ops.binary`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.ops.binary": "add sub mul div min=minimum"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
