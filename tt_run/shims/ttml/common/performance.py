"""`ttml.common.performance`: names only; rates of a run."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.common.utils": "PerformanceMeter"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
