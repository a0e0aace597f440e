"""`ttnn.comparison`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.tools.tolerances": "comp_pcc comp_ulp ulp"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
