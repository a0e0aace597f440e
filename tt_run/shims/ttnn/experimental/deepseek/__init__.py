"""`ttnn.experimental.deepseek`: its parts."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {}

_SUBMODULES = ("mla", "moe")

__getattr__, __dir__ = _publish(globals(), _TABLE, _SUBMODULES)
