"""`ttml.init.__init__`."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.train.modules.initial": "uniform normal constant zeros ones"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
