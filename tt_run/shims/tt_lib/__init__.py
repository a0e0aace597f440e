"""`tt_lib`, the library's older name: what programs still import of it. Names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE: dict[str, str] = {}

__getattr__, __dir__ = _publish(globals(), _TABLE, ("fallback_ops", "fused_ops", "utils"))
