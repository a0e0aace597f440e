"""`ttml.modules.parameter`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.modules.base": "Parameter Buffer"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
