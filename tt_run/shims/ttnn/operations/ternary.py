"""`ttnn.operations.ternary`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.tools.golden_helpers": "torch_mac"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
