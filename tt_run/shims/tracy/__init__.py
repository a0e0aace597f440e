"""The profiler's module as programs import it: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.marks": "signpost Profiler"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
