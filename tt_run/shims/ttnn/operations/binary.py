"""`ttnn.operations.binary`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.tools.golden_helpers": "golden_to_output_dtype torch_squared_difference",
    "tt_run.runtime.ops.goldens.creation_goldens": "_golden_function_assign=assign",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)
