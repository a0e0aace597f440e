"""`ttnn.operations.creation`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {"tt_run.runtime.tools.golden_helpers": "golden_to_output_dtype"}

__getattr__, __dir__ = _publish(globals(), _TABLE)
