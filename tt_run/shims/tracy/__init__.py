"""The profiler's module as programs import it: names only."""

from tt_run.runtime.exports import publish as _publish
from tt_run.runtime.exports import tell_absent_modules as _tell_absent_modules

_TABLE = {"tt_run.runtime.marks": "signpost Profiler"}

_tell_absent_modules()

__getattr__, __dir__ = _publish(globals(), _TABLE)
